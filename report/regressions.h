// A gate against regressions: what is new in a run, compared with the reports of earlier runs. The
// newest of these says what is known; the others say how often a case has failed. Pure, but for
// read_earlier_reports().
//
//   const auto earlier = read_earlier_reports({"before.json"});
//   const auto found = regressions(*earlier, result, catalogue, context);
//   print(regressions_text(*found, catalogue, context, width));
//   return found->exit;
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/report.h"
#include "report/side_by_side.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"

namespace fencepost::report {

// The reports in these files, the oldest first. The error says which file cannot be read, is no
// report, or is of a run that did not finish, and what to do.
[[nodiscard]] Result<std::vector<Column>, std::string> read_earlier_reports(
    const std::vector<std::string>& paths);

// Ids of cases, by what they have in common.
using GroupedCases = std::map<std::string, std::vector<std::string>>;

// "a, b and 3 more"
[[nodiscard]] std::string listed_cases(const std::vector<std::string>& ids);

struct Regressions {
  std::string since;        // when the newest earlier run began, ISO 8601
  std::string file;         // its report
  std::size_t reports = 0;  // how many there are
  run::SuiteResult judged;  // the run, in which what is known is an expected failure or a warning
  std::size_t fresh = 0;    // failures that are new: cases, and findings of phases
  std::size_t flaky_fresh = 0;  // of these, cases that have failed and passed before
  std::size_t known = 0;
  std::size_t fixed_cases = 0;
  std::size_t of = 0;                  // cases that the newest report decided
  std::size_t compared = 0;            // of these, those that this run has
  GroupedCases fixed{};                // by the rule that they broke
  GroupedCases undecided{};            // decided then and not now, by "passed then, skipped now"
  GroupedCases flaky{};                // by "failed 2 of 30 runs, passed now"
  std::vector<ComparedRow> changed{};  // unspecified behaviour; the cells are then and now
  std::vector<std::string> notes{};    // a sentence each, without full stop
  // kFailed for a new failure, or, where the run is strict, for unspecified behaviour that has
  // changed. kInconclusive where a case is undecided that was decided then. Else as exit_code()
  // says of `judged`.
  run::ExitCode exit = run::ExitCode::kConformant;
};

// `earlier`: as read_earlier_reports() returns it, never empty. The cases of `result` must outlive
// what is returned. The error says why the run itself cannot be compared.
[[nodiscard]] Result<Regressions, std::string> regressions(const std::vector<Column>& earlier,
                                                           const run::SuiteResult& result,
                                                           const scenario::Catalogue& catalogue,
                                                           const ReportContext& context);

// "no new failure since 2026-11-20 (3 known, 1 fixed)". Never says that a store is conformant.
[[nodiscard]] std::string regressions_verdict(const Regressions& found);

// For a terminal of that width; the last line is the verdict.
[[nodiscard]] std::string regressions_text(const Regressions& found,
                                           const scenario::Catalogue& catalogue,
                                           const ReportContext& context, std::size_t width);

// GitHub takes no longer comment.
inline constexpr std::size_t kMaxCommentBytes = 65'000;

// A comment for a pull request: Markdown of at most `most_bytes`.
[[nodiscard]] std::string regressions_comment(const Regressions& found,
                                              const scenario::Catalogue& catalogue,
                                              const ReportContext& context,
                                              std::size_t most_bytes = kMaxCommentBytes);

}  // namespace fencepost::report
