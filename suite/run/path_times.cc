#include "suite/run/path_times.h"

#include <algorithm>

#include "suite/run/time_limits.h"

namespace fencepost::run {

using endpoint::Duration;

void PathTimes::note(Duration round_trip) {
  const std::lock_guard lock(mutex_);
  last_.at(next_) = round_trip;
  next_ = (next_ + 1) % kKept;
}

Duration PathTimes::tail() const {
  const std::lock_guard lock(mutex_);
  return std::max(measured_tail_, *std::max_element(last_.begin(), last_.end()));
}

Duration PathTimes::reply_limit() const {
  // What took this long may take longer still on a machine with other work.
  constexpr int kTails = 3;
  return std::clamp<Duration>(kTails * tail(), kReplyTimeout, kMaxReplyLimit);
}

}  // namespace fencepost::run
