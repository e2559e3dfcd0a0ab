// The offset of a store's clock: what is found out about stores whose clock is known.
#include "suite/judge/clock_estimate.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/testing/fake_clock_store.h"

namespace fencepost::judge {
namespace {

using namespace std::chrono_literals;
using test::ClockSimulation;
using test::ClockStore;
using test::holds;

struct Estimated {
  ClockEstimate estimate;
  int offers;
  std::int64_t moved_ms;  // how far the store's versions are ahead of its clock afterwards
  std::chrono::microseconds took;
};
Estimated estimated(const test::ClockStore& store) {
  test::ClockSimulation simulation(store);
  const ClockEstimate estimate = estimate_clock(simulation);
  return {estimate, simulation.offers(), simulation.last_version_ms() - simulation.clock(),
          simulation.elapsed()};
}

// `source offset [low, high]`
std::string as_text(const ClockEstimate& estimate) {
  return std::string(name(estimate.source)) + " " + std::to_string(estimate.offset_ms) + " [" +
         std::to_string(estimate.bounds.low_ms) + ", " + std::to_string(estimate.bounds.high_ms) +
         "]";
}

TEST(ClockEstimate, TakesTwoVersionsOfAQuietStore) {
  struct Row {
    std::chrono::microseconds offset;
    std::string result;
  };
  const Row table[] = {{0ms, "versions 0 [-1, 1]"},
                       {30s, "versions 30000 [29999, 30001]"},
                       {-10min, "versions -600000 [-600001, -599999]"},
                       {1500us, "versions 1 [0, 2]"},
                       {-24h * 30, "versions -2592000000 [-2592000001, -2591999999]"}};
  for (const Row& row : table) {
    const Estimated result = estimated({.offset = row.offset});
    EXPECT_EQ(as_text(result.estimate), row.result);
    EXPECT_EQ(result.offers, 0);
    EXPECT_LE(result.moved_ms, 0);
  }
}

// Nobody can tell on which way the time was spent.
TEST(ClockEstimate, IsAsCertainAsARoundTripIsShort) {
  EXPECT_EQ(as_text(estimated({.way_there = 0ms, .way_back = 200ms}).estimate),
            "versions 0 [-201, 1]");
  EXPECT_EQ(as_text(estimated({.way_there = 200ms, .way_back = 0ms}).estimate),
            "versions 0 [-1, 201]");
  EXPECT_EQ(as_text(estimated({.offset = 30s, .way_there = 0ms, .way_back = 200ms}).estimate),
            "versions 29900 [29799, 30001]");
}

TEST(ClockEstimate, AsksForRefusalsWhereVersionsAreAheadOfTheClock) {
  for (const auto offset : {0min, -10min, 10min}) {
    for (const auto ahead : {100ms, 30'000ms, 59'999ms, 60'000ms, 600'000ms}) {
      const Estimated result = estimated({.offset = offset, .moved_ahead = ahead});
      EXPECT_EQ(result.estimate.source, ClockSource::kRefusals);
      EXPECT_TRUE(test::holds(result.estimate.bounds, offset)) << as_text(result.estimate);
      EXPECT_LE(result.estimate.bounds.high_ms - result.estimate.bounds.low_ms, 6);
      EXPECT_LE(result.offers, 30);
      // Nothing was moved on their behalf: the versions stand where they stood.
      EXPECT_LE(result.moved_ms, ahead / 1ms);
    }
  }
}

// So little that the clock catches up between two looks at the versions.
TEST(ClockEstimate, WaitsForAClockThatIsAboutToCatchUp) {
  const Estimated result = estimated({.moved_ahead = 30ms});
  EXPECT_EQ(as_text(result.estimate), "versions 0 [-1, 1]");
  EXPECT_EQ(result.offers, 0);
}

TEST(ClockEstimate, MovesVersionsOnlyWhereTheConditionIsLookedAtFirst) {
  const Estimated result =
      estimated({.offset = -5min, .moved_ahead = 10s, .condition_first = true});
  EXPECT_EQ(result.estimate.source, ClockSource::kRefusals);
  EXPECT_TRUE(test::holds(result.estimate.bounds, -5min));
  EXPECT_LE(result.moved_ms, 60'000);
}

TEST(ClockEstimate, TrustsNoVersionWhoseCounterSaysThatItIsNoReading) {
  const Estimated result = estimated({.offset = 20s, .own_counter = true});
  EXPECT_EQ(result.estimate.source, ClockSource::kRefusals);
  EXPECT_TRUE(test::holds(result.estimate.bounds, 20s));
}

// The limit of refusals may be wrong, as long as the versions tell the time.
TEST(ClockEstimate, DoesNotDependOnTheRuleThatCasesCheck) {
  for (const auto limit : {0ms, 30'000ms, 59'000ms, 61'000ms, 600'000ms}) {
    EXPECT_EQ(as_text(estimated({.offset = 30s, .limit = limit}).estimate),
              "versions 30000 [29999, 30001]");
  }
  EXPECT_EQ(as_text(estimated({.offset = 30s, .limit = std::nullopt}).estimate),
            "versions 30000 [29999, 30001]");
}

TEST(ClockEstimate, BoundsOnOneSideAStoreThatRefusesNothing) {
  for (const bool condition_first : {false, true}) {
    const ClockEstimate estimate = estimated({.offset = -10min,
                                              .moved_ahead = 10s,
                                              .limit = std::nullopt,
                                              .condition_first = condition_first})
                                       .estimate;
    EXPECT_EQ(estimate.source, ClockSource::kVersionBound);
    EXPECT_GT(estimate.bounds.high_ms, -600'000);
    EXPECT_LE(estimate.bounds.high_ms, -590'000 + 1);
    EXPECT_LT(estimate.bounds.low_ms, -600'000);
  }
}

// What it takes is more than a minute ahead of a version that it gave: that is a limit of its own.
TEST(ClockEstimate, BoundsOnOneSideAStoreWhoseLimitIsProvedWrong) {
  const ClockEstimate estimate =
      estimated({.offset = 5s, .moved_ahead = 10s, .limit = 90'000ms}).estimate;
  EXPECT_EQ(estimate.source, ClockSource::kVersionBound);
  EXPECT_TRUE(test::holds(estimate.bounds, 5s)) << as_text(estimate);
}

// Its versions say 1970, its refusals today: a store that follows old requests (Req: HLC-SKEW-4) is
// not taken for one whose clock stands there.
TEST(ClockEstimate, BelievesNoVersionThatFollowsAnOldRequest) {
  for (const auto offset : {0s, 30s, -30s}) {
    const ClockEstimate estimate = estimated({.offset = offset, .follows_requests = true}).estimate;
    EXPECT_EQ(estimate.source, ClockSource::kRefusals);
    EXPECT_TRUE(test::holds(estimate.bounds, offset)) << as_text(estimate);
    EXPECT_LE(estimate.bounds.high_ms - estimate.bounds.low_ms, 6);
  }
}

TEST(ClockEstimate, BelievesAClockThatStandsInTheDistantPast) {
  constexpr auto kFiftyYears = -24h * 365 * 50;
  for (const auto limit : {60'000ms, 120'000ms}) {
    const ClockEstimate estimate =
        estimated({.offset = kFiftyYears, .moved_ahead = 10s, .limit = limit}).estimate;
    EXPECT_TRUE(test::holds(estimate.bounds, kFiftyYears)) << as_text(estimate);
  }
}

TEST(ClockEstimate, AssumesWhatTheArticleAsksForWhereNothingTells) {
  EXPECT_EQ(as_text(estimated({.readings = 0}).estimate), "assumed 0 [-60000, 60000]");
}

TEST(ClockEstimate, KeepsWhatOneVersionTells) {
  const ClockEstimate estimate = estimated({.offset = -10min, .readings = 1}).estimate;
  EXPECT_TRUE(test::holds(estimate.bounds, -10min)) << as_text(estimate);
  EXPECT_EQ(estimate.bounds.high_ms, -599'999);
}

TEST(ClockEstimate, AllowsForAClockThatShowsWholeSeconds) {
  for (const auto offset : {0ms, 250ms, 999ms, -30'400ms}) {
    const ClockEstimate estimate = estimated({.offset = offset, .unit = 1s}).estimate;
    // It is behind itself by up to a second.
    EXPECT_TRUE(test::holds(estimate.bounds, offset)) << as_text(estimate);
    EXPECT_TRUE(test::holds(estimate.bounds, offset - 999ms)) << as_text(estimate);
  }
}

TEST(ClockEstimate, AllowsForAClockWithLongTicks) {
  for (const auto unit : {15ms, 16ms, 100ms, 250ms}) {
    for (const auto offset : {0ms, 7ms, -3'000ms, 30'400ms}) {
      for (const auto ahead : {0ms, 30'000ms}) {
        const ClockEstimate estimate = estimated({.offset = offset,
                                                  .way_there = 1ms,
                                                  .way_back = 1ms,
                                                  .moved_ahead = ahead,
                                                  .unit = unit})
                                           .estimate;
        // It is behind itself by up to a tick.
        if (estimate.source != ClockSource::kVersions) {
          EXPECT_EQ(estimate.source, ClockSource::kRefusals) << as_text(estimate);
          EXPECT_LE(estimate.bounds.high_ms - estimate.bounds.low_ms, 3'000);
        }
        EXPECT_LT(estimate.bounds.low_ms, offset / 1ms + 1) << as_text(estimate);
        EXPECT_GT(estimate.bounds.high_ms, (offset - unit) / 1ms) << as_text(estimate);
      }
    }
  }
}

TEST(ClockEstimate, EndsInTimeHoweverSlowTheStore) {
  for (const auto way : {1ms, 100ms, 1000ms, 5000ms}) {
    const Estimated result = estimated({.way_there = way, .way_back = way, .moved_ahead = 30s});
    EXPECT_LE(result.took, 3s + 4 * way);
    EXPECT_TRUE(test::holds(result.estimate.bounds, 0ms)) << as_text(result.estimate);
  }
}

}  // namespace
}  // namespace fencepost::judge
