#include "selftest/overlaps.h"

#include <gtest/gtest.h>

namespace fencepost::selftest {
namespace {

const std::atomic<bool> kNever{false};

TEST(Overlaps, CatchAFaultAndPassAConformingStore) {
  for (const char* id : {"H19", "T05", "U06"}) {
    const auto results =
        run_overlaps({.only = {id}, .conforming_runs = 2, .requests = 1'500}, kNever);
    ASSERT_EQ(results.size(), 1U) << id;
    EXPECT_EQ(results[0].fault->id, id);
    EXPECT_TRUE(results[0].as_it_should_be()) << id;
    EXPECT_EQ(results[0].is_right(), id[0] == 'U');
  }
}

TEST(Overlaps, HaveAllStoresThatCasesDoNotReach) {
  const std::atomic<bool> stopped{true};
  const auto results = run_overlaps({}, stopped);
  std::size_t faults = 0;
  std::size_t right = 0;
  for (const OverlapResult& one : results) {
    EXPECT_EQ(one.runs, 0U);
    ++(one.is_right() ? right : faults);
  }
  EXPECT_GE(faults, 30U);
  EXPECT_GE(right, 11U);
}

TEST(Overlaps, AFaultThatIsNotCaughtIsNotAsItShouldBe) {
  OverlapResult missed{.fault = store::find_fault("H19"), .runs = 20};
  EXPECT_FALSE(missed.as_it_should_be());
  OverlapResult alarm{.requirement = "GET-HIT-1"};
  EXPECT_FALSE(alarm.as_it_should_be());
  EXPECT_FALSE((OverlapResult{.unknown = 1}).as_it_should_be());
}

}  // namespace
}  // namespace fencepost::selftest
