// Times as reports print them. Pure.
#pragma once

#include <chrono>

namespace fencepost {

// With three decimals at most: what is measured is in microseconds.
[[nodiscard]] constexpr double in_milliseconds(std::chrono::microseconds time) {
  return static_cast<double>(time.count()) / 1000.0;
}

// Converts any duration from a microsecond up.
[[nodiscard]] constexpr double in_seconds(std::chrono::microseconds time) {
  return static_cast<double>(time.count()) / 1'000'000.0;
}

}  // namespace fencepost
