#include "workload/enumeration.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/trace_text.h"

namespace fencepost::workload {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::set<std::string> all_of(const Enumeration& enumeration) {
  std::set<std::string> out;
  for (std::size_t i = 0; i < enumeration.size(); ++i) out.insert(to_text(enumeration.trace(i)));
  return out;
}

TEST(Enumeration, HasEachRequestInEachState) {
  const Enumeration one(1);
  EXPECT_EQ(one.size(), states_of_a_key().size() * all_requests().size());
  const std::set<std::string> all = all_of(one);
  EXPECT_EQ(all.size(), one.size()) << "one stands there twice";
  for (const Trace& state : states_of_a_key()) {
    for (const Operation& request : all_requests()) {
      Trace beginning = state;
      beginning.push_back(request);
      const std::string text = to_text(beginning);
      const auto found = all.lower_bound(text);
      ASSERT_TRUE(found != all.end() && found->starts_with(text)) << text;
    }
  }
}

// Each of the states, and each pair of two requests: counted, as a list of them has 20,000.
TEST(Enumeration, HasEachPairInEachState) {
  const Enumeration two(2);
  const std::size_t pairs = usual_requests().size() * usual_requests().size();
  const std::size_t first = two.size() - states_of_a_key().size() * pairs;
  std::set<std::string> behind_nothing;
  std::set<std::string> behind_the_last;
  for (std::size_t i = 0; i < pairs; ++i) {
    Trace trace = two.trace(first + i);
    trace.resize(2);
    behind_nothing.insert(to_text(trace));
    Trace last = two.trace(two.size() - 1 - i);
    const std::size_t state = states_of_a_key().back().size();
    EXPECT_EQ(Trace(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(state)),
              states_of_a_key().back());
    last.erase(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(state));
    last.resize(2);
    behind_the_last.insert(to_text(last));
  }
  EXPECT_EQ(behind_nothing.size(), pairs);
  EXPECT_EQ(behind_nothing, behind_the_last);
}

TEST(Enumeration, OfADepthBeginsWithThoseOfASmallerOne) {
  const Enumeration one(1);
  const Enumeration two(2);
  const Enumeration three(3);
  for (const std::size_t i : {std::size_t{0}, one.size() / 2, one.size() - 1}) {
    EXPECT_EQ(one.trace(i), two.trace(i));
  }
  for (const std::size_t i : {one.size(), two.size() / 2, two.size() - 1}) {
    EXPECT_EQ(two.trace(i), three.trace(i));
  }
  EXPECT_EQ(three.bound().size(), 9U);
  EXPECT_THAT(one.bound(), ElementsAre(HasSubstr("in each of 11 states of a key")));
  EXPECT_THAT(two.bound(),
              Contains(HasSubstr("differ from a request in one byte, number or word")));
}

TEST(Enumeration, IsNormalizedAndEndsWithWhatTellsStatesApart) {
  const Enumeration three(3);
  for (std::size_t i = 0; i < three.size(); i += 97) {
    const Trace trace = three.trace(i);
    for (const Operation& operation : trace) EXPECT_EQ(normalized(operation), operation);
    EXPECT_THAT(to_text(trace), HasSubstr("none has this"));
  }
}

TEST(NearlyTimestamps, AreTextsThatATraceCanSay) {
  const std::vector<std::string>& all = nearly_timestamps();
  EXPECT_THAT(all, Contains("1696374425000:1:client"));
  EXPECT_THAT(all, Contains("1696374425000::client"));
  EXPECT_THAT(all, Contains("16963744 25000:1:client"));
  EXPECT_THAT(all, Contains("001696374425000:0000\xc3\xa9:client"));
  EXPECT_LT(all.size() + malformed_texts().size(), 65'536U);
  for (std::size_t i = 0; i < all.size(); i += 7) {
    const Operation operation = normalized(
        {.kind = Kind::kSet,
         .value = "a",
         .timestamp = default_timestamp(Kind::kSet),
         .token = {.base = StampBase::kMalformed,
                   .malformed = static_cast<std::uint16_t>(malformed_texts().size() + i)}});
    EXPECT_EQ(malformed_text(operation.token.malformed), all[i]);
    const auto read = parse_trace(to_text(operation));
    ASSERT_TRUE(read) << to_text(operation);
    EXPECT_EQ(*read, Trace{operation});
  }
  EXPECT_FALSE(parse_trace("c0 SET k0 \"a\" ft=\"none of these\""));
}

TEST(TwiceWrongRequests, KeepTheirWords) {
  const std::vector<std::string>& all = twice_wrong_requests();
  EXPECT_THAT(all, Contains("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"));
  EXPECT_THAT(all, Contains("$2\r\n$3\r\nGET\r\n$0\r\nk\r\n"));
  EXPECT_THAT(all, Contains("*2\r\n$3\r\nGET\n\r$1\r\nk\r\n"));
  for (std::size_t i = 0; i < all.size(); i += 97) {
    EXPECT_THAT(all[i], testing::AnyOf(HasSubstr("SET"), HasSubstr("GET"), HasSubstr("VDEL")));
  }
}

// Without one it would be refused, with any payload.
TEST(NearlyRequests, HaveTheTimestampThatASetNeeds) {
  const Enumeration two(2);
  std::size_t sets = 0;
  for (std::size_t i = Enumeration(1).size(); i < two.size(); i += 7) {
    for (const Operation& operation : two.trace(i)) {
      if (operation.kind != Kind::kRawPayload) continue;
      const bool sets_a_key = operation.value.find("SET") != std::string::npos;
      sets += sets_a_key ? 1 : 0;
      EXPECT_EQ(operation.timestamp.base == StampBase::kNow, sets_a_key) << to_text(operation);
    }
  }
  EXPECT_GT(sets, 100U);
}

// A byte or word more, less, another; two swapped, and an end at each length.
TEST(NearlyRequests, AreAllThatDifferInOneByte) {
  const std::vector<std::string>& all = nearly_requests();
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  EXPECT_THAT(all, Contains("*2\r\n$3\r\nGET\r\n$1\r\nk\r"));
  EXPECT_THAT(all, Contains("*2\n\r$3\r\nGET\r\n$1\r\nk\r\n"));
  EXPECT_THAT(all, Contains("*2\r\n$3\r\nGET\r\n$\r\nk\r\n"));
  EXPECT_THAT(all, Contains("*2\r\n$3\r\nGET\r\n$:\r\nk\r\n"));
  EXPECT_THAT(all, Contains("*2\r\n+$3\r\nGET\r\n$1\r\nk\r\n"));
  // The length is read as 10 by who takes the colon for a digit.
  EXPECT_THAT(all, Contains("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$:\r\n0123456789\r\n"));
  EXPECT_THAT(all, Contains(""));
  EXPECT_THAT(all, Contains("*2\r\n$4294967299\r\nGET\r\n$1\r\nk\r\n"));
  EXPECT_THAT(all, Contains("*1\r\n$3\r\nGET\r\n"));
  EXPECT_THAT(all, Contains("*3\r\n$3\r\nGET\r\n$1\r\nk\r\n$2\r\nNX\r\n"));
  EXPECT_THAT(all, Contains("*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\na\r\n$2\r\nnx\r\n"));
  EXPECT_THAT(all, Each(testing::SizeIs(testing::Le(kMaxValueBytes))));
}

}  // namespace
}  // namespace fencepost::workload
