// Which cases a run has. Pure.
//
//   run_suite(endpoint, select(library.cases, {.tags = {"smoke"}}), ...);
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suite/scenario/library.h"
#include "suite/scenario/scenario.h"

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
// Does it leave out cases that no other shard has?
[[nodiscard]] bool is_filtered(const Selection& selection);
// Does the selection have this case?
[[nodiscard]] bool selects(const Selection& selection, const scenario::Case& test_case);
// Those that it has, in their order; pointers into `cases`.
[[nodiscard]] std::vector<const scenario::Case*> select(const std::vector<scenario::Case>& cases,
                                                        const Selection& selection);

// As options of the command line, each after a blank; empty for all cases.
[[nodiscard]] std::string selection_text(const Selection& selection);

// For a selection that matches no case: which of its options matches none.
[[nodiscard]] std::string why_empty(const Selection& selection, const scenario::Library& library);

// A part of a run that several processes share.
struct Shard {
  std::size_t index = 1;  // from 1 to `total`
  std::size_t total = 1;
};
// "2/5"; nothing when the text looks otherwise, or there is no such part.
[[nodiscard]] std::optional<Shard> parse_shard(std::string_view text);

}  // namespace fencepost::run
