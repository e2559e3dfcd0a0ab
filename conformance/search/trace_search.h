// Looks for traces that are worth sending: those in which the naive model takes a branch, or two
// requests in a row on a key have outcomes, that no trace before had.
//
//   TraceSearch search(seed, live_options, seed_traces());
//   LivePlan plan = search.next();
//
// Pure: the same seed and options yield the same plans in the same order, whatever becomes of them.
// Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "conformance/scenario/scenario_loader.h"
#include "conformance/search/live_plan.h"
#include "workload/operation.h"
#include "workload/random.h"

namespace fencepost::search {

// Those files, built into the program.
[[nodiscard]] const std::vector<scenario::SourceFile>& built_in_traces();

// The hand-written traces that the fuzz targets begin with, too (fuzz/traces/).
[[nodiscard]] std::vector<workload::Trace> seed_traces();

class TraceSearch {
 public:
  // Begins with the seeds, in their order.
  TraceSearch(std::uint64_t seed, const LiveOptions& options, std::vector<workload::Trace> seeds);

  // A plan with at least one request, different from those before: a novel one where one is found
  // soon, else any.
  [[nodiscard]] LivePlan next();

  struct Progress {
    std::size_t tried = 0;  // traces that the model has run
    std::size_t novel = 0;  // those that are kept to make others of
    std::size_t edges = 0;  // of the model
    std::size_t pairs = 0;  // of outcomes
  };
  [[nodiscard]] Progress progress() const;

 private:
  [[nodiscard]] workload::Trace candidate();
  [[nodiscard]] const workload::Trace& parent();
  // Is there anything new in what the plan does? It is not, from now on.
  bool note(const LivePlan& plan);

  workload::Random random_;
  LiveOptions options_;
  std::vector<workload::Trace> seeds_;
  std::size_t next_seed_ = 0;
  std::vector<workload::Trace> corpus_;
  std::unordered_set<std::uint32_t> features_;  // of coverage
  std::unordered_set<std::uint32_t> edges_;
  std::unordered_set<std::uint64_t> pairs_;
  std::unordered_set<std::uint64_t> sent_;  // hashes of plans that were handed out
  std::size_t tried_ = 0;
};

}  // namespace fencepost::search
