// The questions before a run: is there a broker, is there a state store in it, may we use it, how
// fast is it, and how far is its clock from ours?
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "endpoint/endpoint.h"

namespace fencepost::conformance {

enum class PreflightErrorKind { kNoBroker, kNoStore, kNotAllowed };

struct PreflightError {
  PreflightErrorKind kind = PreflightErrorKind::kNoBroker;
  std::string text;  // what was seen
  std::string hint;  // what to do
};

struct PreflightReport {
  endpoint::Duration round_trip_p50{0};  // of GETs on an otherwise idle connection
  endpoint::Duration round_trip_p99{0};
  std::int64_t clock_offset_ms = 0;  // store's clock minus ours when it is provably behind, else 0
  std::int64_t version_ahead_ms =
      0;  // how far the store's versions are ahead of our clock: an upper bound
  std::optional<std::uint32_t> packet_limit{};  // of a connection: endpoint::Client::packet_limit()
};

// Takes less than 5 s, also when nobody answers. `run_id` goes into client id and key.
[[nodiscard]] Result<PreflightReport, PreflightError> preflight(endpoint::Endpoint& endpoint,
                                                                const std::string& run_id);

}  // namespace fencepost::conformance
