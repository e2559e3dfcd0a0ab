// What is known of a case when it has run.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/judge/judge.h"
#include "conformance/run/clean_up.h"
#include "conformance/run/transcript.h"
#include "conformance/run/verdict.h"
#include "conformance/scenario/scenario.h"
#include "endpoint/endpoint.h"

namespace fencepost::run {

// A run of a case that decided nothing and was repeated.
struct Attempt {
  Verdict verdict = Verdict::kInconclusive;
  std::string message{};
  std::string expected{};
  std::string actual{};
  std::size_t step = 0;  // from 1; 0 when no step is to blame
  std::chrono::microseconds duration{0};
};

// What became of a failed case that was run once more, by itself, after the run.
struct Alone {
  bool fails = true;
  std::string shown_by{};  // where it passes: a glob of cases that show the failure together
};

// A difference that breaks a rule of which is not yet known whether it binds this store; the case
// went on as if nothing had been expected there.
struct Deviation {
  std::string requirement;
  std::string direct;
  std::vector<std::string> suspects;
  std::string subject;
  std::string message;
  std::string expected;
  std::string actual;
  std::size_t step = 0;  // from 1
  scenario::Position position{};
};

struct CaseResult {
  const scenario::Case* test_case = nullptr;
  Verdict verdict = Verdict::kNotRun;
  // Of whatever is not a pass: which rule, where, and why.
  std::string requirement{};
  // The rule that such a difference breaks by itself, whatever the case is about; may be empty.
  std::string direct{};
  // Other rules of which each, if it is broken, makes such a difference after what came before.
  std::vector<std::string> suspects{};
  std::string subject{};  // what differs: the kind of request, or of notification; may be empty
  std::string message{};
  std::string expected{};
  std::string actual{};
  std::string signature{};  // of a failure, to know it again: conformance/run/signature.h
  std::string baseline{};   // what the baseline says of this case, when it does: reason and ticket
  bool unexpected_pass = false;  // failed, because the baseline says that it fails and it does not
  // Of a failure: the rule does not bind a store that is judged as this one is. A warning.
  bool waived = false;
  std::size_t step = 0;  // from 1; 0 when no step is to blame
  scenario::Position position{};
  std::chrono::microseconds duration{0};  // wall time
  std::vector<TranscriptEntry> transcript{};
  std::vector<endpoint::Duration> round_trips{};
  std::vector<judge::SeenForm> forms{};
  std::vector<std::pair<std::string, std::string>> open_points{};  // requirement id, outcome seen
  std::optional<Attempt> first_attempt{};                          // when this is the second
  std::optional<Alone> alone{};                                    // nothing: it was not tried
  std::vector<Deviation> deviations{};      // in the order in which they were seen
  std::size_t notifications = 0;            // that were awaited and came
  std::size_t versioned_notifications = 0;  // of these, with a `__ts`
  // Of a lost case alone: what it comes to, and what is still to be removed, if the endpoint turns
  // out to be alive.
  Doubt doubt = Doubt::kNone;
  WrittenKeys left_behind{};
};

}  // namespace fencepost::run
