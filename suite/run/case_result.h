// What is known of a case when it has run.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "endpoint/endpoint.h"
#include "suite/judge/judge.h"
#include "suite/run/clean_up.h"
#include "suite/run/failure.h"
#include "suite/run/transcript.h"
#include "suite/run/verdict.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// A run of a case that decided nothing and was repeated.
struct Attempt {
  Verdict verdict = Verdict::kInconclusive;
  Failure failure{};
  std::chrono::microseconds duration{0};
};

// The result of a failed case that was rerun in isolation after the run.
struct Alone {
  bool fails = true;
  std::string shown_by{};  // where it passes: a glob of cases that show the failure together
};

struct CaseResult {
  const scenario::Case* test_case = nullptr;
  Verdict verdict = Verdict::kNotRun;
  // For every verdict but a pass: which rule, where, and why.
  Failure failure{};
  std::string baseline{};  // what the baseline says of this case, when it does: reason and ticket
  bool unexpected_pass = false;  // failed, because the baseline expects a failure and it passed
  // For a failure: the rule does not apply to a store that is judged as this one is. A warning.
  bool waived = false;
  std::chrono::microseconds duration{0};  // wall time
  std::vector<TranscriptEntry> transcript{};
  std::vector<endpoint::Duration> round_trips{};
  std::vector<judge::SeenForm> forms{};
  std::vector<std::pair<std::string, std::string>>
      unspecified_points{};                // requirement id, outcome seen
  std::optional<Attempt> first_attempt{};  // when this is the second
  std::optional<Alone> alone{};            // nothing: it was not tried
  // Differences that break a rule of which is not yet known whether it applies to this store, in
  // the order in which they were seen: the case continued as if nothing had been expected there.
  std::vector<Failure> deviations{};
  std::size_t notifications = 0;            // that were awaited and came
  std::size_t versioned_notifications = 0;  // of these, with a `__ts`
  // For a lost case only: its verdict, and the keys still to be removed, if the endpoint turns
  // out to be alive.
  Doubt doubt = Doubt::kNone;
  WrittenKeys left_behind{};
};

}  // namespace fencepost::run
