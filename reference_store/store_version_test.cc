// Versions and the timestamps of requests: hybrid logical clocks as the store uses them.
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference_store/rules.h"
#include "reference_store/store_fixture.h"

namespace fencepost::store {
namespace {

using namespace std::chrono_literals;
using codec::Condition;
using hlc::Timestamp;

constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();

TEST(StoreVersion, FollowsTheExampleOfTheArticle) {
  SteppedStore store;
  EXPECT_EQ(store.set("k", "v", {.timestamp = "1696374425000:0:Client1"}).version,
            (Timestamp{1'696'374'425'000, 1, "StateStore"}));
}

TEST(StoreVersion, IsTheWallClockWhenTheRequestIsBehindIt) {
  constexpr std::int64_t kYear = 31'536'000'000;
  for (const std::int64_t behind : {std::int64_t{1}, std::int64_t{600'000}, kYear}) {
    SteppedStore store;
    EXPECT_EQ(store.set("k", "v", {.timestamp = at(-behind, 7)}).version,
              (Timestamp{kNoon, 0, "StateStore"}));
  }
  SteppedStore store;
  EXPECT_EQ(store.set("k", "v", {.timestamp = "0:0:n"}).version,
            (Timestamp{kNoon, 0, "StateStore"}));
}

TEST(StoreVersion, IsOnePastARequestThatIsAhead) {
  SteppedStore store;
  EXPECT_EQ(store.set("k", "v", {.timestamp = at(59'999, 7)}).version,
            (Timestamp{kNoon + 59'999, 8, "StateStore"}));
}

TEST(StoreVersion, IsStrictlyGreaterThanTheTimestampWhateverItsCounter) {
  const std::vector<std::uint64_t> counters = {0,      9,      99'999,     65'535,
                                               65'536, kMax32, kMax32 + 1, kMaxRequestCounter};
  for (const std::uint64_t counter : counters) {
    for (const std::string node : {"A", "StateStore", "zzz"}) {
      SteppedStore store;
      EXPECT_EQ(store.set("k", "v", {.timestamp = at(0, counter, node)}).version,
                (Timestamp{kNoon, counter + 1, "StateStore"}));
    }
  }
}

TEST(StoreVersion, GrowsPastTheLargestCounterOfARequest) {
  SteppedStore store;
  Timestamp last;
  for (int i = 0; i < 3; ++i) {
    const Answer set = store.set("k", "v", {.timestamp = at(60'000, kMaxRequestCounter)});
    ASSERT_EQ(set.reply, "OK");
    EXPECT_GT(*set.version, last);
    last = *set.version;
  }
}

TEST(StoreVersion, IsDistinctForEverySetWithinAMillisecond) {
  SteppedStore store;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    EXPECT_EQ(store.set("k" + std::to_string(i % 3), "v").version,
              (Timestamp{kNoon, i, "StateStore"}));
  }
}

TEST(StoreVersion, StartsItsCounterAgainWhenTheWallClockMovesOn) {
  SteppedStore store;
  for (int i = 0; i < 5; ++i) store.set("k", "v");
  store.step(1ms);
  EXPECT_EQ(store.set("k", "v", {.timestamp = at(0)}).version,
            (Timestamp{kNoon + 1, 0, "StateStore"}));
}

TEST(StoreVersion, KeepsGrowingWhenTheWallClockIsSetBack) {
  SteppedStore store;
  const auto first = store.set("k", "v").version;
  store.set_wall(-3'600'000);
  const auto second = store.set("k", "v").version;
  EXPECT_EQ(second, (Timestamp{kNoon, first->counter + 1, "StateStore"}));
  store.set_wall(7'200'000);
  EXPECT_EQ(store.set("k", "v", {.timestamp = at(0)}).version,
            (Timestamp{kNoon + 3'600'000, 0, "StateStore"}));
}

TEST(StoreVersion, DoesNotFallBackAfterARequestFromTheFuture) {
  SteppedStore store;
  const auto ahead = store.set("k", "v", {.timestamp = at(50'000)}).version;
  EXPECT_GT(store.set("k", "v").version, ahead);
  EXPECT_GT(store.set("other", "v").version, ahead);
}

TEST(StoreVersion, GrowsAcrossDeleteAndExpiry) {
  SteppedStore store;
  const auto first = store.set("k", "v", {.timestamp = at(50'000)}).version;
  store.del("k");
  const auto second = store.set("k", "v", {.px = 10ms}).version;
  EXPECT_GT(second, first);
  store.step(10ms);
  EXPECT_GT(store.set("k", "v").version, second);
}

TEST(StoreVersion, IsTheOneOfTheLastSetHoweverLateTheGet) {
  SteppedStore store;
  const auto version = store.set("k", "v").version;
  store.step(1h);
  store.set("other", "v");
  EXPECT_EQ(store.get("k").version, version);
}

TEST(StoreVersion, CarriesTheConfiguredNode) {
  SteppedStore store({.node_id = "node-7"});
  EXPECT_EQ(store.set("k", "v").version->node, "node-7");
}

TEST(StoreVersion, IsUntouchedByRequestsThatDoNotSet) {
  SteppedStore store;
  store.set("k", "v", {.token = at(0)});
  store.set("k", "w", {.condition = Condition::kIfAbsent, .timestamp = at(50'000), .token = at(0)});
  store.set("k", "w", {.timestamp = at(50'000)});
  store.set("k", "w", {.timestamp = at(60'001), .token = at(0)});
  store.set("k", "w", {.timestamp = at(50'000), .token = "bad"});
  store.get("k", {.timestamp = at(50'000)});
  store.vdel("k", "w", {.timestamp = at(50'000), .token = at(0)});
  store.observe("o", "k");
  store.del("k", {.timestamp = at(50'000), .token = at(0)});
  store.del("k");
  EXPECT_EQ(store.set("k", "v").version, (Timestamp{kNoon, 2, "StateStore"}));
}

// ---- The timestamp of a request

TEST(StoreTimestamp, IsRequiredOfSetAlone) {
  SteppedStore store;
  EXPECT_EQ(store.set("k", "v", {.timestamp = std::nullopt}).reply, "error missing-timestamp");
  EXPECT_EQ(store.get("k").reply, "missing");
  store.set("k", "v");
  EXPECT_EQ(store.get("k").reply, "value v");
  EXPECT_EQ(store.observe("o", "k").reply, "OK");
  EXPECT_EQ(store.stop("o", "k").reply, "OK");
  EXPECT_EQ(store.vdel("k", "w").reply, "not applied");
  EXPECT_EQ(store.del("k").reply, "count 1");
}

TEST(StoreTimestamp, IsIgnoredByEveryOtherVerb) {
  for (const std::string timestamp : {"bad", "", "9999999999999:0:n"}) {
    SteppedStore store;
    const SetOptions with = {.timestamp = timestamp};
    store.set("d", "v");
    store.set("v", "v");
    EXPECT_EQ(store.get("d", with).reply, "value v") << timestamp;
    EXPECT_EQ(store.apply({.verb = codec::Verb::kKeynotify, .key = "d"}, with).reply, "OK");
    EXPECT_EQ(store.del("d", with).reply, "count 1") << timestamp;
    EXPECT_EQ(store.vdel("v", "v", with).reply, "count 1") << timestamp;
  }
}

TEST(StoreTimestamp, MayBeAMinuteAheadAndNotAMillisecondMore) {
  SteppedStore store;
  EXPECT_EQ(store.set("k", "v", {.timestamp = at(60'001)}).reply, "error timestamp-too-far-ahead");
  EXPECT_EQ(store.set("k", "v", {.timestamp = "9223372036854775807:0:n"}).reply,
            "error timestamp-too-far-ahead");
  EXPECT_EQ(store.get("k").reply, "missing");
  EXPECT_EQ(store.set("k", "v", {.timestamp = at(60'000)}).reply, "OK");
}

TEST(StoreTimestamp, IsMeasuredAgainstTheWallClockNotAgainstTheNewestVersion) {
  SteppedStore store;
  store.set("k", "v", {.timestamp = at(60'000)});
  EXPECT_EQ(store.set("k", "v", {.timestamp = at(60'001)}).reply, "error timestamp-too-far-ahead");
}

TEST(StoreTimestamp, LeavesNoTraceWhenItIsTooFarAhead) {
  SteppedStore store;
  store.set("k", "v", {.timestamp = at(600'000)});
  EXPECT_EQ(store.set("k", "v").version, (Timestamp{kNoon, 1, "StateStore"}));
}

TEST(StoreTimestamp, MustBeWellFormed) {
  const std::vector<std::string> malformed = {"",
                                              "NotValid",
                                              "1",
                                              "1:0",
                                              ":0:n",
                                              "1::n",
                                              "1:0:",
                                              "1:2:3:4",
                                              "-1:0:n",
                                              "+1:0:n",
                                              "1:+0:n",
                                              "1:-1:n",
                                              "1.5:0:n",
                                              "1e3:0:n",
                                              " 1:0:n",
                                              "1: 0:n",
                                              "0x10:0:n",
                                              "1_0:0:n",
                                              "NaN:0:n",
                                              "1,000:0:n",
                                              "9223372036854775808:0:n",
                                              "1:18446744073709551616:n",
                                              at(0, kMaxRequestCounter + 1)};
  for (const std::string& text : malformed) {
    SteppedStore store;
    EXPECT_EQ(store.set("k", "v", {.timestamp = text}).reply, "error malformed-timestamp") << text;
    EXPECT_EQ(store.get("k").reply, "missing") << text;
  }
}

TEST(StoreTimestamp, MayBePadded) {
  SteppedStore store;
  EXPECT_EQ(store
                .set("k", "v",
                     {.timestamp = "001696374425000:00009:0190f6a5-7c1e-7a44-9b0e-1f1df3c0a8d2"})
                .version,
            (Timestamp{kNoon, 10, "StateStore"}));
}

TEST(StoreTimestamp, IsJudgedBeforeTheToken) {
  SteppedStore store;
  store.set("fenced", "v", {.token = at(0)});
  EXPECT_EQ(store.set("fenced", "v", {.timestamp = std::nullopt}).reply, "error missing-timestamp");
  EXPECT_EQ(store.set("fenced", "v", {.timestamp = "bad", .token = at(60'001)}).reply,
            "error malformed-timestamp");
  EXPECT_EQ(store.set("fenced", "v", {.timestamp = at(60'001), .token = "bad"}).reply,
            "error timestamp-too-far-ahead");
}

}  // namespace
}  // namespace fencepost::store
