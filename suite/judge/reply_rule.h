// The rule that the reply to a step is for, where the step cites none: one of the readings that
// attribution.h puts in order. Pure and thread safe.
#pragma once

#include <optional>
#include <string_view>

#include "suite/judge/exchange.h"
#include "suite/judge/key_states.h"
#include "suite/judge/reply_requirement.h"
#include "suite/scenario/scenario.h"

namespace fencepost::judge {

// Nothing for an outcome that is not one reply of a known kind.
[[nodiscard]] std::optional<ReplyFacts> reply_facts(const scenario::Outcome& outcome);

// The one reply that is expected; nothing where several are, or none.
[[nodiscard]] std::optional<ReplyFacts> wanted_reply(const scenario::Expectation& expect);

// The rule that a step as this one shows to be kept when it passes, regardless of what its case is
// about; empty where several replies are right.
[[nodiscard]] std::string_view rule_kept_by(const scenario::RequestStep& step);

// The rule that the expected reply stands for, by request, options and what the key was before:
// that of the request which should have left it like that, where the reply shows that it has not.
// Empty where the outcome is open, or no reply. Req: those of judge/attribution.h
[[nodiscard]] std::string_view rule_of_reply(const scenario::RequestStep& step,
                                             const Exchange& exchange, const KeyStates& keys);

// The rule by which a request that was refused has to be carried out: that the error was given for
// what is no reason for it. Empty where the error says too little.
[[nodiscard]] std::string_view rule_of_refusal(const Exchange& exchange, const KeyStates& keys);

}  // namespace fencepost::judge
