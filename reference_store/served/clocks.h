// The clocks of this machine, as stores read them.
#pragma once

#include <chrono>
#include <ctime>

#include "reference_store/store.h"

namespace fencepost::served {

// Two readings, at the same time.
struct Clocks {
  std::chrono::microseconds wall{0};  // since the Unix epoch
  std::chrono::microseconds steady{0};
};

[[nodiscard]] inline std::chrono::microseconds clock_reading(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::duration_cast<std::chrono::microseconds>(
                                                 std::chrono::nanoseconds{time.tv_nsec});
}

// The wall clock first: if this thread is interrupted between the two, no key expires early.
[[nodiscard]] inline Clocks read_clocks() {
  const auto wall = clock_reading(CLOCK_REALTIME);
  return {.wall = wall, .steady = clock_reading(CLOCK_MONOTONIC)};
}

}  // namespace fencepost::served
