// What a failed request step is about: the rule that its reply is for, where the step cites none,
// and the request in a few words.
#pragma once

#include <optional>
#include <string>

#include "conformance/judge/attribution.h"
#include "conformance/judge/exchange.h"
#include "conformance/run/case_state.h"
#include "conformance/scenario/scenario.h"

namespace fencepost::run {

// Nothing for an outcome that is not one reply of a known kind.
[[nodiscard]] std::optional<judge::ReplyFacts> reply_facts(const scenario::Outcome& outcome);

// The one reply that is expected; nothing where several are, or none.
[[nodiscard]] std::optional<judge::ReplyFacts> wanted_reply(const scenario::Expectation& expect);

// The rule that a step as this one shows to be kept when it passes, whatever its case is about;
// empty where several replies are right.
[[nodiscard]] std::string rule_kept_by(const scenario::RequestStep& step);

// The rule that the expected reply stands for, by request, options and what the key was before:
// that of the request which should have left it like that, where the reply shows that it has not.
// Empty where the outcome is open, or no reply. Req: those of judge/attribution.h
[[nodiscard]] std::string rule_of_reply(const scenario::RequestStep& step,
                                        const judge::Exchange& exchange, const CaseState& state);

// The rule by which a request that was refused has to be carried out: that the error was given for
// what is no reason for it. Empty where the error says too little.
[[nodiscard]] std::string rule_of_refusal(const judge::Exchange& exchange, const CaseState& state);

// "SET NX PX with __ft", "KEYNOTIFY STOP"; "invalid payload" for what is no request.
[[nodiscard]] std::string subject_of(const judge::Exchange& exchange);

}  // namespace fencepost::run
