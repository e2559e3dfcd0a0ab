// The built-in cases for clients, as other commands than certify-client want them.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "suite/scenario/requirement.h"

namespace fencepost::cli {

// In how many of them a failure can be attributed to each rule.
[[nodiscard]] std::map<std::string, std::size_t> client_cases_by_rule(
    const scenario::Catalogue& catalogue);

}  // namespace fencepost::cli
