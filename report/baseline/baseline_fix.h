// Brings a baseline up to date with what a run has shown.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/baseline/baseline.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"

namespace fencepost::baseline {

struct FixedBaseline {
  Baseline baseline;
  std::vector<std::string> changes;  // one line each; empty: it was right
};

// `result` is what the run has shown of the whole suite, before apply(). Root causes that no entry
// covers (in a list: failing cases) are added without a reason, which fails the next run until
// somebody writes one; signatures and causes follow the store; entries go whose cases pass or do
// not exist; a glob whose cases do not all fail alike gives way to entries for those that fail.
// What a person has to decide stays as it is, and apply() reports it again: expired entries,
// globs that cover too much, flaky cases that end in a way of their own. Reasons, tickets and
// comments are kept. The error says why the run shows too little: cases that were lost, not run or
// not decided.
[[nodiscard]] Result<FixedBaseline, std::string> fix_baseline(const Baseline& baseline,
                                                              const run::SuiteResult& result,
                                                              const scenario::Catalogue& catalogue,
                                                              bool strict);

}  // namespace fencepost::baseline
