// The stress phase of a certification: when the cases have finished, many clients send requests
// concurrently for a short time, and their history is checked for linearizability. `fencepost
// stress` is the same by itself, with all that it takes to look for the cause.
//
//   run::StressResult stress = run_stress_phase(phase, endpoint, stop);
//   mark_failures(stress.findings, catalogue, strict, result);
//   result.stress = std::move(stress);
//   context.stopped_because = end_stress_phase(endpoint, stop, result);
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "concurrency/histories/checked_history.h"
#include "concurrency/history/checker.h"
#include "concurrency/history/history.h"
#include "concurrency/stress/load.h"
#include "endpoint/endpoint.h"
#include "suite/judge/oracle_basis.h"
#include "suite/run/phase_result.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"
#include "suite/target/descriptor.h"

namespace fencepost::concurrency {

// How long the phase takes; zero: there is none, as in all shards except the first. `option` is
// that of --stress; where it is empty, a run of all built-in cases has a short phase. The error
// says what the option may be. Pure.
[[nodiscard]] Result<std::chrono::milliseconds, std::string> stress_duration(
    const std::string& option, bool all_cases, std::size_t shard);

struct StressPhase {
  const target::Descriptor& descriptor;
  const run::SuiteOptions& suite;        // as after the preflight
  endpoint::Duration round_trip_p99{0};  // that the preflight has measured
  std::string command{};  // `fencepost stress --endpoint URL`: the phase adds what is in force
  std::chrono::milliseconds duration{2'000};
  std::set<std::string, std::less<>> waived{};  // rules that do not apply to the store
  bool versions_grow = true;                    // see history::Bounds
  bool stop_at_violation = true;                // else what comes after the first is found, too
  // Gets each line of the history, docs/HISTORY.md, from one thread at a time; may be empty.
  std::function<void(const std::string& line)> keep{};
};

// Runs the phase against `endpoint`; a store in process is created again, and run in
// simulated time. Never fails: StressResult::trouble says why the phase did not begin, or ended
// early; what was answered until then is judged. The keys are deleted as far as the connections
// last. `stop` may be set by any thread and ends the phase.
[[nodiscard]] run::StressResult run_stress_phase(const StressPhase& phase,
                                                 endpoint::Endpoint& endpoint,
                                                 const std::atomic<bool>& stop);

// What clients of `workload` do over connections: how much later than the history says a store may
// be, depends on how far away it is. Pure.
[[nodiscard]] stress::LoadOptions load_options(const StressPhase& phase,
                                               const stress::Mix& workload);

// The violations as reports show them, the first of each rule: the operations that contradict each
// other, in the order of their calls. Pure.
[[nodiscard]] std::vector<run::PhaseFinding> findings_of(
    const std::vector<history::KeyVerdict>& violations);

// What is wrong with the properties, the form and the presence of a version of each reply of a
// store that `basis` binds: for stress::TrafficOptions. Pure and thread safe.
[[nodiscard]] decltype(stress::TrafficOptions::check_reply) reply_check(judge::OracleBasis basis);

// The phase again, from its history. `then`: what the run said of it, of which what no history
// shows is taken over; what the run has found and the history does not show leaves it undecided.
// Pure.
[[nodiscard]] run::StressResult judged_again(const histories::CheckedHistory& checked,
                                             run::StressResult then);

// Notes in `result`, which has the phase, that the run was interrupted, or that the endpoint was
// lost: it checks, where the phase ended early. Returns why the run stopped; empty when it did
// not.
[[nodiscard]] std::string end_stress_phase(endpoint::Endpoint& endpoint, bool interrupted,
                                           run::SuiteResult& result);

}  // namespace fencepost::concurrency
