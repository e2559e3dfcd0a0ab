#include "suite/scenario/recorded.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/scenario/scenario_fixture.h"

namespace fencepost::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string in_case_of(const Recorded& recorded) { return file_with(text_of(recorded, 4), ""); }

std::optional<Recorded> loaded(const std::string& text) {
  const Loaded file = load(text);
  EXPECT_THAT(file.diagnostics(), IsEmpty()) << text;
  return file.cases.empty() ? std::nullopt : file.cases.front().recorded;
}

TEST(Recorded, IsAbsentUnlessItIsThere) { EXPECT_EQ(loaded(in_case("")), std::nullopt); }

TEST(Recorded, IsReadAsItWasWritten) {
  const Recorded all{.by = "explore",
                     .when = "2026-01-01T00:00:00Z",
                     .endpoint = "mqtt://me@broker:1883",
                     .seed = std::numeric_limits<std::uint64_t>::max(),
                     .requirement = "SET-NX-1",
                     .signature = "SET-NX-1: it's \"wrong\" | want \\r\\n # | got $1: {x}",
                     .message = "it's wrong",
                     .expected = "yes",
                     .actual = "1.20"};
  EXPECT_EQ(loaded(in_case_of(all)), all);
  const Recorded least{.by = "hand"};
  EXPECT_EQ(loaded(in_case_of(least)), least);
  EXPECT_TRUE(all.failed());
  EXPECT_FALSE(least.failed());
}

TEST(Recorded, IsWrittenWithoutPasswordAndOnOneLineEach) {
  const std::string text = text_of({.by = "record",
                                    .endpoint = "mqtt://me:secret@broker:1883",
                                    .requirement = "GET-HIT-1",
                                    .message = recorded_words(std::string("a\nb\0\xff", 5)),
                                    .actual = std::string("a\nb\0", 4)},
                                   0);
  EXPECT_EQ(text,
            "recorded:\n  by: record\n  endpoint: 'mqtt://me:***@broker:1883'\n"
            "  requirement: 'GET-HIT-1'\n  message: 'a b\\x00\\xff'\n"
            "  actual: \"a\\nb\\x00\"\n");
  EXPECT_THAT(
      load(in_case("recorded: {by: record, endpoint: 'mqtt://me:***@broker:1883'}")).diagnostics(),
      IsEmpty());
}

TEST(Recorded, IsCutWhereItIsLong) {
  EXPECT_LE(recorded_words(std::string(100'000, 'x')).size(), 1'000U);
}

struct Mistake {
  std::string lines;
  std::string diagnostic;
};
void PrintTo(const Mistake& row, std::ostream* out) { *out << row.lines; }

class RecordedMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(RecordedMistakes, AreShownWhereTheyStand) {
  const Loaded file = load(in_case(GetParam().lines));
  EXPECT_THAT(file.diagnostics(), ElementsAre(HasSubstr(GetParam().diagnostic)));
  EXPECT_THAT(file.cases, IsEmpty());
}

const Mistake kMistakes[] = {
    {"recorded: explore", "f:6:15: recorded must be a mapping"},
    {"recorded: {when: '2026-01-01T00:00:00Z'}", "f:6:15: recorded needs the key \"by\""},
    {"recorded: {by: hand, sed: 1}", "did you mean \"seed\"?"},
    {"recorded:\n  by: exlpore",
     "f:7:11: by must be explore, record or hand, not "
     "\"exlpore\"; did you mean \"explore\"?"},
    {"recorded:\n  by: hand\n  when: yesterday",
     "f:8:13: when must be a time in UTC such as '2026-"},
    {"recorded:\n  by: hand\n  when: '2026-01-01 00:00:00Z'", "f:8:13: when must be a time in UTC"},
    {"recorded:\n  by: hand\n  seed: '1'", "f:8:13: seed must be a whole number from 0 to 1844"},
    {"recorded:\n  by: hand\n  seed: -1", "f:8:13: seed must be a whole number"},
    {"recorded:\n  by: hand\n  seed: 18446744073709551616", "f:8:13: seed must be a whole number"},
    {"recorded:\n  by: hand\n  seed: 010", "f:8:13: seed must be a whole number"},
    {"recorded:\n  by: hand\n  requirement: SET-NX-9",
     "f:8:20: there is no requirement \"SET-NX-9\"; did you mean \"SET-NX-1\"?"},
    {"recorded:\n  by: hand\n  signature: ''", "f:8:18: signature must not be empty"},
    {"recorded:\n  by: hand\n  message: m",
     "f:8:16: a failure is recognized by its requirement or its signature: add one"},
    {"axes: {x: {y: {}}}\nrecorded: {by: hand}",
     "f:7:15: recorded belongs to one case, and axes make several"},
};
INSTANTIATE_TEST_SUITE_P(All, RecordedMistakes, testing::ValuesIn(kMistakes));

TEST(Recorded, RefusesAPasswordAndDoesNotRepeatIt) {
  const Loaded file = load(in_case("recorded: {by: hand, endpoint: 'mqtt://me:secret@broker'}"));
  EXPECT_THAT(file.diagnostics(),
              ElementsAre(AllOf(HasSubstr("f:6:36: endpoint must be a URL without a password"),
                                Not(HasSubstr("secret")))));
}

}  // namespace
}  // namespace fencepost::scenario
