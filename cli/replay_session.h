// What `replay` runs, and what came of it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "conformance/replay/replay.h"
#include "conformance/report/report.h"
#include "conformance/run/suite.h"
#include "conformance/scenario/library.h"

namespace fencepost::cli {

struct SavedCases {
  scenario::Catalogue catalogue;
  std::vector<scenario::SourceFile> files;  // with cases; no file with an error is among them
  std::vector<scenario::Case> cases;
  std::vector<scenario::SourceFile> catalogues{};  // that were among the files
};

// Those of these files. What is wrong with the others is appended to `complaints`.
[[nodiscard]] SavedCases load_cases(std::vector<scenario::SourceFile> files,
                                    std::vector<std::string>& complaints);

// Those of the files at these paths, each file once. What is wrong with the others is appended to
// `complaints`.
[[nodiscard]] SavedCases load_saved_cases(const std::vector<std::string>& paths,
                                          std::vector<std::string>& complaints);

struct ReplaySession {
  const ReplayOptions& options;
  SavedCases saved;
  report::ReportContext context;
  run::SuiteOptions suite{};
  replay::ReplayRun run{};
  std::vector<std::string> run_ids{};  // one for each time that the cases run
};

// Who answers the cases, and who wants to know what becomes of them. Names of rounds are "1.1 ":
// which time they run, and of which round then, as cases of one id do not run beside each other.
struct ReplayRounds {
  std::function<endpoint::Endpoint&(const std::string& round)> endpoint{};
  std::function<void(const run::CaseResult&, std::size_t done, std::size_t total)> progress{};
  // Gets the verdict of each case by "1.1 ID". Called as Progress is.
  std::function<void(const std::string& name, const std::string& verdict)> judged{};
  // Of what is judged again: was this made? See run::SuiteOptions. Empty: this run decides.
  std::function<bool(const std::string& caller)> was_attempted{};
};

// Runs all cases as often as there are ids of runs; what came of it is in `session.run`.
void run_rounds(ReplaySession& session, const ReplayRounds& rounds);

// What only replay has in the head of evidence: the files with the cases, and the ids of its runs;
// and back. The error says why it cannot be read.
[[nodiscard]] std::string replay_evidence_json(const ReplaySession& session);
[[nodiscard]] Result<void, std::string> read_replay_evidence(const std::string& json,
                                                             ReplaySession& session);

// Writes into the files what is fixed, and what has changed; what was written, and what was not and
// why, goes into `session.run`. A file that is no longer what was run is left alone.
void heal_files(ReplaySession& session);

}  // namespace fencepost::cli
