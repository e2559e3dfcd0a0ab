// What certify does when the cases are through: many clients ask at once, for a short time, and
// what they were told is judged. `fencepost stress` is the same by itself, with all that it takes
// to look for the cause.
#pragma once

#include <chrono>
#include <optional>

#include "cli/commands.h"
#include "conformance/run/suite.h"
#include "conformance/scenario/requirement.h"
#include "conformance/target/descriptor.h"
#include "endpoint/endpoint.h"

namespace fencepost::cli {

// How long --stress lets them ask; zero: not at all. Nothing after a complaint.
[[nodiscard]] std::optional<std::chrono::milliseconds> time_of_stress(
    const CertifyOptions& options);

struct CertifyStress {
  const CertifyOptions& options;
  const target::Descriptor& descriptor;
  const run::SuiteOptions& suite;
  const run::PreflightReport& preflight;
  std::chrono::milliseconds time{2'000};
};

// Of a store that is a function call away a new one is asked, in simulated time. Whatever happens,
// what was answered until then is judged; the keys are deleted as far as the connections last.
[[nodiscard]] run::StressResult stress_at_once(const CertifyStress& stress,
                                               endpoint::Endpoint& endpoint);

// Which of the findings fail the run: not those of rules that do not bind this store, nor any where
// the baseline knows failures of it, as one cause may show in both.
void settle(run::StressResult& stress, const scenario::Catalogue& catalogue, bool strict,
            const run::SuiteResult& result);

}  // namespace fencepost::cli
