// How a run comes to its end other than by running all cases. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "conformance/run/exit_code.h"
#include "conformance/run/suite.h"
#include "conformance/scenario/scenario.h"

namespace fencepost::run {

// Of a run that could not begin: each of `cases` is "not run". They must outlive the result.
[[nodiscard]] SuiteResult nothing_run(const std::vector<const scenario::Case*>& cases,
                                      bool endpoint_lost);

// When a run ends early.
struct FailureLimit {
  std::size_t failures = 0;  // so far
  std::size_t most = 0;      // 0: no limit

  [[nodiscard]] bool is_reached() const { return most > 0 && failures >= most; }
};

// Why not all cases were run; empty where nothing kept them from it.
[[nodiscard]] std::string why_stopped(const SuiteResult& result, const FailureLimit& limit);

// The exit code of a run where no case may be skipped: kFailed in the place of one that says that
// no rule is broken, when one was. `code`: of the same run, where cases may be skipped.
[[nodiscard]] ExitCode exit_code_without_skips(ExitCode code, const Summary& summary);

}  // namespace fencepost::run
