// Runs one case on one session of an endpoint.
//
//   auto session = endpoint.open_session();
//   const CaseResult result = run_case(test_case, **session, {.run_id = "1a2b"});
//   if (result.verdict == Verdict::kFailed) complain(result.failure.message);
#pragma once

#include "endpoint/endpoint.h"
#include "suite/run/case_result.h"
#include "suite/run/run_settings.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// Blocks until the case has ended; the session's clock decides how long waits take. A violated
// expectation, a lost connection and a reply that proves nothing are verdicts of the result, never
// errors. Removes what the case has written, if the
// settings say so and unless the case is lost: it is unknown then whether the endpoint is there.
// Thread safe as far as the session is. `test_case` must outlive the result.
[[nodiscard]] CaseResult run_case(const scenario::Case& test_case, endpoint::Session& session,
                                  const RunSettings& settings);

}  // namespace fencepost::run
