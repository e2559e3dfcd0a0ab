// What `replay` runs, and its results: cases run as often as wanted, in rounds.
//
//   Session session{.saved = load_saved_cases(paths, complaints), .context = ...};
//   session.run_ids = {"ab12cd34"};
//   run_rounds(session, endpoint, progress, stop);
//   return exit_code(session.run);
//
// Not thread safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "report/report.h"
#include "suite/run/suite.h"
#include "traffic/replay/replay.h"
#include "traffic/replay/saved_cases.h"

namespace fencepost::replay {

struct Session {
  SavedCases saved;
  report::ReportContext context;
  run::SuiteOptions suite{};
  ReplayRun run{};                     // its `runs` is the number of `run_ids`
  std::vector<std::string> run_ids{};  // one for each time that the cases run
};

// What `fencepost certify` needs, beside the endpoint, to run a case as replay does: with a blank
// before each option.
[[nodiscard]] std::string certify_flags(const run::RunSettings& settings,
                                        const std::string& driver);

// Is called for each case that has run; thread safe.
using Progress = std::function<void(const run::CaseResult&, std::size_t done, std::size_t total)>;

// Runs all cases as often as there are ids of runs, or until `stop` is set; what came of it is in
// `session.run`, and why it ended early in `session.context`. Cases of one id do not run beside
// each other.
void run_rounds(Session& session, endpoint::Endpoint& endpoint, const Progress& progress,
                const std::atomic<bool>& stop);

// Nothing can be run: all cases are "not run" for this reason, and `code` is the exit code.
void do_not_begin(Session& session, const std::string& reason, run::ExitCode code);
[[nodiscard]] Result<void, std::string> read_cases_json(const std::string& json, Session& session);

}  // namespace fencepost::replay
