// A request of a client that speaks MQTT 3.1.1, which can have no response.
#pragma once

#include "suite/run/case_state.h"
#include "suite/run/failure.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// Connects, publishes, and subscribes, so that the broker must have read the request when it
// answers. A connection that is refused, or ends, is the outcome `disconnect` of the step, else it
// is `none`. Req: ENV-MQTT5-OPEN-1
[[nodiscard]] MaybeProblem run_old_request(const scenario::RequestStep& step, CaseState& state);

}  // namespace fencepost::run
