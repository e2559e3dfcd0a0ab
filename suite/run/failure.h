// Why a case does not pass: as it comes up (`Problem`), and as it is kept, judged on and reported
// (`Failure`). Nothing reads the text of a failure again: what it is known by in another run
// (`signature`), and put together with others by (`cause`, `theme`), is made with it.
//
//   signature  SET-NX-2: the reply is not the expected one | want $3\r\none\r\n | got $3\r\ntwo\r\n
//   cause      SET NX: want :-1, got +OK
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/text/phrase.h"
#include "suite/judge/attribution.h"
#include "suite/run/verdict.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// For every verdict but a pass.
struct Failure {
  std::string requirement{};  // the rule that the failure is attributed to; empty where the store
                              // is not the cause
  std::string direct{};       // see judge::Charge
  std::vector<std::string> candidates{};
  std::string subject{};  // what differs: the kind of request, or of notification; may be empty
  judge::Mismatch kind = judge::Mismatch::kOther;
  std::string message{};
  std::string expected{};
  std::string actual{};
  // The same on one line of printable ASCII, without what another run has otherwise: ids in keys,
  // client ids and topics, correlation data, versions and times. It depends on the profile, which
  // decides what is expected, and not on the step or the line. Empty where no rule is broken.
  std::string steady{};
  // The same without what another case has otherwise: keys, values, names and numbers.
  std::string cause{};
  // What failures with several causes have in common: an error that is given, or is not, for any
  // verb; or the reply that came for the one that was expected first, regardless of the options
  // beside the condition. Empty where there is none.
  std::string theme{};
  std::size_t step = 0;  // from 1; 0 when no step shows it
  scenario::Position position{};
};

struct Problem {
  Verdict verdict = Verdict::kFailed;
  Doubt doubt = Doubt::kNone;
  text::Phrase message;
  text::Phrase expected{};
  text::Phrase actual{};
  judge::Attribution attribution{};
  std::string subject{};  // see Failure
  judge::Mismatch kind = judge::Mismatch::kOther;
  bool malformed = false;                         // what came is no message of the protocol
  std::optional<codec::Divergence> other_form{};  // it would be right in the other dialect
};
using MaybeProblem = std::optional<Problem>;

// What there is to keep of a problem in a run with these names. It has no step.
[[nodiscard]] Failure failure_of(const Problem& problem, const text::RunNames& run);

// What distinguishes this failure of its case from another, the same in every run: for lists of
// known failures. Empty when the store broke no rule.
[[nodiscard]] std::string signature(const Failure& failure);

// The same as a YAML scalar in single quotes, ready to be copied into a baseline.
[[nodiscard]] std::string quoted_signature(const std::string& signature);

}  // namespace fencepost::run
