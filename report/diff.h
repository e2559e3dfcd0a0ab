// Compares two runs: what two endpoints, or one endpoint at two times, do differently. Pure.
//
//   const Comparison found = compare(a, b, library.catalogue);
//   if (found.differs()) ...
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "report/report_read.h"

namespace fencepost::report {

// A case that both runs have.
struct CasePair {
  const run::CaseResult* a = nullptr;
  const run::CaseResult* b = nullptr;

  [[nodiscard]] const scenario::Case& test_case() const { return *a->test_case; }
};

// Something that the protocol lets a store choose, and that was not chosen alike in the same case:
// the form of a divergence, or the outcome of an open point.
struct ObservedVariation {
  std::string what;         // the divergence, or the requirement
  std::set<std::string> a;  // what was seen, in those cases
  std::set<std::string> b;
  std::vector<const scenario::Case*> cases;  // that saw it
};

struct LatencyPair {
  endpoint::Duration a{0};
  endpoint::Duration b{0};

  // How many times as long B takes; 0 when it is not known.
  [[nodiscard]] double ratio() const;
};

struct Comparison {
  // Most important first: a broken must before a broken should, B's before A's, then in the order
  // of the library.
  std::vector<CasePair> verdicts;        // one passes, the other fails
  std::vector<CasePair> failures;        // both fail, and not in the same way
  std::vector<ObservedVariation> forms;  // of the dialects
  std::vector<ObservedVariation> open_points;
  std::vector<CasePair> undecided;  // skipped, inconclusive, lost or not run, in one or in both
  std::vector<const scenario::Case*> only_in_a;
  std::vector<const scenario::Case*> only_in_b;
  std::vector<std::string> conditions;  // how the runs themselves were not alike
  std::size_t compared = 0;             // cases that both runs decided
  std::size_t skipped = 0;              // cases that both runs skipped
  bool endpoint_lost = false;           // in one of the runs
  // What differs from run to run anyway: for people to judge.
  LatencyPair latency;   // median round trip in the cases that were compared
  LatencyPair unloaded;  // median round trip before the runs

  [[nodiscard]] bool differs() const {
    return !verdicts.empty() || !failures.empty() || !forms.empty() || !open_points.empty();
  }
};

// Both reports were read with one library, and must outlive the result.
[[nodiscard]] Comparison compare(const Report& a, const Report& b,
                                 const scenario::Catalogue& catalogue);

// 1 when they differ; else 3 when an endpoint was lost, 5 when no case was compared, 4 when a case
// could not be, 0 when they behave alike.
[[nodiscard]] run::ExitCode exit_code(const Comparison& comparison);

// What became of a case, in the words of the JSON report ("warning" for what a run that is not
// strict lets pass).
[[nodiscard]] std::string_view verdict_word(const run::CaseResult& result,
                                            const scenario::Catalogue& catalogue, bool strict);

// The report with the cases that the selection has, and no others.
[[nodiscard]] Report selected(Report report, const run::Selection& selection,
                              const scenario::Catalogue& catalogue);

}  // namespace fencepost::report
