// Whether a timestamp is more than a minute ahead depends on the store's clock, of which only so
// much is known. Decides whether a reply proves something nevertheless, and learns from it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suite/judge/exchange.h"
#include "suite/judge/store_clock.h"
#include "suite/scenario/scenario.h"

namespace fencepost::judge {

// Takes the version that the reply carries, if any, for what it shows of the store's clock. There
// must be a reply.
void note_version(const Exchange& exchange, StoreClock& clock);

// For a reply that is not one of `expected`: why it still proves nothing. Nothing when it is wrong
// with every store's clock within its bounds.
[[nodiscard]] std::optional<std::string> doubt_about_clock(
    const std::vector<scenario::Outcome>& expected, const Exchange& exchange,
    const StoreClock& clock);

}  // namespace fencepost::judge
