// What a descriptor says of its endpoint, compared with what the preflight has seen. Pure.
#pragma once

#include <string>

#include "suite/run/preflight.h"
#include "suite/target/descriptor.h"

namespace fencepost::target {

// Where the endpoint is not what its descriptor says, and what to do, in a sentence; empty when it
// is.
[[nodiscard]] std::string contradiction(const Descriptor& descriptor,
                                        const run::PreflightReport& seen);

}  // namespace fencepost::target
