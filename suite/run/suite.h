// A run of many cases: concurrency, verdict of the whole.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "endpoint/endpoint.h"
#include "suite/run/case_runner.h"
#include "suite/run/exit_code.h"
#include "suite/run/phase_result.h"
#include "suite/run/preflight.h"
#include "suite/run/selection.h"
#include "suite/scenario/binding.h"
#include "suite/scenario/requirement.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// A result before its final verdict.
struct FinishedCase {
  CaseResult result;
  bool undecided = false;  // it was to be run once more
};

struct SuiteOptions {
  RunSettings settings{};
  std::size_t jobs = 1;            // cases in parallel
  std::size_t running = 0;         // of these, the most that do not wait; 0: all
  bool strict = false;             // a failed "should" fails the run
  bool fresh_connections = false;  // no case uses a connection that another has left clean
  bool shuffled = false;           // cases run in an order that the seed decides
  // Quick cases run one at a time for at most this time, where there are many.
  std::chrono::milliseconds one_at_a_time{1'000};
  // For a run that ends with its first failures: the shortest cases show best what is wrong.
  bool shortest_first = false;
  endpoint::Duration round_trip{0};       // of one request: decides which cases take longest
  endpoint::Duration round_trip_tail{0};  // of the slowest: time limits begin with it
  // Whether an inconclusive case is rerun in isolation when the others have finished.
  bool repeat_inconclusive = true;
  // The measured capabilities of the endpoint, instead of those it states.
  std::optional<endpoint::Capabilities> offered{};
  // Results of an earlier part of this run, as `keep` got them: these cases are not run again, but
  // for those that were undecided, which are run the second time.
  std::vector<FinishedCase> finished{};
  // Gets each result as it was found: before the run as a whole says what it comes to. Called as
  // Progress is. Null: nobody keeps them.
  std::function<void(const CaseResult&, bool undecided)> keep{};
  // For a run that is judged again: was this attempt made? Others are not, in any state of the
  // endpoint. Null: this run decides.
  std::function<bool(const scenario::Case&, int attempt)> was_attempted{};
};

// Who opens the session of an attempt: see endpoint::SessionRequest.
[[nodiscard]] std::string attempt_name(const scenario::Case& test_case, int attempt);

// Takes over what the preflight has found out about the endpoint: its clock and its speed.
void apply_preflight(const PreflightReport& report, SuiteOptions& options);

struct Summary {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t warnings = 0;  // failed cases of level "should" without --strict
  std::size_t skipped = 0;
  std::size_t inconclusive = 0;
  std::size_t expected_failures = 0;  // failed as the baseline expects
  std::size_t not_run = 0;            // lost, or never begun
};

struct SuiteResult {
  scenario::Basis basis{};          // what the store was judged by
  std::vector<CaseResult> cases{};  // in the order of the files
  Summary summary{};
  std::map<codec::Divergence, std::set<codec::DialectId>> forms{};  // seen
  std::map<std::string, std::set<std::string>>
      unspecified_points{};                       // requirement id -> outcomes seen
  std::vector<endpoint::Duration> round_trips{};  // sorted
  std::chrono::microseconds duration{0};
  std::chrono::milliseconds longest_wait{0};  // of one case
  bool endpoint_lost = false;
  std::string lost_message{};
  bool interrupted = false;
  std::optional<StressResult> stress{};            // where many concurrent clients ran
  std::optional<EnumerationResult> enumeration{};  // where all short workloads did
  // What is wrong with the baseline, e.g. an entry that matches no case: the run fails.
  std::vector<std::string> baseline_errors{};
  // What is worth saying about it and fails nothing, e.g. an entry that could not be judged.
  std::vector<std::string> baseline_notes{};
};

// Is called after each case: the result, and how many are done of how many. On any of the threads
// that run cases, with a lock held: one call at a time, and a slow one delays the run.
using Progress = std::function<void(const CaseResult&, std::size_t done, std::size_t total)>;

// Runs the cases, on threads of its own, and returns when all have ended. `stop` may be set by any
// thread or signal handler and ends the run early: what has not begun is "not run", a case that
// runs continues to its end. In any case the result says what was finished. `cases` must outlive
// it. A case with `requires` that the endpoint does not offer is skipped, not run. Cases that are
// `exclusive` run in isolation, and those that move the store's clock (tag moves-clock) last.
[[nodiscard]] SuiteResult run_suite(endpoint::Endpoint& endpoint,
                                    const std::vector<const scenario::Case*>& cases,
                                    const scenario::Catalogue& catalogue,
                                    const SuiteOptions& options, const std::atomic<bool>& stop,
                                    const Progress& progress);

// Fills in what follows from the cases: forms, unspecified points, round trips, the signatures of
// failures and the summary; an endpoint that mixes the forms of a divergence fails the first case
// that saw it. Done by run_suite; callers that change verdicts or merge results do it again: what
// an earlier call said of the forms is taken back first.
void summarize(SuiteResult& result, const scenario::Catalogue& catalogue, bool strict);

// What the store turned out to be, of what the profile and the edition leave open.
[[nodiscard]] scenario::Basis basis_of(const SuiteResult& result, codec::Profile profile,
                                       scenario::Edition edition);

// Judges the case by this basis: of its deviations the first that breaks a rule which applies is
// its failure; a rule that does not apply is waived. Done by run_suite, once.
void settle(CaseResult& result, const scenario::Catalogue& catalogue, const scenario::Basis& basis);

// "deployed", "documented", "mixed" or "unknown".
[[nodiscard]] std::string observed_dialect(const SuiteResult& result);

// "set-not-applied deployed, ...": the forms that were seen.
[[nodiscard]] std::string describe_forms(const SuiteResult& result);

// Says of each finding whether it fails the run: not where its rule does not apply to this store,
// nor where cases that the baseline expects to fail break the same rule, as one cause shows in
// both. `result`: of the cases. Pure.
void mark_failures(std::vector<PhaseFinding>& findings, const scenario::Catalogue& catalogue,
                   bool strict, const SuiteResult& result);

// The first of these that holds: kFailed (a failure, of a case or of
// a phase, or the baseline is out of date), kUnreachable
// (the endpoint was lost), kInterrupted, kNothingSelected (every case was skipped), kInconclusive,
// kConformant.
[[nodiscard]] ExitCode exit_code(const SuiteResult& result);

// The value below which `percent` of the sorted values lie; zero for none.
[[nodiscard]] endpoint::Duration percentile(const std::vector<endpoint::Duration>& sorted,
                                            double percent);

// Does a failure of this case count as a warning only: a rule that does not apply to this store, or
// one of level "should" unless `strict`? A pass that the baseline does not expect never does.
[[nodiscard]] bool is_warning(const CaseResult& result, const scenario::Catalogue& catalogue,
                              bool strict);

}  // namespace fencepost::run
