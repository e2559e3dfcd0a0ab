// Waits for descriptors: what all calls of poll() that have a deadline have in common.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <span>

#include <poll.h>

namespace fencepost {

// Returns when something has happened to one of them, or at `deadline`, time_point::max() being
// never: to how many it has, which `revents` shows. A signal does not end it. Negative: poll()
// could not, for the reason in errno.
inline int poll_until(std::span<pollfd> entries, std::chrono::steady_clock::time_point deadline) {
  using std::chrono::nanoseconds;
  while (true) {
    const nanoseconds left =
        std::max(nanoseconds{0}, nanoseconds{deadline - std::chrono::steady_clock::now()});
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    const int ready = ppoll(entries.data(), entries.size(), &limit, nullptr);
    if (ready >= 0 || errno != EINTR) return ready;
  }
}

}  // namespace fencepost
