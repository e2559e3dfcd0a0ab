// Judges the reply to a request of a case by what the step expects: payload, versions, properties,
// and whether it came in time to prove anything.
#pragma once

#include <string>

#include "suite/judge/exchange.h"
#include "suite/judge/judge.h"
#include "suite/run/case_state.h"
#include "suite/run/failure.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// `exchange` must have a reply. Keeps in `state` what the reply shows: versions, the form of a
// dialect, the outcome of an unspecified point, when a marked request was answered.
[[nodiscard]] MaybeProblem judge_reply(const scenario::RequestStep& step,
                                       const judge::Exchange& exchange,
                                       const judge::Exchanges& of_client, CaseState& state);

// The replies that the step expects, for people.
[[nodiscard]] text::Phrase expected_text(const scenario::RequestStep& step,
                                         const judge::Exchange& exchange, const CaseState& state);

// A reply or notification of the right meaning has the form of a dialect that this run does not
// judge by: makes the problem say so, and cite the requirement that prescribes the form.
void attribute_dialect(const judge::SeenForm& form, const char* what, CaseState& state,
                       Problem& problem);

}  // namespace fencepost::run
