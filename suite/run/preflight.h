// The questions before a run: is there a broker, is there a state store in it, may we use it, how
// fast is it, and how far is its clock from ours?
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "endpoint/endpoint.h"
#include "suite/judge/clock_estimate.h"

namespace fencepost::run {

// kWrongBroker: it does not acknowledge what MQTT 5 requires a server to, so nobody is answered.
enum class PreflightErrorKind { kNoBroker, kNoStore, kNotAllowed, kWrongBroker };

struct PreflightError {
  PreflightErrorKind kind = PreflightErrorKind::kNoBroker;
  std::string text;  // what was seen
  std::string hint;  // what to do
};

struct PreflightReport {
  endpoint::Duration round_trip_p50{0};  // of GETs on an otherwise idle connection
  endpoint::Duration round_trip_p99{0};
  std::int64_t clock_offset_ms = 0;   // the store's clock minus ours; zero lies within the bounds
                                      // unless a difference was shown
  judge::ClockBounds clock_bounds{};  // what is certain of it
  judge::ClockSource clock_source = judge::ClockSource::kAssumed;
  std::optional<std::uint32_t> packet_limit{};  // of a connection: endpoint::Client::packet_limit()
};

// A broker that ends it by a packet that MQTT 5 forbids a server, and a store that has answered
// once and then does not, are left to the cases: the report has what was measured before.
// Takes less than 10 s, also when nobody answers, and at most twice a round trip more. `run_id`
// goes into client id and key. `timeout_scale` is the factor of how long an answer may take.
[[nodiscard]] Result<PreflightReport, PreflightError> preflight(endpoint::Endpoint& endpoint,
                                                                const std::string& run_id,
                                                                double timeout_scale = 1.0);

}  // namespace fencepost::run
