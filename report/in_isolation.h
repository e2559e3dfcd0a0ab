// Does a failure repeat when its case runs in isolation, as the command in reports would
// run it? Some need their neighbours: a clock that other cases moved, pipelines at work.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "endpoint/endpoint.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"
#include "suite/scenario/scenario.h"

namespace fencepost::report {

// Runs these cases and nothing else, on a store as that command would find it. Nothing when there
// is no time for it, or the store could not be reached: then it gets no more requests.
using RunAgain =
    std::function<std::optional<run::SuiteResult>(const std::vector<const scenario::Case*>& cases)>;

// How long failures are run again by themselves when a run is over.
inline constexpr std::chrono::seconds kMaxTimeAlone{5};

// Can these cases be run again in that time? Where time is stepped by hand, always.
[[nodiscard]] bool is_quick(const std::vector<const scenario::Case*>& cases,
                            const endpoint::Capabilities& offered);

// What a RunAgain does with the endpoint that it has: runs the cases as those of `suite`, each
// once. `is_late` ends the run after any case. Nothing when the endpoint was lost.
[[nodiscard]] std::optional<run::SuiteResult> run_again(
    endpoint::Endpoint& endpoint, const std::vector<const scenario::Case*>& cases,
    const scenario::Catalogue& catalogue, run::SuiteOptions suite,
    const std::function<bool()>& is_late);

// For how many root causes the case that shows each best is rerun.
inline constexpr std::size_t kMaxTriedAlone = 10;

// Tries the best case of each root cause that fails the run, the first ones first, and notes in
// `result` what became of it (CaseResult::alone). Where it passes, cases that begin alike are run
// with it, then its whole area, to find a small run that shows the root cause. `ran` are the cases
// of the run.
void try_alone(run::SuiteResult& result, const std::vector<const scenario::Case*>& ran,
               const scenario::Catalogue& catalogue, bool strict, const RunAgain& again);

}  // namespace fencepost::report
