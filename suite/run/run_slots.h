// Limits how many cases run in parallel. A case that waits for time to pass lends its slot to
// another.
//
//   RunSlots slots(4);
//   SlotGuard slot(slots, Admission::kInTurn);  // blocks while four others hold one
//   {
//     SlotYield waiting(&slots);                // another case may run meanwhile
//     std::this_thread::sleep_for(1s);
//   }                                           // has its slot back immediately
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace fencepost::run {

// A counting semaphore that may be overdrawn. Thread safe.
class RunSlots {
 public:
  explicit RunSlots(std::size_t slots) : free_(static_cast<std::ptrdiff_t>(slots)) {}
  RunSlots(const RunSlots&) = delete;
  RunSlots& operator=(const RunSlots&) = delete;

  // Blocks until a slot is free. The order of those that wait is not defined.
  void acquire() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return free_ > 0; });
    --free_;
  }

  // Takes a slot even if none is free: for callers that must not block.
  void acquire_over_limit() {
    const std::lock_guard lock(mutex_);
    --free_;
  }

  // Each acquire needs one release; on any thread.
  void release() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  std::ptrdiff_t free_;  // negative while callers that must not block exceed the limit
};

enum class Admission { kInTurn, kAtOnce };

// Holds a slot for as long as the object lives. `slots` must outlive it.
class SlotGuard {
 public:
  SlotGuard(RunSlots& slots, Admission admission) : slots_(slots) {
    admission == Admission::kInTurn ? slots_.acquire() : slots_.acquire_over_limit();
  }
  ~SlotGuard() { slots_.release(); }
  SlotGuard(const SlotGuard&) = delete;
  SlotGuard& operator=(const SlotGuard&) = delete;

 private:
  RunSlots& slots_;
};

// Lends the slot that the caller holds, for as long as the object lives. The destructor does not
// block: a case that waited for a point in time must continue at that time, even over the limit.
// Without slots (null) it does nothing.
class SlotYield {
 public:
  explicit SlotYield(RunSlots* slots) : slots_(slots) {
    if (slots_ != nullptr) slots_->release();
  }
  ~SlotYield() {
    if (slots_ != nullptr) slots_->acquire_over_limit();
  }
  SlotYield(const SlotYield&) = delete;
  SlotYield& operator=(const SlotYield&) = delete;

 private:
  RunSlots* slots_;
};

}  // namespace fencepost::run
