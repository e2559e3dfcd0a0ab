// The general decision on one key: a search for an order in which a conforming store may have taken
// the operations (Wing and Gong 1993, Lowe 2017), made fast by versions. Pure; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "concurrency/history/key_history.h"
#include "concurrency/history/model.h"

namespace fencepost::history {

struct SearchLimits {
  std::size_t steps = 5'000'000;
  // That are queued at the same time, of less than 80 bytes each: a key with many operations whose
  // outcome is unknown has that many at each step.
  std::size_t moves = 6'000'000;
};

enum class Decision : std::uint8_t { kOrder, kNoOrder, kUndecided };

struct SearchResult {
  Decision decision = Decision::kUndecided;
  std::vector<Index> order{};  // kOrder: entries; those without reply only where they took effect
  std::size_t steps = 0;
  // kNoOrder: when the last of those operations returned without which there would be an order.
  std::int64_t stuck_at = 0;
};

// `history` has been resolved.
[[nodiscard]] SearchResult search(const KeyHistory& history, const Bounds& bounds,
                                  const SearchLimits& limits = {});

// Do these entries, in this order, keep to the rules and to real time? Every entry with a reply
// must be among them. What a positive verdict is checked with.
[[nodiscard]] bool replays(const KeyHistory& history, const Bounds& bounds,
                           const std::vector<Index>& order);

}  // namespace fencepost::history
