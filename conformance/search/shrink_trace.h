// Makes a trace that shows a difference as small as it gets: fewer operations first, then simpler
// ones. What still shows the difference is for others to say, who may ask a store.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "conformance/search/live_plan.h"

namespace fencepost::search {

// The place of the first of these plans that still shows the difference; nothing when none does.
// They are at least one, and may be tried at once.
using FirstFailing = std::function<std::optional<std::size_t>(const std::vector<LivePlan>&)>;

struct Shrunk {
  LivePlan plan;
  std::size_t tried = 0;  // plans
};

// Greedy: takes the first smaller plan that fails and begins anew, until none does; then tries
// whether the state in the end shows the difference with less. Each is
// smaller, by the number of its steps, then by the length of its text, then by how usual its
// clients, keys and values are, so that it ends.
[[nodiscard]] Shrunk shrink(const LivePlan& failing, const FirstFailing& first_failing);

}  // namespace fencepost::search
