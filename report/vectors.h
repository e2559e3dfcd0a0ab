// The bytes of cases as data: what is sent and which replies are right, for the unit tests of
// clients and of stores. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codec/dialect.h"
#include "suite/scenario/scenario.h"

namespace fencepost::report {

// Keys begin with this where a run has a prefix of its own.
inline constexpr const char* kVectorKeyPrefix = "vector/";

// The bytes of the longest payload of a case.
[[nodiscard]] std::size_t longest_payload(const scenario::Case& test_case);

// As docs/vectors.schema.json says. Steps that send no request are named, without bytes; a payload
// that depends on the largest packet of a broker is left out.
[[nodiscard]] std::string vectors_json(const std::vector<const scenario::Case*>& cases,
                                       codec::Profile profile);

}  // namespace fencepost::report
