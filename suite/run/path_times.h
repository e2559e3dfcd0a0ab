// How long requests take to the store and back, measured before a run and again all through it, and
// what follows from it: how long a reply is waited for.
//
//   PathTimes times(preflight.round_trip_p99);
//   times.note(reply.time - exchange.sent);
//   client.await(exchange, times.reply_limit());
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "endpoint/endpoint.h"

namespace fencepost::run {

// Thread safe.
class PathTimes {
 public:
  // `tail`: how long the slowest requests took when nothing else ran; zero: not measured.
  explicit PathTimes(endpoint::Duration tail) : measured_tail_(tail) {}

  void note(endpoint::Duration round_trip);

  // How long the slowest of the last requests took, or of those before the run when they were
  // slower.
  [[nodiscard]] endpoint::Duration tail() const;

  // How long a small reply is waited for before the suite probes the store: kReplyTimeout,
  // or three tails where that is longer, up to kMaxReplyLimit.
  [[nodiscard]] endpoint::Duration reply_limit() const;

 private:
  static constexpr std::size_t kKept = 256;

  const endpoint::Duration measured_tail_;
  mutable std::mutex mutex_;
  std::array<endpoint::Duration, kKept> last_{};
  std::size_t next_ = 0;
};

}  // namespace fencepost::run
