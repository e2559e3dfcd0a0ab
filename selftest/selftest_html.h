// The result of a selftest as one page of HTML that loads nothing: the scores, what survived and
// why, the kill matrix, and every fault with the cases that catch it.
#pragma once

#include <cstdint>
#include <string>

#include "selftest/selftest.h"

namespace fencepost::selftest {

// The page for a result, complete or interrupted. Texts stay text, with any bytes.
[[nodiscard]] std::string selftest_html(const SelftestResult& result, std::uint64_t seed);

}  // namespace fencepost::selftest
