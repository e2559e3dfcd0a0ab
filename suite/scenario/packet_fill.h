// Requests that are exactly as large as a broker takes: `{fill_packet: N}` and `{filled: N}`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "suite/scenario/scenario.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {

// The filling that these bytes request; nothing when there is none.
[[nodiscard]] std::optional<FillBytes> filling_in(const BytesSpec& spec);

// How large a packet is to be.
struct PacketGoal {
  std::uint32_t limit = 0;  // of the broker
  std::int64_t excess = 0;  // beyond it; negative: below it
};

// As many bytes of a pattern as make `packet_size` of them reach the goal. Where no packet has that
// size, since lengths take a byte more there, it is the nearest one on the same side of the limit.
// Calls `packet_size` a few times. The error says why no filling will do.
[[nodiscard]] Result<std::string, std::string> packet_filling(
    const PacketGoal& goal, const std::function<std::size_t(const std::string&)>& packet_size);

// Reports an error when a case needs what it does not declare: fillings without `packet-limit`, a
// disturbance without its capability or while other cases run, raw packets without `raw-packets`,
// {filled: N} before {fill_packet: N}, and fillings where nothing is sent.
void check_limits(const Case& test_case, std::vector<LoadError>& errors);

}  // namespace fencepost::scenario
