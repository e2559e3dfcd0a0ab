// The enumeration of a certification: when the cases have finished and none has failed, all short
// workloads (workload/enumeration.h) are run and judged by the oracle. `fencepost explore
// --exhaustive` is the same by itself.
//
//   run::EnumerationResult enumeration = run_enumeration(phase, endpoint, stop, progress);
//   run::mark_failures(enumeration.findings, catalogue, strict, result);
//   result.enumeration = std::move(enumeration);
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "endpoint/endpoint.h"
#include "suite/run/phase_result.h"
#include "suite/run/suite.h"
#include "suite/scenario/library.h"
#include "traffic/record/counterexample.h"
#include "traffic/search/explore.h"

namespace fencepost::record {

struct EnumerationPhase {
  ExploreCall call{};  // for the commands that repeat what is found
  const scenario::Library& library;
  const run::SuiteOptions& suite;  // as after the preflight; its profile is not auto
  std::string run_id{};            // in every key and client id
  endpoint::Duration round_trip{0};
  std::size_t depth = 1;
  // It ends then, without a doubt about what it has run. Nothing: only all workloads are enough.
  std::optional<std::chrono::milliseconds> time{};
  std::set<std::string, std::less<>> known{};  // broken rules: the search goes past them
  std::string not_run_because{};               // then nothing is run, and the error says this
};

// Never fails: EnumerationResult::error says why the phase ended early, and `undecided` why nothing
// is proved. Ends at the first rule that is broken. `stop` may be set by any thread and ends it.
// Calls `progress` now and then, from any thread, one at a time.
[[nodiscard]] run::EnumerationResult run_enumeration(
    const EnumerationPhase& phase, endpoint::Endpoint& endpoint, const std::atomic<bool>& stop,
    const std::function<void(const search::ExploreProgress&)>& progress);

// Fills in what a search needs to know of the endpoint: how its runs are judged, and how many run
// in parallel. `jobs`: as the user has it; 0: as many as are good.
void fit_to(const endpoint::Endpoint& endpoint, const scenario::Catalogue& catalogue,
            const run::SuiteOptions& suite, endpoint::Duration round_trip, std::size_t jobs,
            search::ExploreOptions& explore);

}  // namespace fencepost::record
