// A step in which many clients observe one key.
#pragma once

#include "suite/run/case_state.h"
#include "suite/run/failure.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// Connects the observers, registers each, and lets the client of the step write the key twice: each
// observer must be notified of both values, in this order, once. They disconnect in the end.
// Req: NTF-SEND-1
[[nodiscard]] MaybeProblem run_fan_out(const scenario::FanOutStep& step, CaseState& state);

}  // namespace fencepost::run
