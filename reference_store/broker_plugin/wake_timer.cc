#include "reference_store/broker_plugin/wake_timer.h"

#include <algorithm>
#include <csignal>

#include <sys/syscall.h>
#include <unistd.h>

namespace fencepost::broker_plugin {
namespace {

using std::chrono::microseconds;

timespec to_timespec(microseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  timespec out{};
  out.tv_sec = seconds.count();
  out.tv_nsec = std::chrono::nanoseconds(time - seconds).count();
  return out;
}

}  // namespace

WakeTimer::WakeTimer() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(SIGRTMIN + 1, &action, nullptr);

  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGRTMIN + 1;
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  timer_t timer{};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_ = timer;
}

WakeTimer::~WakeTimer() {
  if (timer_) timer_delete(*timer_);
}

void WakeTimer::arm(std::optional<microseconds> due, microseconds now) {
  if (!timer_ || due == armed_for_) return;
  armed_for_ = due;
  itimerspec setting{};
  if (due) {
    // Zero would disarm the timer, so what is due already is due in one microsecond.
    setting.it_value = to_timespec(std::max(*due - now, microseconds{1}));
    setting.it_interval = to_timespec(std::chrono::milliseconds{1});
  }
  timer_settime(*timer_, 0, &setting, nullptr);
}

}  // namespace fencepost::broker_plugin
