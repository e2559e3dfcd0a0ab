// A file that says when `stress --disturb` does what: docs/RESILIENCE.md describes it.
//
//   if (is_fault_plan("night.yaml")) auto plan = load_fault_plan({"night.yaml", content}, errors);
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "endpoint/fault_schedule.h"
#include "suite/scenario/source_file.h"

namespace fencepost::target {

// Does the text name such a file, and not kinds?
[[nodiscard]] constexpr bool is_fault_plan(std::string_view text) {
  return text.ends_with(".yaml") || text.ends_with(".yml");
}

// Nothing after an error, which is appended to `errors` with its line.
[[nodiscard]] std::optional<endpoint::FaultPlan> load_fault_plan(
    const scenario::SourceFile& file, std::vector<scenario::LoadError>& errors);

}  // namespace fencepost::target
