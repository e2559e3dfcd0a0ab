// What a file of evidence says of the cases of its run: enough to make reports of it, and to
// continue with the run, whether it has packets or not. See docs/EVIDENCE.md.
//
//   const auto kept = read_saved_run(*scenario::read_file("report.json.unfinished"));
//   const auto cases = read_cases(*kept, library);
//
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/evidence_head.h"
#include "report/report_read.h"
#include "suite/run/suite.h"
#include "suite/scenario/library.h"

namespace fencepost::report {

// The record of a case that has finished. What was undecided is run once more in the end.
[[nodiscard]] std::string case_json(const run::CaseResult& result, bool undecided,
                                    bool with_transcript);

struct SavedRun {
  std::string file{};
  EvidenceHead head{};
  std::vector<std::string> cases{};  // each case_json(), in the order of the file
  std::string end{};                 // run_end_json(); empty: the run was killed
  std::string diagnostic{};          // why the file could not be read to its end; empty: it could
};

// Does it begin as such a file does, in the form of this version or of an earlier one?
[[nodiscard]] bool is_saved_run(const scenario::SourceFile& file);

// The error says which file, and why it is not evidence, or not of this version.
[[nodiscard]] Result<SavedRun, std::string> read_saved_run(const scenario::SourceFile& file);

// The results, each as it was kept last. `library` must outlive them; the error names a case that
// it does not have, or says that the cases were changed since.
[[nodiscard]] Result<std::vector<run::FinishedCase>, std::string> read_cases(
    const SavedRun& kept, const scenario::Library& library);

// The report of what the file has, without what a baseline has made of it: cases that had not
// finished are "not run". Errors as of read_cases(), and where cases contradict the end of the run.
[[nodiscard]] Result<Report, std::string> report_of(const SavedRun& kept,
                                                    const scenario::Library& library);

// What the cases come to that are there. Those that `library` cannot read are left out.
[[nodiscard]] std::map<std::string, std::string> verdicts_so_far(
    const std::vector<std::string>& cases, const Head& head, const scenario::Library& library);

}  // namespace fencepost::report
