// The workloads that people have written for the fuzz targets, fuzz/traces/, built into the
// program: a search begins with them. Pure and thread safe.
#pragma once

#include <vector>

#include "suite/scenario/scenario_loader.h"
#include "workload/operation.h"

namespace fencepost::search {

// The files.
[[nodiscard]] const std::vector<scenario::SourceFile>& built_in_traces();

// What they say, in the order of their names.
[[nodiscard]] const std::vector<workload::Trace>& seed_traces();

}  // namespace fencepost::search
