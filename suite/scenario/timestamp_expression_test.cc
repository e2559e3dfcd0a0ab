#include "suite/scenario/timestamp_expression.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::scenario {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kNow = 1'700'000'000'000;

// The timestamp that `text` stands for, or what is wrong with it.
std::string evaluated(std::string_view text, const std::map<std::string, hlc::Timestamp>& saved) {
  const auto expression = parse_timestamp_expression(text);
  if (!expression) return expression.error();
  const auto value = evaluate(*expression, kNow, "me", saved);
  return value ? hlc::format(*value, hlc::Padding::kNone) : value.error();
}

TEST(TimestampExpression, MeansWhatItSays) {
  const std::map<std::string, hlc::Timestamp> saved = {{"v1", {1'000, 5, "StateStore"}},
                                                       {"_a-Z9", {0, 0, "n"}},
                                                       {"far", {1'000, 1ULL << 63U, "n"}},
                                                       {"wide", {1'000, (1U << 31U) - 1, "n"}}};
  const struct {
    std::string_view text;
    std::string_view value;
  } kTable[] = {
      {"now", "1700000000000:0:me"},
      {"now + 61s", "1700000061000:0:me"},
      {"now - 1ms", "1699999999999:0:me"},
      {"now + 2m", "1700000120000:0:me"},
      {"now - 1h", "1699996400000:0:me"},
      {"now + 0s", "1700000000000:0:me"},
      {"now counter + 3", "1700000000000:3:me"},
      {"now counter = 18446744073709551615", "1700000000000:18446744073709551615:me"},
      {"now node \"B\"", "1700000000000:0:B"},
      {"v1", "1000:5:StateStore"},
      {"v1 - 1s", "0:5:StateStore"},
      {"v1 counter + 1", "1000:6:StateStore"},
      {"v1 counter - 5", "1000:0:StateStore"},
      {"v1 counter = 7", "1000:7:StateStore"},
      {"v1 node \"a\"b\"", "1000:5:a\"b"},
      {"v1 + 1ms counter - 1 node \"B\"", "1001:4:B"},
      {"v1 node \"B\" counter = 0 - 1ms", "999:0:B"},
      {"  v1   +   1ms  ", "1001:5:StateStore"},
      {"_a-Z9", "0:0:n"},
      // Counters that not every store takes from a client, where they decide nothing.
      {"far", "1000:9223372036854775808:n"},
      {"far counter + 1", "1000:9223372036854775809:n"},
      {"far node \"B\"", "1000:9223372036854775808:B"},
      {"far + 1ms", "1001:0:n"},
      {"far - 1ms node \"B\"", "999:0:B"},
      {"far + 1ms counter = 4294967296", "1001:4294967296:n"},
      {"wide + 1ms", "1001:2147483647:n"},
      // Where the limit lies is the caller's to know: kNow here.
      {"skew-limit - 100ms", "1699999999900:0:me"},
      {"skew-limit + 1ms counter = 7", "1700000000001:7:me"},
  };
  for (const auto& row : kTable) EXPECT_EQ(evaluated(row.text, saved), row.value) << row.text;
}

TEST(TimestampExpression, RefusesWhatIsNone) {
  const std::string_view kTable[] = {"",
                                     " ",
                                     "1s",
                                     "-v1",
                                     "v1 +",
                                     "v1 61s",
                                     "v1+1s",
                                     "now + 61",
                                     "now + -1s",
                                     "now + 1.5s",
                                     "now * 2s",
                                     "now + 1s extra",
                                     "v1 counter",
                                     "v1 counter +",
                                     "v1 counter + x",
                                     "v1 counter * 2",
                                     "v1 counter + -1",
                                     "v1 counter = 18446744073709551616",
                                     "v1 counter + 1000000000001",
                                     "v1 node",
                                     "v1 node B",
                                     "v1 node \"\"",
                                     "v1 node \"a b\"",
                                     "v1 node \"B",
                                     "skew-limit",
                                     "skew-limit + 0ms",
                                     "skew-limit counter + 1",
                                     "v\xc3\xa4"};
  for (const std::string_view text : kTable) {
    const auto expression = parse_timestamp_expression(text);
    ASSERT_FALSE(expression) << text;
    EXPECT_THAT(expression.error(), HasSubstr("\"" + std::string(text) + "\" is not a timestamp"));
    EXPECT_THAT(expression.error(), HasSubstr("`now` or a saved name")) << text;
  }
}

// The first of the two would be ignored without a word.
TEST(TimestampExpression, RefusesThatOnePartStandsTwice) {
  for (const std::string_view text : {"now + 1s + 2s", "now + 1s - 2s",
                                      "v1 counter + 1 counter = 2", "v1 node \"A\" node \"B\""}) {
    EXPECT_FALSE(parse_timestamp_expression(text)) << text;
  }
}

TEST(TimestampExpression, NamesBeginWithALetter) {
  for (const std::string_view name : {"v", "v1", "_", "the-first_Version"}) {
    EXPECT_TRUE(is_name(name)) << name;
  }
  for (const std::string_view text : {"", "1v", "-v", "a b", "t1.reply", "v+1", "v\""}) {
    EXPECT_FALSE(is_name(text)) << text;
  }
}

TEST(TimestampExpression, SaysWhichNameIsMissing) {
  EXPECT_EQ(evaluated("v2 + 1s", {}), "no timestamp was saved as v2");
}

// Saved timestamps come from the endpoint under test, which may send any that can be written.
TEST(TimestampExpression, StopsAtTheEndsOfTheRanges) {
  constexpr std::uint64_t kMaxCounter = std::numeric_limits<std::uint64_t>::max();
  const std::map<std::string, hlc::Timestamp> saved = {
      {"least", {0, 0, "n"}}, {"most", {hlc::kMaxWallMs, kMaxCounter, "n"}}};
  const std::string kMax = "9223372036854775807:18446744073709551615:n";
  const struct {
    std::string_view text;
    std::string value;
  } kTable[] = {
      {"most + 0ms", kMax},
      {"most counter + 0", kMax},
      {"most - 1ms", "9223372036854775806:0:n"},
      {"most counter - 1", "9223372036854775807:18446744073709551614:n"},
      {"most + 1ms", "the wall clock of the timestamp would be above 2^63 - 1"},
      {"most counter + 1", "the counter of the timestamp would be above 2^64 - 1"},
      {"least - 1ms", "the wall clock of the timestamp would be negative"},
      {"least counter - 1", "the counter of the timestamp would be negative"},
  };
  for (const auto& row : kTable) EXPECT_EQ(evaluated(row.text, saved), row.value) << row.text;
}

}  // namespace
}  // namespace fencepost::scenario
