// Loads scenario files. The format is described in scenarios/FORMAT.md.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "suite/scenario/scenario.h"
#include "suite/scenario/source_file.h"

namespace fencepost::scenario {

// Reads the cases of one file and appends the errors to `errors`. Cases with errors are left out.
// `requirements`: the ids that cases may cite. A file of cases for clients, which says `certifies:
// clients`, has none of these.
[[nodiscard]] std::vector<Case> load_scenario(const SourceFile& file,
                                              const std::set<std::string>& requirements,
                                              std::vector<LoadError>& errors);

// Errors in a set of cases as a whole: ids that stand twice.
void check_unique_ids(const std::vector<Case>& cases, std::vector<LoadError>& errors);

// The divergences that the expectations of a case depend on.
[[nodiscard]] std::set<codec::Divergence> divergences_of(const Case& test_case);

// Is there a check that a store which never answers, or answers always the same, would fail?
[[nodiscard]] bool has_positive_check(const Case& test_case);

}  // namespace fencepost::scenario
