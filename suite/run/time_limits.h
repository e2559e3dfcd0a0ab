// How long the suite waits for a store and its broker: one place for limits that all clients share.
#pragma once

#include <chrono>

#include "endpoint/endpoint.h"

namespace fencepost::run {

// A reply to a small request. The documents give no limit; the public client SDKs give up after
// 10 s. When it is over, a case does not fail: it probes the store
// (suite/run/no_response.h).
inline constexpr std::chrono::milliseconds kReplyTimeout{3'000};
// The same on a slow path, whose round trips have been measured.
inline constexpr std::chrono::milliseconds kMaxReplyLimit{30'000};
// How long a store, its broker or this machine may stand still: who says nothing for less than
// this is not taken for dead.
inline constexpr std::chrono::milliseconds kStandstill{10'000};

// What was requested later may be answered by this much earlier: a request of which a case does not
// know whether it is answered at all. (Req: ENV-ORDER-OPEN-1)
inline constexpr std::chrono::milliseconds kOvertaken{500};

// The same where a case expects a reply or a notification: how long after the reply to a later
// request it may still come, at least.
inline constexpr std::chrono::milliseconds kGrace{1'000};

// The greatest --timeout-scale: a reply is waited for an hour and more, and no time overflows.
inline constexpr double kMaxTimeoutScale = 1'000;

// `time`, as much longer or shorter as --timeout-scale says.
[[nodiscard]] inline endpoint::Duration scaled(endpoint::Duration time, double timeout_scale) {
  return std::chrono::duration_cast<endpoint::Duration>(
      std::chrono::duration<double, endpoint::Duration::period>(time) * timeout_scale);
}

}  // namespace fencepost::run
