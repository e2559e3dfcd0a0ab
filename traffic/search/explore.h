// Random workloads against any store, judged by the oracle. RapidCheck makes the traces and makes
// them smaller; each runs with its own keys and clients.
//
//   ExploreResult result = explore(endpoint, {.seed = 1, .max_time = 60s}, stop, progress);
//   for (const Counterexample& found : result.found) print(found.trace);
//
// With options.all it runs all traces of an enumeration, and ends when it has.
//
// The first random traces are those of fuzz/traces, the same for every seed. Which others there are
// follows from the seed alone; which of them is first to fail may depend on the store.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "endpoint/endpoint.h"
#include "suite/run/selection.h"
#include "traffic/search/judged_run.h"
#include "workload/enumeration.h"
#include "workload/operation.h"

namespace fencepost::search {

struct ExploreOptions {
  JudgedRunOptions judged{};  // but for the prefixes of keys and clients, which are made here
  std::string run_id{};       // in every key and client id
  std::uint64_t seed = 0;
  std::size_t first_example = 1;  // the first trace that is run; numbers begin with 1
  run::Shard shard{};             // of these numbers, as next_of_shard() says
  std::size_t max_examples = 0;   // 0: as many as there is time for
  // The time for searching and for shrinking what was found. What has been found then is run a few
  // times more, for at most kConfirmTime.
  std::chrono::milliseconds max_time{60'000};
  // Instead of random traces these, of which none is left out. Null: random ones.
  const workload::Enumeration* all = nullptr;
  std::size_t jobs = 1;             // traces in parallel
  std::size_t running = 0;          // at most this many of them that do not wait; 0: jobs
  bool fresh_connections = false;   // no trace uses a connection that another has left clean
  std::size_t max_operations = 40;  // of a trace
  std::size_t stop_after = 1;       // counter-examples, each of another requirement
  // Rejections that do not count, e.g. because they are known; the search continues. Empty: none.
  // Called by several threads concurrently.
  std::function<bool(const judge::Judgement&)> ignores{};
};

inline constexpr std::chrono::milliseconds kConfirmTime{10'000};

// A trace of which the oracle rejects something.
struct Counterexample {
  workload::Trace trace{};
  JudgedRun run{};                      // one that was rejected, with its packets
  std::size_t example = 0;              // from 1: which one it was
  std::size_t operations_at_first = 0;  // before it was made smaller
  std::size_t runs = 0;                 // of the smallest, to know how often it fails
  std::size_t failed = 0;               // of these; 0: it was seen once
  std::size_t shrink_runs = 0;
  bool is_smallest = false;  // there was time to try everything that is smaller
  std::chrono::milliseconds found_after{0};

  [[nodiscard]] const Rejection& rejection() const { return *run.rejection; }
};

struct ExploreProgress {
  std::chrono::milliseconds elapsed{0};
  std::size_t examples = 0;
  std::size_t requests = 0;     // operations that were answered
  std::size_t undecidable = 0;  // of these
  std::size_t ignored = 0;      // rejections
  std::size_t cut_short = 0;    // examples during which a connection ended
  std::size_t of = 0;           // examples to run; 0: as many as there is time for
  std::size_t in_all = 0;       // of the enumeration, or of `part`, of which `of` are selected
  std::size_t next = 1;         // the first that is still to be run: all before it have ended
  std::string part{};           // "shard 2 of 8 of all 100 workloads of depth 1"; empty: the whole
  std::string doing{};          // empty while it searches
};

struct ExploreResult {
  ExploreProgress progress{};
  std::vector<Counterexample> found{};
  std::map<std::string, std::string> observed{};  // what is open: see Oracle::observed()
  // Requirements because of which answers are undecidable, and in how many examples.
  std::map<std::string, std::size_t> open{};
  std::optional<endpoint::Error> lost{};  // the endpoint is gone
  bool interrupted = false;
  // Connections that the broker has ended itself, beside those that were injected. Nothing: each
  // that ended.
  std::optional<std::uint64_t> ended_by_broker{};
};

// The first number, from `number` on, that the shard has: the first of N shards has 1, N + 1, ...
[[nodiscard]] std::size_t next_of_shard(const run::Shard& shard, std::size_t number);
// How many of the numbers from `first` to before `end` it has.
[[nodiscard]] std::size_t count_of_shard(const run::Shard& shard, std::size_t first,
                                         std::size_t end);

// The trace that example number `example` of this seed is.
[[nodiscard]] workload::Trace example_of(std::uint64_t seed, std::size_t example,
                                         std::size_t max_operations);

// Ends when there are enough counter-examples, no time is left, or `stop` says so. Calls `progress`
// now and then, from any thread, one at a time.
[[nodiscard]] ExploreResult explore(endpoint::Endpoint& endpoint, const ExploreOptions& options,
                                    const std::atomic<bool>& stop,
                                    const std::function<void(const ExploreProgress&)>& progress);

// Runs one trace as explore() does, `runs` times, each with its own keys and as many in parallel as
// options.jobs allows. Returns those that came to an end or were rejected; the error when the
// endpoint is lost.
[[nodiscard]] Result<std::vector<JudgedRun>, endpoint::Error> rerun(endpoint::Endpoint& endpoint,
                                                                    const workload::Trace& trace,
                                                                    std::size_t runs,
                                                                    const ExploreOptions& options,
                                                                    const std::atomic<bool>& stop);

}  // namespace fencepost::search
