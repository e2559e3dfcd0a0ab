// Random workloads against any store, judged by the oracle. RapidCheck makes the traces and makes
// them smaller; each runs with keys and clients of its own.
//
//   ExploreResult result = explore(endpoint, {.seed = 1, .max_time = 60s}, stop, progress);
//   if (result.found) print(result.found->trace);
//
// Which traces there are follows from the seed alone; which of them is first to fail may depend on
// the store.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "conformance/search/judged_run.h"
#include "endpoint/endpoint.h"
#include "workload/operation.h"

namespace fencepost::conformance {

struct ExploreOptions {
  JudgedRunOptions judged{};  // but for the prefixes of keys and clients, which are made here
  std::string run_id{};       // in every key and client id
  std::uint64_t seed = 0;
  std::size_t max_examples = 0;  // 0: as many as there is time for
  std::chrono::milliseconds max_time{60'000};
  std::size_t jobs = 1;             // traces at once
  std::size_t max_operations = 40;  // of a trace
};

// A trace of which the oracle rejects something.
struct Counterexample {
  workload::Trace trace{};
  workload::Trace first{};  // as it was found
  Rejection rejection{};
  std::size_t example = 0;              // from 1: which one it was
  std::size_t operations_at_first = 0;  // before it was made smaller
  std::size_t runs = 0;                 // of the smallest, to know how often it fails
  std::size_t failed = 0;               // of these; 0: it was seen once
  std::size_t shrink_runs = 0;
  std::chrono::milliseconds found_after{0};
};

struct ExploreProgress {
  std::chrono::milliseconds elapsed{0};
  std::size_t examples = 0;
  std::size_t requests = 0;     // operations that were answered
  std::size_t undecidable = 0;  // of these
  std::size_t cut_short = 0;    // examples during which a connection ended
  std::string doing{};          // empty while it searches
};

struct ExploreResult {
  ExploreProgress progress{};
  std::optional<Counterexample> found{};
  std::map<std::string, std::string> observed{};  // what is open: see Oracle::observed()
  std::optional<endpoint::Error> lost{};          // the endpoint is gone
  bool interrupted = false;
};

// The trace that example number `example` of this seed is.
[[nodiscard]] workload::Trace example_of(std::uint64_t seed, std::size_t example,
                                         std::size_t max_operations);

// Ends with the first counter-example, when there is no time left, or when `stop` says so. Calls
// `progress` now and then, from any thread, one at a time.
[[nodiscard]] ExploreResult explore(endpoint::Endpoint& endpoint, const ExploreOptions& options,
                                    const std::atomic<bool>& stop,
                                    const std::function<void(const ExploreProgress&)>& progress);

}  // namespace fencepost::conformance
