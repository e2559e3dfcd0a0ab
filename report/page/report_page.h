// The sources of the HTML report, built into the program: report_page/ as it is in the repository.
#pragma once

#include <vector>

#include "suite/scenario/scenario_loader.h"

namespace fencepost::page {

// Generated when the program is built. One file is HTML with places for what a run fills in, the
// CSS and JavaScript files stand in the order in which they are joined.
[[nodiscard]] const std::vector<scenario::SourceFile>& report_page_files();

}  // namespace fencepost::page
