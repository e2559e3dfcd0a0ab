// What the failing members of a family of cases have in common: which values of its axes. One
// property of a request that a broker is wrong with, or two together, are in many members.
#pragma once

#include <span>
#include <string>

#include "suite/run/suite.h"

namespace fencepost::report {

// "receive-maximum is not none, and subscription-identifier is one or most": all of these failures
// that are members of the family of most of them have such values, and no member that passed has.
// At most two axes, one if one is enough. Empty: there is nothing of this kind, more than one axis
// or pair would explain it as well, it is a single failure, which proves little, or the family has
// less than a third of them. Pure.
[[nodiscard]] std::string where_of(std::span<const run::CaseResult* const> failures,
                                   const run::SuiteResult& result);

}  // namespace fencepost::report
