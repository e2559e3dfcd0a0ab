// What a run found beyond its passes: each root cause in the store, and each other case that needs
// attention, and why. The reports that are lists of problems (JUnit, SARIF, GitHub's annotations)
// agree because they all begin here. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"
#include "report/root_causes.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"

namespace fencepost::report {

// Points into the results and the catalogue that it was made from.
struct Finding {
  FindingKind kind = FindingKind::kFailure;
  const run::CaseResult* result = nullptr;  // of a root cause, the case that shows it best
  const scenario::Requirement* rule =
      nullptr;  // the broken one; null when the catalogue does not have it
  std::string rule_id{};
  scenario::Level level = scenario::Level::kMust;  // of the rule; without one, of the case
  std::optional<Difference> difference{};          // nothing: it is about this one case
};

// The finding of one case by itself. Nothing for a case that passed, was skipped, or was not run to
// its end.
[[nodiscard]] std::optional<Finding> finding_of(const run::CaseResult& result,
                                                const scenario::Catalogue& catalogue, bool strict);

// The root causes, in their order, then what is about one case each, in the order of the cases.
[[nodiscard]] std::vector<Finding> findings(const run::SuiteResult& result,
                                            const scenario::Catalogue& catalogue, bool strict);

// One sentence: what is wrong. For a root cause: what the case that shows it best has seen, without
// what is of that case alone; else any bytes that the case has seen are in it as they are.
[[nodiscard]] std::string headline(const Finding& finding);

// The rule, the place, what was expected and seen, and how to run it again: some lines, each with
// its line feed. For cases that are no finding too.
[[nodiscard]] std::string evidence(const run::CaseResult& result, const std::string& rule_id,
                                   const scenario::Catalogue& catalogue,
                                   const ReportContext& context);

// "4 others: a, b, and 2 more", with as many ids as requested; empty for a root cause of one case.
[[nodiscard]] std::string others_of(const Difference& found, std::size_t most_ids);

// What an endpoint lacks, and how many cases were skipped for it.
struct MissingCapability {
  std::string name{};     // "restricted-client"
  std::string provide{};  // what to do about it
  std::size_t cases = 0;
};
struct SkippedCases {
  std::vector<MissingCapability> missing{};  // what most cases lack is first
  std::size_t too_large = 0;                 // send a packet that is larger than the endpoint takes
  std::size_t too_slow = 0;                  // did not end in time, which is nobody's fault
  std::size_t by_baseline = 0;
};
[[nodiscard]] SkippedCases skipped_cases(const run::SuiteResult& result);

// MUST, SHOULD or MAY.
[[nodiscard]] std::string rfc2119_keyword(scenario::Level level);

// One word for how the run ended: conformant, failed, inconclusive, unreachable, nothing-selected,
// interrupted, usage or internal-error.
[[nodiscard]] std::string_view name(run::ExitCode code);
// The same of a run; "part" of one without a failure that is a part, which certifies nothing.
[[nodiscard]] std::string_view verdict_word(const run::SuiteResult& result,
                                            const ReportContext& context);

}  // namespace fencepost::report
