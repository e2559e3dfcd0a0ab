// The keys that each mapping of a descriptor may have. The loader refuses any other, and a test
// keeps the JSON Schema (docs/descriptor.schema.json) equal to these lists.
#pragma once

#include <array>
#include <string_view>

#include "base/joined.h"
#include "endpoint/disturbance.h"

namespace fencepost::target::descriptor_fields {

using namespace std::string_view_literals;

inline constexpr std::array kDescriptor = {"url"sv,
                                           "profile"sv,
                                           "edition"sv,
                                           "wording"sv,  // the old name of edition
                                           "timeout"sv,
                                           "tls"sv,
                                           "roles"sv,
                                           "key_prefix"sv,
                                           "capabilities"sv,
                                           "clock_tolerance"sv,
                                           "hooks"sv,
                                           "durability"sv,
                                           "note"sv,
                                           "product"sv,
                                           "expiry_tolerance"sv,
                                           "disconnect_settling"sv};
inline constexpr std::array kProduct = {"name"sv, "version"sv, "owner"sv};
inline constexpr std::array kTls = {"ca"sv, "certificate"sv, "key"sv};
inline constexpr std::array kRole = {"user"sv,        "password"sv, "password_env"sv,
                                     "certificate"sv, "key"sv,      "client_id"sv};
inline constexpr std::array kCapabilities = {"quota"sv, "max_packet_size"sv, "store_in_broker"sv};
// Cases need the first ones; `stress --disturb` all of them.
inline constexpr auto kHookCommands = joined(
    endpoint::kDisturbanceNames, std::array{"stop"sv, "continue"sv, "partition"sv, "heal"sv});
inline constexpr auto kHooks = joined(kHookCommands, std::array{"timeout"sv, "environment"sv});

}  // namespace fencepost::target::descriptor_fields
