// Steps that write many numbered keys: until the quota is reached, or to read them all back.
#pragma once

#include "suite/run/case_state.h"
#include "suite/run/failure.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// Writes new keys until one is refused because of the quota. That many fit must be known:
// RunSettings::quota.
[[nodiscard]] MaybeProblem run_fill_quota(const scenario::FillQuotaStep& step, CaseState& state);

// Writes keys with a value each and reads all of them back. Inconclusive where the quota is too
// small for them.
[[nodiscard]] MaybeProblem run_write_many(const scenario::WriteManyStep& step, CaseState& state);

}  // namespace fencepost::run
