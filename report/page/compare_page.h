// The sources of the page of `fencepost compare`, built into the program: compare_page/ as it is in
// the repository, and the parts of report_page/ that it shares.
#pragma once

#include <vector>

#include "suite/scenario/scenario_loader.h"

namespace fencepost::page {

// Generated when the program is built.
[[nodiscard]] const std::vector<scenario::SourceFile>& compare_page_files();

}  // namespace fencepost::page
