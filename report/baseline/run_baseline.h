// The baseline of one run, from its file to the exit code. Without --baseline it does nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/baseline/baseline.h"
#include "suite/run/suite.h"
#include "suite/scenario/library.h"

namespace fencepost::baseline {

struct BaselineOptions {
  std::string file{};  // empty: none
  bool fix = false;    // rewrite it from what the run shows
};

class RunBaseline {
 public:
  // Reads the file. The error is for people, a line for each error: the file cannot
  // be read, says what cannot be meant, or is to be fixed by a run of a part of the suite.
  [[nodiscard]] static Result<RunBaseline, std::string> open(const BaselineOptions& options,
                                                             const run::Selection& selection,
                                                             const scenario::Library& library,
                                                             Date today);

  // Those of `cases` that the baseline does not skip.
  [[nodiscard]] std::vector<const scenario::Case*> to_run(
      const std::vector<const scenario::Case*>& cases) const;

  // Is this failure of a case one that the baseline knows?
  [[nodiscard]] bool expects(const run::CaseResult& result) const;

  // Puts what was skipped among the results of `selected`, rewrites the file if requested, judges
  // the results by it and makes the summary again.
  void settle(const std::vector<const scenario::Case*>& selected,
              const scenario::Catalogue& catalogue, bool strict, run::SuiteResult& result);

  // What became of the file, line by line; empty when it was not to be fixed.
  [[nodiscard]] const std::vector<std::string>& news() const { return news_; }
  // The exit code for a file that should have been updated and was not: kUsage when the run shows
  // too little, kInternal when it cannot be written.
  [[nodiscard]] const std::optional<run::ExitCode>& error() const { return error_; }

 private:
  void fix(const scenario::Catalogue& catalogue, bool strict, const run::SuiteResult& result);

  std::optional<Baseline> baseline_;
  bool fix_ = false;
  BaselineRun run_{};
  std::vector<std::string> news_;
  std::optional<run::ExitCode> error_;
};

// Today, in UTC.
[[nodiscard]] Date utc_today();

}  // namespace fencepost::baseline
