// Saved cases, run again: what each run says of what the file has recorded, and the text of the
// file once it is right again.
//
//   const Replay replay = classify(test_case, results);  // of one case, run once or more often
//   if (replay.outcome == Replayed::kFixed) {
//     if (const auto better = healed(replay)) use(heal(file, test_case.id, *better, ids));
//   }
//
// Pure and thread safe.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/report.h"
#include "suite/run/suite.h"
#include "suite/scenario/scenario_loader.h"

namespace fencepost::replay {

enum class Replayed {
  kFixed,         // recorded as failing, and passes
  kStillFailing,  // fails as recorded
  kChanged,       // fails otherwise than recorded
  kPasses,        // no failure is recorded: what it says of the store holds
  kFails,         // no failure is recorded
  kFlaky,         // passes and fails
  kInconclusive,
  kSkipped,
  kNotRun,  // not, or not as often as wanted: interrupted, or the endpoint was lost
};
// "still failing"
[[nodiscard]] std::string_view name(Replayed outcome);
[[nodiscard]] bool is_failure(Replayed outcome);

// What came of one case.
struct Replay {
  const scenario::Case* test_case = nullptr;
  Replayed outcome = Replayed::kNotRun;
  std::size_t runs = 0;  // how often it was to run
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t inconclusive = 0;
  bool always_alike = true;  // all failures have one signature
  // The run that shows the outcome: a failure that is as recorded rather than another one, a
  // failure rather than a pass.
  run::CaseResult result{};
};

// Is this the failure that the file has recorded? By its signature, or by its requirement where no
// signature is recorded.
[[nodiscard]] bool is_as_recorded(const scenario::Recorded& recorded,
                                  const run::CaseResult& failure);

// `results`: of each run of the case, at least one.
[[nodiscard]] Replay classify(const scenario::Case& test_case,
                              std::vector<run::CaseResult> results);

// How this case failed, added to where it comes from.
[[nodiscard]] scenario::Recorded with_failure(scenario::Recorded recorded,
                                              const run::CaseResult& failure);

// ---- Everything that was run

struct ReplayRun {
  std::vector<Replay> cases{};  // in the order of the files
  std::size_t runs = 1;
  std::vector<std::string> load_errors{};  // of files that are not among `cases`
  // Divergences of which the endpoint has shown both forms, be it in different cases.
  std::vector<std::string> mixed_forms{};
  bool endpoint_lost = false;
  std::string lost_message{};
  bool interrupted = false;
  std::optional<run::ExitCode> not_begun{};  // why nothing was run, as far as that is known
  std::vector<std::string> healed{};         // "file:line id: what was changed"
  std::vector<std::string> not_healed{};
};

// 2 a file was not loaded, else why nothing was run, 1 a failure, 3 lost, 130 interrupted, 5
// nothing to judge by, 4 something inconclusive, 0.
[[nodiscard]] run::ExitCode exit_code(const ReplayRun& run);

// "3 cases: 1 fixed, 2 still failing"
[[nodiscard]] std::string summary(const ReplayRun& run);

// docs/REPLAY.md describes it.
[[nodiscard]] std::string to_json(const ReplayRun& run, const report::ReportContext& context);

// ---- Healing

// What the file should say from now on of a case with a recorded failure: nothing of a failure when
// it is fixed, the new one when it has changed. The error says why it stays as it is.
[[nodiscard]] Result<scenario::Recorded, std::string> healed(const Replay& replay);

// The text of the file in which `recorded` of this case has the members of `to`: those that say how
// it failed are replaced or removed, none is added, and all other bytes stay. The error says why
// that cannot be done.
[[nodiscard]] Result<std::string, std::string> heal(const scenario::SourceFile& file,
                                                    const std::string& id,
                                                    const scenario::Recorded& to,
                                                    const std::set<std::string>& requirements);

}  // namespace fencepost::replay
