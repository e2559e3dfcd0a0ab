// A small random engine: the same numbers on every machine, and cheap to seed, because libFuzzer
// hands a fresh seed to each mutation.
//
//   Random random(seed);
//   std::size_t at = random.below(trace.size());
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace fencepost::workload {

// SplitMix64 (Steele, Lea, Flood 2014). Not thread safe.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBULL;
    return mixed ^ (mixed >> 31U);
  }

  // 0 to limit - 1; limit is not 0. Slightly uneven for huge limits, which are not used here.
  std::size_t below(std::size_t limit) {
    FENCEPOST_CHECK(limit > 0);
    return static_cast<std::size_t>(next() % limit);
  }

  bool one_in(std::size_t times) { return below(times) == 0; }

  // One of the elements of a container that is not empty.
  template <typename Container>
  const auto& pick(const Container& container) {
    return container[below(container.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace fencepost::workload
