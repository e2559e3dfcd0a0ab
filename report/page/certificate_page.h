// The sources of the page of a certified client, built into the program: certificate_page/ as it is
// in the repository, and the parts of report_page/ and clients_page/ that it shares.
#pragma once

#include <vector>

#include "suite/scenario/scenario_loader.h"

namespace fencepost::page {

// Generated when the program is built.
[[nodiscard]] const std::vector<scenario::SourceFile>& certificate_page_files();

}  // namespace fencepost::page
