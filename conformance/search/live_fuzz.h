// A live store against the naive model: sends what the search finds worth sending, in batches of
// cases that run at once, and makes of each difference a scenario that is as small as it gets.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/run/suite.h"
#include "conformance/scenario/requirement.h"
#include "conformance/search/live_plan.h"
#include "conformance/search/trace_scenario.h"
#include "conformance/search/trace_search.h"
#include "endpoint/endpoint.h"

namespace fencepost::search {

struct LiveFuzzOptions {
  run::SuiteOptions suite{};  // how cases run
  LiveOptions live{};         // what is sent
  std::uint64_t seed = 0;
  std::chrono::milliseconds time{60'000};  // a batch that has begun then is finished
  std::size_t stop_after = 1;              // differences
};

// A difference. Its case and result are those of the smallest scenario that showed it; when it was
// never seen again, of the one that did.
struct Difference {
  LivePlan plan{};
  std::string text{};  // of its scenario file, once it is written as one
  std::unique_ptr<scenario::Case> test_case{};
  run::CaseResult result{};
  std::size_t steps_at_first = 0;  // of the scenario that showed it first
  std::size_t runs = 0;            // of this one, to know how often it fails
  std::size_t failed = 0;          // of these
  std::size_t shrink_runs = 0;     // of smaller ones
  std::chrono::milliseconds found_after{0};
  std::chrono::milliseconds shrunk_in{0};

  // Not reproduced: nothing is proved.
  [[nodiscard]] bool seen_once() const { return failed == 0; }
};

struct LiveFuzzProgress {
  std::chrono::milliseconds elapsed{0};
  std::size_t cases = 0;         // run
  std::size_t requests = 0;      // answered
  std::size_t inconclusive = 0;  // cases
  std::size_t differences = 0;
  TraceSearch::Progress search{};
  std::string doing{};  // e.g. that a difference is being shrunk; empty while searching
};

struct LiveFuzzResult {
  LiveFuzzProgress progress{};
  std::size_t passed = 0;
  std::vector<Difference> differences{};
  bool endpoint_lost = false;
  std::string lost_message{};
  bool interrupted = false;
};

// Calls `progress` now and then, from any thread, one at a time. Whatever ends the run, the cases
// that have begun finish, and remove what they have written.
[[nodiscard]] LiveFuzzResult run_live_fuzz(
    endpoint::Endpoint& endpoint, const scenario::Catalogue& catalogue,
    const LiveFuzzOptions& options, const std::atomic<bool>& stop,
    const std::function<void(const LiveFuzzProgress&)>& progress);

// Runs the plan; when the store differs, makes it smaller and says how often it fails. Nothing when
// it does not differ. `options` but for how long and how often.
[[nodiscard]] std::optional<Difference> look_into(endpoint::Endpoint& endpoint,
                                                  const scenario::Catalogue& catalogue,
                                                  const LiveFuzzOptions& options,
                                                  const LivePlan& plan,
                                                  const std::atomic<bool>& stop);

// Makes the difference that of a file of this name: its text, its case and where its result points
// to.
void write_as(Difference& difference, const ScenarioWords& words, const std::string& file,
              const scenario::Catalogue& catalogue);

// 0 no difference, 1 a difference, 3 lost, 4 nothing certain, 130 interrupted.
[[nodiscard]] run::ExitCode exit_code(const LiveFuzzResult& result);

}  // namespace fencepost::search
