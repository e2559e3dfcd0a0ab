// Steps that check what an observer receives: a notification, or nothing.
#pragma once

#include "suite/run/case_state.h"
#include "suite/run/failure.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// Takes from what has come for this client the notifications of expiries that the store has noticed
// late, as it may. (Req: SET-PX-OPEN-8)
void leave_out_late_expiries(RequestClient& observer, CaseState& state);

// Waits for the next notification of the step's client and judges it.
[[nodiscard]] MaybeProblem run_notification(const scenario::NotificationStep& step,
                                            CaseState& state);

// Proves that nothing has arrived for the step's client: the notification of a fence, a key that
// only this step uses, must be the next thing that does.
[[nodiscard]] MaybeProblem run_silence(const scenario::SilenceStep& step, CaseState& state);

}  // namespace fencepost::run
