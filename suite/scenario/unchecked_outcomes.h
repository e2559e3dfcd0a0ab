// Open outcomes that no later step checks.
#pragma once

#include <vector>

#include "suite/scenario/scenario.h"
#include "suite/scenario/source_file.h"

namespace fencepost::scenario {

// Errors in requests that may change the store, that an unspecified point allows to be refused or
// carried out, and whose outcome no later step of the case checks (`by`, `when`): a store that
// refuses them and carries them out would pass. A note at the step is taken for the reason why.
[[nodiscard]] std::vector<LoadError> requests_with_unchecked_outcomes(const Case& test_case);

}  // namespace fencepost::scenario
