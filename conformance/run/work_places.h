// How many cases are at work at once. A case that waits for time to pass gives its place to
// another.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace fencepost::run {

// Thread safe.
class WorkPlaces {
 public:
  explicit WorkPlaces(std::size_t places) : free_(static_cast<std::ptrdiff_t>(places)) {}
  WorkPlaces(const WorkPlaces&) = delete;
  WorkPlaces& operator=(const WorkPlaces&) = delete;

  // Waits until a place is free.
  void take() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return free_ > 0; });
    --free_;
  }

  // Takes one although none may be free: of whoever cannot wait.
  void take_at_once() {
    const std::lock_guard lock(mutex_);
    --free_;
  }

  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  std::ptrdiff_t free_;  // negative while more than planned are at work
};

enum class Admission { kInTurn, kAtOnce };

// A place for as long as the object lives.
class WorkPlace {
 public:
  WorkPlace(WorkPlaces& places, Admission admission) : places_(places) {
    admission == Admission::kInTurn ? places_.take() : places_.take_at_once();
  }
  ~WorkPlace() { places_.give_back(); }
  WorkPlace(const WorkPlace&) = delete;
  WorkPlace& operator=(const WorkPlace&) = delete;

 private:
  WorkPlaces& places_;
};

// A pause of whoever has a place, for as long as the object lives; what comes after it has its
// time, and goes on at once. Without places it does nothing.
class WorkPause {
 public:
  explicit WorkPause(WorkPlaces* places) : places_(places) {
    if (places_ != nullptr) places_->give_back();
  }
  ~WorkPause() {
    if (places_ != nullptr) places_->take_at_once();
  }
  WorkPause(const WorkPause&) = delete;
  WorkPause& operator=(const WorkPause&) = delete;

 private:
  WorkPlaces* places_;
};

}  // namespace fencepost::run
