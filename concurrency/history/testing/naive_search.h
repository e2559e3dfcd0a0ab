// A second opinion for tests and fuzz targets: tries every order of the operations of one key, by
// rules that are written down here once more. Slow; shares nothing with the checker. Pure.
#pragma once

#include <optional>
#include <vector>

#include "concurrency/history/history.h"

namespace fencepost::history {

inline constexpr std::size_t kMaxNaiveOperations = 24;

// Is there an order in which a conforming store may have answered these operations so? All are of
// one key, at most kMaxNaiveOperations. `fresh_deletions`: the store answers deletions with new
// versions, which a SET may have, too; nothing: if these operations show that.
[[nodiscard]] bool naive_has_order(const std::vector<Operation>& operations, const Bounds& bounds,
                                   std::optional<bool> fresh_deletions = std::nullopt);

// Does a deletion have a version that no value has?
[[nodiscard]] bool naive_has_fresh_deletion(const std::vector<Operation>& operations);

}  // namespace fencepost::history
