// The sources of the page of `fencepost selftest --html`, built into the program: selftest_page/ as
// it is in the repository, and the parts of report_page/ that it shares.
#pragma once

#include <vector>

#include "suite/scenario/scenario_loader.h"

namespace fencepost::page {

// Generated when the program is built. One file is HTML with places for what a run fills in, the
// CSS and JavaScript files stand in the order in which they are joined.
[[nodiscard]] const std::vector<scenario::SourceFile>& selftest_page_files();

}  // namespace fencepost::page
