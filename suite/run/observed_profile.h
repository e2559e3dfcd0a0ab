// By which documents an endpoint is judged where no option says so, for what has to know it
// before it judges anything: what `certify` finds out when all cases have run.
#pragma once

#include <atomic>

#include "codec/dialect.h"
#include "endpoint/endpoint.h"
#include "suite/run/suite.h"
#include "suite/scenario/library.h"

namespace fencepost::run {

// Runs a case for each spelling in which the dialects differ: a few dozen requests. kDocumented
// where the endpoint has shown documented spellings and no other (decision 0017), else kAuto.
// `suite`: after the preflight. `stop` ends it early.
[[nodiscard]] codec::Profile observed_profile(endpoint::Endpoint& endpoint,
                                              const scenario::Library& library, SuiteOptions suite,
                                              const std::atomic<bool>& stop);

}  // namespace fencepost::run
