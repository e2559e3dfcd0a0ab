// Wakes the broker's main thread at a given time.
//
// The broker calls a plugin at least every 100 ms when it is idle, which is too coarse for expiring
// keys. A POSIX timer that signals the main thread interrupts its epoll_wait, and the tick follows
// immediately (0.1 ms here).
#pragma once

#include <chrono>
#include <ctime>
#include <optional>

namespace fencepost::broker_plugin {

class WakeTimer {
 public:
  // Must be constructed on the thread to be woken. Uses signal SIGRTMIN+1 of the process. When the
  // system has no timer to give, expiry is as coarse as the broker's own tick.
  WakeTimer();
  ~WakeTimer();
  WakeTimer(const WakeTimer&) = delete;
  WakeTimer& operator=(const WakeTimer&) = delete;

  // From `due` on (steady clock) the thread is woken every millisecond until armed again; never
  // when `due` is empty. Repeating covers a signal that lands outside epoll_wait. Does nothing when
  // `due` is what it was.
  void arm(std::optional<std::chrono::microseconds> due, std::chrono::microseconds now);

 private:
  std::optional<timer_t> timer_;
  std::optional<std::chrono::microseconds> armed_for_;
};

}  // namespace fencepost::broker_plugin
