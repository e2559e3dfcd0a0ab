// Work shared out among threads. A machine that gives no more threads (ulimit, a container's limit)
// makes the work slower, and stops nothing. (Not std::jthread, which libc++ has as an experiment
// only: fuzz targets are built with that.)
#pragma once

#include <cstddef>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace fencepost {

// Calls `first` in another thread and `second` in the caller's, in parallel; one after the other
// where there is no thread to be had. Returns when both have returned. Neither may throw.
template <typename First, typename Second>
void run_side_by_side(const First& first, const Second& second) {
  std::thread beside;
  try {
    beside = std::thread(first);
  } catch (const std::system_error&) {
    first();
  }
  second();
  if (beside.joinable()) beside.join();
}

// Calls `work` in `count` parallel threads, of which the caller's is one; in fewer where no more
// can be had. Returns when all have returned; with a count of 0, without a call. `work` may not
// throw.
template <typename Work>
void run_in_threads(std::size_t count, const Work& work) {
  if (count == 0) return;
  std::vector<std::thread> others;
  others.reserve(count - 1);
  try {
    while (others.size() + 1 < count) others.emplace_back(work);
  } catch (const std::system_error&) {  // EAGAIN: these are all
  }
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace fencepost
