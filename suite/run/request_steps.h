// Sends the requests of a case, waits for what comes of them, and has it judged.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "suite/judge/exchange.h"
#include "suite/run/case_state.h"
#include "suite/run/failure.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// Sends the request, waits, judges.
[[nodiscard]] MaybeProblem run_request(const scenario::RequestStep& step, CaseState& state);

// Sends all requests without waiting in between, then judges their replies in the same order, and
// hands each exchange that is as expected to `seen`. The first problem ends it. Expectations of
// silence end without a reply: `seen` must not read one then.
[[nodiscard]] MaybeProblem run_requests(
    const std::vector<scenario::RequestStep>& steps, CaseState& state,
    const std::function<void(const judge::Exchange&)>& seen = [](const judge::Exchange&) {});

// Sends a request of the suite's own, e.g. {"KEYNOTIFY", key}, and wants it to succeed.
[[nodiscard]] MaybeProblem run_command(RequestClient& from,
                                       const std::vector<std::string_view>& arguments,
                                       CaseState& state);

}  // namespace fencepost::run
