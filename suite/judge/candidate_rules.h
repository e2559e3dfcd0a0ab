// Which other rules may be the broken one. What a request finds was made by those before it: a key
// that is gone too early may never have been stored, may have expired, or may have been changed by
// a request that was refused. One difference alone does not tell these apart; many do.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "codec/notification.h"
#include "suite/judge/exchange.h"
#include "suite/judge/key_states.h"
#include "suite/judge/mismatch.h"
#include "suite/scenario/scenario.h"

namespace fencepost::judge {

// Rules of which each, broken alone, makes a store answer like this after what the case has sent
// before; without order, each once. Empty where the answer says nothing of what was before.
[[nodiscard]] std::vector<std::string> candidates_of(Mismatch kind,
                                                     const scenario::RequestStep& step,
                                                     const Exchange& exchange,
                                                     const KeyStates& keys);

// The same of a notification that should have come and has not, or is another one. `key` has the
// prefix of the case; `now` is on the session's clock.
[[nodiscard]] std::vector<std::string> candidates_of(Mismatch kind, std::string_view key,
                                                     codec::Operation operation, Cause cause,
                                                     std::chrono::microseconds now,
                                                     const KeyStates& keys);

}  // namespace fencepost::judge
