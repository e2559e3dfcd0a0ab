// The little language for timestamps in scenarios: `now + 61s`, `v1 - 1ms`, `v1 counter + 1`, `v1
// node "B"`.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hlc/hlc.h"
#include "suite/scenario/scenario.h"

namespace fencepost::scenario {

// The base of timestamps at the limit of what a store accepts: see scenarios/FORMAT.md.
inline constexpr std::string_view kSkewLimit = "skew-limit";

// May a timestamp or a moment be called so? Letters, digits, `_` and `-`, not beginning with a
// digit or `-`.
[[nodiscard]] bool is_name(std::string_view text);

// The error says what was seen and what may stand there.
[[nodiscard]] Result<TimestampExpression, std::string> parse_timestamp_expression(
    std::string_view text);

// The value of an expression. `saved` holds the names; "now" is (now_ms, 0, node), and so is
// "skew-limit", of which the caller has to know where it lies.
// Where the wall clock is moved, a counter above 2^31 - 1 that the expression does not name is 0.
// Fails when a name is not there (a step that would have saved it did not run) or a number leaves
// its range.
[[nodiscard]] Result<hlc::Timestamp, std::string> evaluate(
    const TimestampExpression& expression, std::uint64_t now_ms, const std::string& node,
    const std::map<std::string, hlc::Timestamp>& saved);

}  // namespace fencepost::scenario
