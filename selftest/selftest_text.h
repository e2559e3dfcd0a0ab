// The result of a selftest for a terminal.
#pragma once

#include <string>

#include "selftest/selftest.h"

namespace fencepost::selftest {

// Lines for people, each ended: scores, what is not as it should be and why, and the verdict.
[[nodiscard]] std::string selftest_text(const SelftestResult& result);

}  // namespace fencepost::selftest
