// How long the suite waits for a store: one place for limits that all who ask a store share.
#pragma once

#include <chrono>

#include "endpoint/endpoint.h"

namespace fencepost::run {

// A reply to a small request. The documents give no limit; the public client SDKs give up after
// 10 s.
inline constexpr std::chrono::milliseconds kReplyTimeout{3'000};

// `time`, as much longer or shorter as --timeout-scale says.
[[nodiscard]] inline endpoint::Duration scaled(endpoint::Duration time, double timeout_scale) {
  return std::chrono::duration_cast<endpoint::Duration>(
      std::chrono::duration<double, endpoint::Duration::period>(time) * timeout_scale);
}

}  // namespace fencepost::run
