// Files of saved cases: read, and written again when what they have recorded is no longer so.
//
//   std::vector<std::string> complaints;
//   SavedCases saved = load_saved_cases({"regressions"}, complaints);
//   // ... they run; `run` has what came of them
//   heal_files(saved, run, "ab12cd34");
//
// Thread safe, as long as the files are not written by others.
#pragma once

#include <string>
#include <vector>

#include "suite/scenario/library.h"
#include "traffic/replay/replay.h"

namespace fencepost::replay {

struct SavedCases {
  scenario::Catalogue catalogue;
  std::vector<scenario::SourceFile> files;  // with cases; no file with an error is among them
  std::vector<scenario::Case> cases;
};

// Those of these files. What is wrong with the others is appended to `complaints`.
[[nodiscard]] SavedCases load_cases(std::vector<scenario::SourceFile> files,
                                    std::vector<std::string>& diagnostics);

// Those of the files at these paths, each file once. What is wrong with the others is appended to
// `complaints`.
[[nodiscard]] SavedCases load_saved_cases(const std::vector<std::string>& paths,
                                          std::vector<std::string>& diagnostics);

// Writes into the files what is fixed, and what has changed; what was written, and what was not and
// why, is appended to `run.healed` and `run.not_healed`. A file that is no longer what was loaded,
// or that is read-only, stays as it is. `run_id`: in the names of files while they are written.
void heal_files(const SavedCases& saved, ReplayRun& run, const std::string& run_id);

}  // namespace fencepost::replay
