// What cases may need of an endpoint beyond the protocol itself: one table, for the suite, for
// `fencepost list capabilities` and for `fencepost probe`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "endpoint/endpoint.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// The largest packet that cases which go to the limit send; they are skipped where the limit is
// higher.
inline constexpr std::uint32_t kMaxPacket = 16U * 1024 * 1024;

struct Capability {
  std::string_view name;     // in `requires`
  std::string_view meaning;  // what the endpoint offers then
  std::string_view provide;  // what to do when it is missing
  // Null: whether Capabilities::durability is at least `declared`, or if that is kNone, whether it
  // is one of Capabilities::disturbances.
  bool (*offered)(const endpoint::Capabilities&);
  endpoint::Durability declared = endpoint::Durability::kNone;

  [[nodiscard]] bool is_offered(const endpoint::Capabilities& by) const {
    if (offered != nullptr) return offered(by);
    return declared == endpoint::Durability::kNone ? by.disturbances.contains(name)
                                                   : by.durability >= declared;
  }
};

// All of them, in the order of fields::kCapabilities.
[[nodiscard]] std::span<const Capability> all_capabilities();

// The first capability that the case needs and the endpoint lacks, and how to provide it, or that
// its known quota has no room for the keys of the case; empty when there is none.
[[nodiscard]] std::string missing_capability(const scenario::Case& test_case,
                                             const endpoint::Capabilities& offered);

// Does the case fill the endpoint to a limit or disturb its broker, so that it belongs on a session
// of Endpoint::open_isolated_session()?
[[nodiscard]] bool disturbs_others(const scenario::Case& test_case);

}  // namespace fencepost::run
