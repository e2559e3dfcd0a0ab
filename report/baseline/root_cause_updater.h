// Brings the root causes of a baseline up to date: a part of baseline_fix.h. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/baseline/baseline.h"
#include "report/root_causes.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"

namespace fencepost::baseline {

// For one use. What was seen before stays in its entry, so that its reason stays true; what is new
// goes to the entry that knows the most of its root cause, or to one that is seen no more and has
// the same requirement; else an entry is added, without a reason. Entries that nothing shows any
// more go.
class RootCauseUpdater {
 public:
  struct Change {
    const char* verb = "";
    std::string title{};
    std::string why{};
  };

  // `result` is what the run has shown, before apply(). Both must outlive the object.
  RootCauseUpdater(const Baseline& baseline, const run::SuiteResult& result)
      : baseline_(baseline), result_(result) {}

  [[nodiscard]] std::vector<KnownRootCause> run(const scenario::Catalogue& catalogue, bool strict);
  // What run() has done.
  [[nodiscard]] const std::vector<Change>& changes() const { return changes_; }

 private:
  using Cases = std::vector<const run::CaseResult*>;

  void note_known();
  void place(const report::Difference& found);
  KnownRootCause& owner_of(const report::Difference& found, const Cases& unknown);
  void settle(KnownRootCause& known, const KnownRootCause& before);
  [[nodiscard]] bool is_ours(const run::CaseResult& result) const;

  const Baseline& baseline_;
  const run::SuiteResult& result_;
  std::vector<KnownRootCause> entries_;                // those of the baseline, then those added
  std::map<std::string, std::size_t> entry_of_cause_;  // an index of entries_
  std::map<std::string, Cases> cases_of_cause_;        // of failures that no case's entry covers
  std::vector<Change> changes_;
};

}  // namespace fencepost::baseline
