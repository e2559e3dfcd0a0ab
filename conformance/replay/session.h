// What `replay` runs, and what came of it: cases run as often as asked, in rounds, and the head of
// evidence that says which.
//
//   Session session{.saved = load_saved_cases(paths, complaints), .context = ...};
//   session.run_ids = {"ab12cd34"};
//   run_rounds(session, {.endpoint = ..., .progress = ..., .judged = ...}, stop);
//   return exit_code(session.run);
//
// Not thread safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "conformance/replay/replay.h"
#include "conformance/replay/saved_cases.h"
#include "conformance/report/report.h"
#include "conformance/run/suite.h"

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

// Who answers the cases, and who wants to know what becomes of them. Names of rounds are "1.1 ":
// which time they run, and of which round then, as cases of one id do not run beside each other.
// All but `was_attempted` must be there.
struct Rounds {
  std::function<endpoint::Endpoint&(const std::string& round)> endpoint{};
  std::function<void(const run::CaseResult&, std::size_t done, std::size_t total)> progress{};
  // Gets the verdict of each case by "1.1 ID". Called as `progress` is.
  std::function<void(const std::string& name, const std::string& verdict)> judged{};
  // Of what is judged again: was this made? See run::SuiteOptions. Empty: this run decides.
  std::function<bool(const std::string& caller)> was_attempted{};
};

// Runs all cases as often as there are ids of runs, or until `stop` is set; what came of it is in
// `session.run`, and why it ended early in `session.context`.
void run_rounds(Session& session, const Rounds& rounds, const std::atomic<bool>& stop);

// Nothing can be run: all cases are "not run" for this reason, and `code` is what that comes to.
void do_not_begin(Session& session, const std::string& reason, run::ExitCode code);

// What only replay has in the head of evidence: the files with the cases, and the ids of its runs;
// and back, with what is wrong with the files in `session.run`. The error says why it cannot be
// read.
[[nodiscard]] std::string cases_json(const Session& session);
[[nodiscard]] Result<void, std::string> read_cases_json(const std::string& json, Session& session);

}  // namespace fencepost::replay
