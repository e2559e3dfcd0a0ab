// Measures an endpoint for its descriptor: by looking, by logging in, and by
// running the cases that show which dialect it speaks and what it does where the protocol leaves a
// choice. What it writes it deletes again.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "endpoint/endpoint.h"
#include "suite/run/preflight.h"
#include "suite/run/suite.h"
#include "suite/scenario/library.h"

namespace fencepost::target {

struct ProbeSettings {
  run::RunSettings run{};
  std::size_t jobs = 1;         // cases in parallel
  std::size_t quota_up_to = 0;  // keys to write at most, to see how many fit; 0: write none
};

// How one role fared.
struct RoleFinding {
  std::string name;
  std::string problem{};  // why its credentials are of no use; empty: it logs in
};

// How many new keys fitted.
struct QuotaFinding {
  std::size_t stored = 0;
  bool refused = false;         // the next one was refused because of the quota
  std::string problem{};        // what else ended the count; empty: nothing
  std::size_t left_behind = 0;  // keys whose deletion was not confirmed
};

struct Findings {
  run::PreflightReport preflight;
  endpoint::Capabilities offered;  // with what was found out
  std::vector<RoleFinding> roles;
  std::optional<QuotaFinding> quota{};
  run::SuiteResult cases;
};

// Everything above; the error says why the endpoint is of no use. `stop` ends it early: then
// Findings::cases says so.
[[nodiscard]] Result<Findings, run::PreflightError> probe_endpoint(endpoint::Endpoint& endpoint,
                                                                   const scenario::Library& library,
                                                                   const ProbeSettings& settings,
                                                                   const std::atomic<bool>& stop);

// The cases that a probe runs: those that cite an unspecified point, depend on the dialect, or
// check the rights of a restricted client. None that disturbs the broker, and those that fill the
// quota only on request.
[[nodiscard]] std::vector<const scenario::Case*> probe_cases(const scenario::Library& library,
                                                             bool with_quota);

}  // namespace fencepost::target
