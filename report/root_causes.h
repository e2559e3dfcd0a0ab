// What a run found, once: one wrong thing that a store does is met by many cases, which fail in
// steps that are about something else. Failures are grouped by what differs, then by the rule that
// best explains them. Console, JSON, HTML and selftest all begin here.
//
// Pure: the same result makes the same root causes, in any order of its cases.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"

namespace fencepost::report {

enum class FindingKind {
  kFailure,          // a rule is broken, and the run fails
  kUnexpectedPass,   // the baseline expects a failure, and it passed: the run fails
  kWarning,          // a "should" is not followed, without --strict
  kInconclusive,     // the evidence does not decide
  kExpectedFailure,  // a rule is broken, as the baseline expects
};

// Points into the result and the catalogue that it was made from.
struct Difference {
  std::string name{};  // D1, D2, ...: within one run
  // kFailure where any case fails the run; else kWarning or kExpectedFailure.
  FindingKind kind = FindingKind::kFailure;
  std::string rule_id{};  // that explains most; chosen by evidence, not by the catalogue's order
  const scenario::Requirement* rule = nullptr;  // null: the catalogue does not have it
  // What the cases saw, the most frequent first: see run/failure.h.
  std::vector<std::string> causes{};
  // Which values of the axes of a family its cases have in common: see where.h. Often empty.
  std::string where{};
  // Never empty. The first shows it best: it fails the run, checks the rule, and in the fewest
  // steps.
  std::vector<const run::CaseResult*> cases{};
  // How many of a failure's cases, at the end of the list, are warnings only. 0 for other kinds.
  std::size_t warnings = 0;

  // Its cases without those that are warnings beside failures. Valid as long as this object.
  [[nodiscard]] std::span<const run::CaseResult* const> failing() const;

  // Did it keep this case from coming to what the case checks? Then the case's own rules are not
  // shown, rather than broken.
  [[nodiscard]] bool blocks(const run::CaseResult& result) const;
  [[nodiscard]] std::size_t blocked() const;
  // An unspecified point is not broken: the store did something outside the outcomes that it
  // allows.
  [[nodiscard]] bool is_open() const;
};

// The root causes of the failed cases: failures, then warnings, then what a baseline knows, each
// with what is most likely the root first.
[[nodiscard]] std::vector<Difference> differences(const run::SuiteResult& result,
                                                  const scenario::Catalogue& catalogue,
                                                  bool strict);

// "1 root cause explains 34 failures", "2 root causes explain 3 failures".
[[nodiscard]] std::string sentence_of(const std::vector<Difference>& all);

}  // namespace fencepost::report
