// Which cases a run was of: what others compare with, to know whether these are still the same.
#pragma once

#include <string>

#include "suite/scenario/library.h"

namespace fencepost::scenario {

// SHA-256 of the lines of the case in its file, and of which member of its family it is; lower-case
// hexadecimal digits. Pure, as the others here.
[[nodiscard]] std::string digest(const Case& test_case);

// The digest of everything that the requirement says.
[[nodiscard]] std::string digest(const Requirement& requirement);

// The digest of all cases and requirements, in their order.
[[nodiscard]] std::string digest(const Library& library);

}  // namespace fencepost::scenario
