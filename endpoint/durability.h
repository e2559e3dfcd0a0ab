// What a store says that it keeps of what it has acknowledged, and through what: a descriptor
// declares it. The documents of the protocol are silent.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fencepost::endpoint {

// Each includes those before it.
enum class Durability : std::uint8_t { kNone, kRestart, kKill, kFailover };

inline constexpr std::array<std::string_view, 4> kDurabilityNames = {"none", "restart", "kill",
                                                                     "failover"};

[[nodiscard]] constexpr std::string_view name(Durability durability) {
  return kDurabilityNames.at(static_cast<std::size_t>(durability));
}

// Nothing when there is none of that name.
[[nodiscard]] constexpr std::optional<Durability> durability_named(std::string_view name) {
  const auto* found = std::find(kDurabilityNames.begin(), kDurabilityNames.end(), name);
  if (found == kDurabilityNames.end()) return std::nullopt;
  return static_cast<Durability>(found - kDurabilityNames.begin());
}

}  // namespace fencepost::endpoint
