// Which cases a run is of. Pure.
//
//   run_suite(endpoint, select(library.cases, {.tags = {"smoke"}}), ...);
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "conformance/scenario/scenario.h"

namespace fencepost::run {

// Which cases to run. Empty lists select everything.
struct Selection {
  std::vector<std::string> run{};           // globs of case ids; any may match
  std::vector<std::string> skip{};          // globs; none may match
  std::vector<std::string> tags{};          // any may match
  std::vector<std::string> requirements{};  // any may be cited
  std::size_t shard = 1;                    // of `shards`, by a hash of the id
  std::size_t shards = 1;
};
// Does the selection have this case?
[[nodiscard]] bool selects(const Selection& selection, const scenario::Case& test_case);
// Those that it has, in their order; pointers into `cases`.
[[nodiscard]] std::vector<const scenario::Case*> select(const std::vector<scenario::Case>& cases,
                                                        const Selection& selection);

}  // namespace fencepost::run
