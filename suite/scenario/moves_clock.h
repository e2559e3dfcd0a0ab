// Which cases leave traces in the clock of a store that others share. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "suite/scenario/scenario.h"

namespace fencepost::scenario {

// The tag that such cases have, whether their file says so or not.
inline constexpr std::string_view kMovesClockTag = "moves-clock";

// Does a request of this case that the store may carry out have a `__ts` a second or more ahead of
// its clock, or a counter of 2^31 or more? A store whose keys share a clock then gives versions
// ahead of the time, or with such counters, for up to a minute: clients refuse versions that are a
// minute ahead, and some read the counter as 32 bits. Req: VER-SET-2, HLC-SKEW-1
[[nodiscard]] bool moves_clock(const Case& test_case);

// The tags that a case can be selected by: those of its file, and the one above.
[[nodiscard]] std::vector<std::string> tags_of(const Case& test_case);

}  // namespace fencepost::scenario
