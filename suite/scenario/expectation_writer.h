// Writes what a scenario expects: the inverse of expectation_loader.h, and of timestamps that are
// sent. What comes out is YAML for block and flow context. Pure and thread safe.
#pragma once

#include <chrono>
#include <string>

#include "suite/scenario/flow_text.h"
#include "suite/scenario/scenario.h"

namespace fencepost::scenario {

[[nodiscard]] std::string expectation_text(const Expectation& expectation);
[[nodiscard]] std::string timestamp_check_text(const TimestampCheck& check);
[[nodiscard]] std::string time_point_text(const TimePoint& point);
void add_citation(FlowMap& out, const std::string& requirement);  // nothing when it is empty

// A timestamp to send; `none` for none.
[[nodiscard]] std::string timestamp_text(const TimestampSpec& timestamp);

// `150ms`, `2s`, `1m`, `1h`: in the greatest unit that is exact; not negative.
[[nodiscard]] std::string duration_text(std::chrono::milliseconds duration);

}  // namespace fencepost::scenario
