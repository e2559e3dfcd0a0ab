// certify --last-failed: the cases that an earlier run has not passed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fencepost::report {

// The ids of the cases that failed or were inconclusive in the JSON report at `path`, of those that
// match one of `globs` (none: of all); empty when there are none. The error names the option and
// the file, and says why it cannot be read, or that it is no such report.
[[nodiscard]] Result<std::vector<std::string>, std::string> last_failed(
    const std::string& path, const std::vector<std::string>& globs);

}  // namespace fencepost::report
