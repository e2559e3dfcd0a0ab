// How a run comes to its end other than by running all cases. Pure: time comes in as a function.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "suite/run/exit_code.h"
#include "suite/run/suite.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// The result of a run that could not begin: each of `cases` is "not run". They must outlive the
// result.
[[nodiscard]] SuiteResult nothing_run(const std::vector<const scenario::Case*>& cases,
                                      bool endpoint_lost);

// When a run ends early.
struct FailureLimit {
  std::size_t failures = 0;  // so far
  std::size_t most = 0;      // 0: no limit

  [[nodiscard]] bool is_reached() const { return most > 0 && failures >= most; }
};

// One failure does not say which rule is broken; what else fails does. So a run that has failed
// often enough continues for a moment, with its next cases. Used under one lock.
class TellingWhy {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;

  explicit TellingWhy(Now now) : now_(std::move(now)) {}

  // The run has failed often enough; the first call counts.
  void begin() {
    if (!end_) end_ = now_() + kTime;
  }
  [[nodiscard]] bool is_over() const { return end_ && now_() >= *end_; }

  static constexpr std::chrono::milliseconds kTime{700};

 private:
  Now now_;
  std::optional<std::chrono::steady_clock::time_point> end_{};
};

// Why not all cases were run; empty where nothing kept them from it.
[[nodiscard]] std::string why_stopped(const SuiteResult& result, const FailureLimit& limit);

// The exit code of a run where no case may be skipped: kFailed instead of one that says that
// no rule is broken, when one was. `code`: of the same run, where cases may be skipped.
[[nodiscard]] ExitCode exit_code_without_skips(ExitCode code, const Summary& summary);

}  // namespace fencepost::run
