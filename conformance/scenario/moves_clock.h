// Which cases leave traces in the clock of a store that others share. Pure.
#pragma once

#include <string_view>

#include "conformance/scenario/scenario.h"

namespace fencepost::scenario {

// The tag that the loader gives to such cases.
inline constexpr std::string_view kMovesClockTag = "moves-clock";

// Does a request of this case that the store may carry out have a `__ts` a second or more ahead of
// its clock, or a counter of 2^31 or more? A store whose keys share a clock then gives versions
// ahead of the time, or with such counters, for up to a minute: clients refuse versions that are a
// minute ahead, and some read the counter as 32 bits. Req: VER-SET-2, HLC-SKEW-1
[[nodiscard]] bool moves_clock(const Case& test_case);

}  // namespace fencepost::scenario
