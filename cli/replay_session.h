// What `replay` runs, and what came of it.
#pragma once

#include <string>
#include <vector>

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
};

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
};

// Writes into the files what is fixed, and what has changed; what was written, and what was not and
// why, goes into `session.run`. A file that is no longer what was run is left alone.
void heal_files(ReplaySession& session);

}  // namespace fencepost::cli
