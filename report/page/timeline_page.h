// The sources of the page with the timeline of a history, built into the program: timeline_page/ as
// it is in the repository, and the parts of report_page/ that it shares.
#pragma once

#include <vector>

#include "suite/scenario/scenario_loader.h"

namespace fencepost::page {

// Generated when the program is built.
[[nodiscard]] const std::vector<scenario::SourceFile>& timeline_page_files();

}  // namespace fencepost::page
