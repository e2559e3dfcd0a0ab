// A few operations that show why a history breaks the rules. Pure; thread safe.
#pragma once

#include <cstddef>

#include "concurrency/history/key_history.h"
#include "concurrency/history/search.h"

namespace fencepost::history {

struct CounterExampleLimits {
  SearchLimits search{.steps = 20'000};  // of each round
  std::size_t work = 2'000'000;          // steps and entries of all rounds together
};

// `history` has no order, as `found` says: the entries that cannot be done without. The replies to
// all others may be ignored, and there would still be no order. Flaw::minimal says whether the
// limits were reached first; these entries are more than that then. `hint`: what was found to be
// wrong with the versions; may be empty.
[[nodiscard]] Flaw counter_example_of(const KeyHistory& history, const Bounds& bounds,
                                      const SearchResult& found, const Flaw& hint,
                                      const CounterExampleLimits& limits = {});

}  // namespace fencepost::history
