// Canaries: copies of a case with one expectation made wrong. A suite in which one of them passes
// does not look at what that expectation says.
#pragma once

#include <string>
#include <vector>

#include "suite/scenario/scenario.h"

namespace fencepost::selftest {

struct Canary {
  std::string what;          // which expectation was made wrong, e.g. `step 2: reply`
  scenario::Case test_case;  // must not pass against a conforming store
};

// One canary for each expectation of each step. Saving a version and waiting are no expectations,
// and have none. Nor has what is said of the version of a reply that may as well be an error: a
// conforming store may never get there.
[[nodiscard]] std::vector<Canary> make_canaries(const scenario::Case& test_case);

}  // namespace fencepost::selftest
