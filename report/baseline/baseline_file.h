// Baselines as files: YAML, or a list of globs, one per line with its reason as a comment behind
// it. docs/BASELINES.md describes both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/baseline/baseline.h"
#include "suite/scenario/scenario_loader.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::baseline {

// Reads a baseline: YAML when the name of the file ends in .yaml or .yml, else a list. Errors are
// appended to `errors`; with any there is no baseline. What only a run can show, and a missing
// reason, is no error here.
[[nodiscard]] std::optional<Baseline> load_baseline(const scenario::SourceFile& file,
                                                    std::vector<scenario::LoadError>& errors);

// A baseline that says nothing, for a file that does not exist yet.
[[nodiscard]] Baseline empty_baseline(const std::string& file);

// Reports entries that speak of the same case, be it in two lists or in one: which would
// count? `cases` are all that there are, selected or not.
void check_overlaps(const Baseline& baseline, const std::vector<scenario::Case>& cases,
                    std::vector<scenario::LoadError>& errors);

// The text of the file. Reading it gives the same entries again.
[[nodiscard]] std::string to_text(const Baseline& baseline);

}  // namespace fencepost::baseline
