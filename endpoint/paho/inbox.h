// The queue between a client library's thread and the case that waits. Thread safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "endpoint/cancellation.h"
#include "endpoint/endpoint.h"
#include "endpoint/wait_clock.h"

namespace fencepost::endpoint {

// How often it checks for cancellation.
inline constexpr std::chrono::milliseconds kLookInterval{100};

class Inbox {
 public:
  void push(Event event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    changed_.notify_one();
  }

  // The oldest event; nothing when none came in time.
  [[nodiscard]] std::optional<Event> pop(Duration timeout) {
    std::unique_lock lock(mutex_);
    const auto deadline = WaitClock::now() + timeout;
    while (events_.empty()) {
      const auto now = WaitClock::now();
      if (now >= deadline || waits_have_ended()) return std::nullopt;
      changed_.wait_until(lock, std::min(deadline, now + kLookInterval));
    }
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
};

}  // namespace fencepost::endpoint
