// What the JSON and the HTML of a selftest have in common.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

#include "selftest/selftest.h"

namespace fencepost::selftest {

// The result as docs/selftest.schema.json describes it.
[[nodiscard]] nlohmann::ordered_json selftest_document(const SelftestResult& result,
                                                       std::uint64_t seed);

}  // namespace fencepost::selftest
