// What the endpoints that we start ourselves can be configured to imitate, so that suites and
// clients can be tried against a store that is slow, or whose clock is not ours.
#pragma once

#include <chrono>

namespace fencepost::endpoint {

struct Conditions {
  std::chrono::milliseconds clock_offset{0};     // the store's wall clock minus this machine's
  std::chrono::milliseconds response_delay{0};   // of all that the store sends, notifications too
  std::chrono::milliseconds response_jitter{0};  // up to so much more, at random; what goes to one
                                                 // client stays in order

  friend bool operator==(const Conditions&, const Conditions&) = default;
};

// What the reference store takes: as much behind as ahead.
inline constexpr std::chrono::milliseconds kMaxClockOffset = std::chrono::hours{24 * 366};
inline constexpr std::chrono::milliseconds kMaxDelay = std::chrono::minutes{1};

}  // namespace fencepost::endpoint
