#include "suite/run/run_slots.h"

#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace fencepost::run {
namespace {

using namespace std::chrono_literals;

constexpr auto kAtMost = 20s;  // of a test that fails; one that passes does not wait

TEST(RunSlots, AreHeldByNoMoreThanThereAre) {
  RunSlots slots(1);
  std::promise<void> second_in;
  std::future<void> second = second_in.get_future();
  std::thread thread;
  {
    const SlotGuard first(slots, Admission::kInTurn);
    thread = std::thread([&] {
      const SlotGuard slot(slots, Admission::kInTurn);
      second_in.set_value();
    });
    EXPECT_EQ(second.wait_for(10ms), std::future_status::timeout);
  }
  EXPECT_EQ(second.wait_for(kAtMost), std::future_status::ready);
  thread.join();
}

TEST(RunSlots, AYieldedSlotIsForAnotherAndBackAtOnceAfterwards) {
  RunSlots slots(1);
  const SlotGuard first(slots, Admission::kInTurn);
  std::promise<void> second_in;
  std::promise<void> first_went_on;
  std::thread thread([&] {
    const SlotGuard slot(slots, Admission::kInTurn);
    second_in.set_value();
    EXPECT_EQ(first_went_on.get_future().wait_for(kAtMost), std::future_status::ready);
  });
  {
    const SlotYield yielded(&slots);
    EXPECT_EQ(second_in.get_future().wait_for(kAtMost), std::future_status::ready);
  }
  first_went_on.set_value();  // the second still has the only slot
  thread.join();
}

TEST(RunSlots, ASlotTakenAtOnceIsCounted) {
  RunSlots slots(1);
  std::promise<void> third_in;
  std::future<void> third = third_in.get_future();
  std::thread thread;
  {
    const SlotGuard first(slots, Admission::kAtOnce);
    const SlotGuard second(slots, Admission::kAtOnce);
    thread = std::thread([&] {
      const SlotGuard slot(slots, Admission::kInTurn);
      third_in.set_value();
    });
    EXPECT_EQ(third.wait_for(10ms), std::future_status::timeout);
  }
  EXPECT_EQ(third.wait_for(kAtMost), std::future_status::ready);
  thread.join();
}

TEST(RunSlots, AYieldWithoutSlotsDoesNothing) { const SlotYield yielded(nullptr); }

}  // namespace
}  // namespace fencepost::run
