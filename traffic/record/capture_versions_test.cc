#include "traffic/record/capture_versions.h"

#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traffic/record/capture_sample.h"
#include "traffic/record/capture_version_checks.h"

namespace fencepost::record {
namespace {

using scenario::LiteralTimestamp;
using scenario::TimestampCheck;
using scenario::TimestampExpression;
using scenario::TimestampSpec;
using testing::ElementsAre;
using testing::IsEmpty;

std::string at(std::int64_t offset_ms, const std::string& rest = "0:c") {
  return std::to_string(kBegin.count() + offset_ms) + ":" + rest;
}

TimestampSpec expression(const std::string& base, std::int64_t offset_ms = 0) {
  return TimestampExpression{.base = base, .offset_ms = offset_ms};
}

TEST(CaptureVersions, NamesVersionsInTheirOrder) {
  CaptureVersions versions(0, {});
  EXPECT_EQ(versions.name_of(at(1)), nullptr);
  EXPECT_EQ(versions.save(at(1)), "v1");
  EXPECT_EQ(versions.save(at(2)), "v2");
  EXPECT_EQ(versions.save(at(1)), "v1");
  versions.alias(at(0), "b1");
  EXPECT_EQ(*versions.name_of(at(0)), "b1");
  EXPECT_EQ(versions.save("no timestamp"), "v3");
}

struct Sent {
  std::string text;
  TimestampSpec written;
  bool refused = false;
};

TEST(CaptureVersions, WritesTimestampsByTheirDistanceFromTheClock) {
  constexpr std::int64_t kFarMs = 1'000'000'000;
  const std::vector<Sent> rows = {
      {at(0), expression("now")},
      {at(2000), expression("now")},
      {at(-2000), expression("now")},
      {at(2001), expression("now", 2000)},
      {at(-2500), expression("now", -3000)},
      {at(-600'400), expression("now", -600'000)},
      {at(55'000), expression("now", 55'000)},
      // Around the limit of a minute the store knows better on which side it was.
      {at(55'001), expression("skew-limit", -4999)},
      {at(59'990), expression("skew-limit", -100)},
      {at(60'010), expression("skew-limit", -100)},
      {at(60'010), expression("skew-limit", 100), true},
      {at(64'999), expression("skew-limit", 4999), true},
      {at(65'000), expression("now", 65'000), true},
      {at(kFarMs), expression("now", kFarMs)},
      {at(kFarMs + 1), LiteralTimestamp{at(kFarMs + 1)}},
      {at(-kFarMs - 1), LiteralTimestamp{at(-kFarMs - 1)}},
      {"nonsense", LiteralTimestamp{"nonsense"}},
      {"", LiteralTimestamp{""}}};
  const CaptureVersions versions(0, {});
  for (const Sent& row : rows) {
    EXPECT_EQ(versions.timestamp(row.text, kBegin, row.refused), row.written) << row.text;
  }
  // The counter that was sent stays.
  EXPECT_EQ(versions.timestamp(at(0, "7:c"), kBegin, false),
            TimestampSpec(TimestampExpression{.base = "now", .counter = 7}));
}

TEST(CaptureVersions, CountsFromTheClockOfTheStore) {
  const CaptureVersions versions(10'000, {});
  EXPECT_EQ(versions.timestamp(at(10'000), kBegin, false), expression("now"));
  EXPECT_EQ(versions.timestamp(at(0), kBegin, false), expression("now", -10'000));
}

TEST(CaptureVersions, KnowsATimestampThatIsAVersion) {
  CaptureVersions versions(0, {});
  versions.save(at(500'000));
  EXPECT_EQ(versions.timestamp(at(500'000), kBegin, false), expression("v1"));
  EXPECT_EQ(versions.token(at(500'000), kBegin, false), expression("v1"));
  // The same in another spelling.
  EXPECT_EQ(versions.token("0" + at(500'000), kBegin, false), expression("v1"));
}

TEST(CaptureVersions, PutsTokensBetweenTheVersionsBetweenWhichTheyWere) {
  const std::vector<std::string> tokens = {at(-7000), at(-6000), at(150), at(250), "nonsense"};
  CaptureVersions versions(0, tokens);
  versions.save(at(100));
  versions.save(at(200));
  EXPECT_EQ(versions.token(at(150), kBegin, false),
            TimestampSpec(TimestampExpression{.base = "v1", .node = "~0003"}));
  EXPECT_EQ(versions.token(at(250), kBegin, false),
            TimestampSpec(TimestampExpression{.base = "v2", .node = "~0004"}));
  EXPECT_FALSE(versions.uses_start());
  // Those before all versions are relative to a first one, in their order.
  EXPECT_EQ(versions.token(at(-7000), kBegin, false), expression("t0", -4000));
  EXPECT_EQ(versions.token(at(-6000), kBegin, false), expression("t0", -3000));
  EXPECT_TRUE(versions.uses_start());
  EXPECT_EQ(versions.token("nonsense", kBegin, false), TimestampSpec(LiteralTimestamp{"nonsense"}));
  // As it was written the first time, regardless of what was saved since.
  versions.save(at(140));
  EXPECT_EQ(versions.token(at(150), kBegin, false),
            TimestampSpec(TimestampExpression{.base = "v1", .node = "~0003"}));
}

TEST(CaptureVersions, WritesTokensThatAreAheadOfAllVersions) {
  CaptureVersions versions(0, {at(10'400), at(64'000), at(2'000'000'000)});
  versions.save(at(0));
  EXPECT_EQ(versions.token(at(10'400), kBegin, false), expression("v1", 10'000));
  EXPECT_EQ(
      versions.token(at(64'000), kBegin, true),
      TimestampSpec(TimestampExpression{.base = "skew-limit", .offset_ms = 4000, .node = "c"}));
  EXPECT_EQ(versions.token(at(64'000, "0:a b"), kBegin, true), expression("skew-limit", 4000));
  EXPECT_EQ(versions.token(at(2'000'000'000), kBegin, true),
            TimestampSpec(LiteralTimestamp{at(2'000'000'000)}));
}

// --- what is demanded of versions

// Checks the exchanges of one key, one after the other.
class Checker {
 public:
  std::optional<TimestampCheck> check(const std::vector<std::string_view>& arguments,
                                      const std::string& reply, const std::string& version = {}) {
    Traffic traffic;
    traffic.now = kBegin;
    traffic.request("c", arguments);
    traffic.reply("c", reply, version);
    const Timeline timeline = timeline_of(traffic.capture);
    const TimelineItem& item = timeline.items.front();
    return checks.check(item, read(item), key);
  }
  CaptureVersions versions{0, {}};
  VersionChecks checks{versions};
  KeyNow key{};
};

TEST(VersionChecks, SaveANewVersionThatIsGreater) {
  Checker checker;
  const auto first = checker.check({"SET", "k", "v"}, "+OK\r\n", at(5));
  EXPECT_EQ(first->save, "v1");
  EXPECT_TRUE(first->present);
  EXPECT_THAT(first->greater_than, ElementsAre("sent"));
  EXPECT_EQ(checker.key.last_version, "v1");
  EXPECT_THAT(checker.check({"SET", "k", "v"}, "+OK\r\n", at(6))->greater_than,
              ElementsAre("sent", "v1"));
  // Not greater than what was sent, nor than the one before: a faulty store, as it was seen.
  EXPECT_THAT(checker.check({"SET", "k", "v"}, "+OK\r\n", at(-5))->greater_than, IsEmpty());
  // The same version again.
  const auto same = checker.check({"SET", "k", "v"}, "+OK\r\n", at(6));
  EXPECT_EQ(*same, (TimestampCheck{.present = true}));
  EXPECT_THAT(checker.check({"SET", "k", "v"}, "+OK\r\n", "no version")->greater_than, IsEmpty());
}

TEST(VersionChecks, ExpectAKnownVersionAgain) {
  Checker checker;
  (void)checker.check({"SET", "k", "v"}, "+OK\r\n", at(5));
  EXPECT_EQ(checker.check({"GET", "k"}, "$1\r\nv\r\n", at(5))->equals, "v1");
  EXPECT_EQ(checker.check({"SET", "k", "w", "NX"}, ":-1\r\n", at(5))->equals, "v1");
  const auto unknown = checker.check({"GET", "k"}, "$1\r\nv\r\n", at(9));
  EXPECT_EQ(unknown->save, "v2");
  EXPECT_FALSE(unknown->equals);
  EXPECT_EQ(checker.key.last_version, "v2");
}

TEST(VersionChecks, GiveAVersionFromBeforeTheNameOfTheStepThatMakesIt) {
  Checker checker;
  checker.checks.begin_with("k", "b1");
  checker.key.last_version = "b1";
  EXPECT_EQ(checker.check({"GET", "k"}, "$1\r\nv\r\n", at(-900))->equals, "b1");
  EXPECT_EQ(checker.check({"GET", "k"}, "$1\r\nv\r\n", at(-800))->save, "v1");
  // Its text is not known: what is written after it has to be greater.
  Checker written;
  written.checks.begin_with("k", "b1");
  written.key.last_version = "b1";
  EXPECT_THAT(written.check({"SET", "k", "w"}, "+OK\r\n", at(5))->greater_than,
              ElementsAre("sent", "b1"));
  EXPECT_EQ(written.check({"GET", "k"}, "$1\r\nw\r\n", at(5))->equals, "v1");
}

TEST(VersionChecks, DemandNothingWhereItIsOpen) {
  Checker checker;
  EXPECT_TRUE(checker.check({"GET", "k"}, "$-1\r\n")->absent);
  EXPECT_FALSE(checker.check({"GET", "k"}, "$-1\r\n", at(5)));
  EXPECT_FALSE(checker.check({"SET", "k", "v"}, "+OK\r\n"));
  EXPECT_FALSE(checker.check({"DEL", "k"}, ":1\r\n", at(5)));
  EXPECT_FALSE(checker.check({"VDEL", "k", "v"}, ":-1\r\n", at(5)));
  EXPECT_FALSE(checker.check({"FROB", "k"}, "+OK\r\n", at(5)));
}

}  // namespace
}  // namespace fencepost::record
