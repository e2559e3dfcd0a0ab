#include "suite/target/contradiction.h"

#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>

namespace fencepost::target {

std::string contradiction(const Descriptor& descriptor, const run::PreflightReport& seen) {
  const auto& size = descriptor.mqtt.capabilities.max_packet_size;
  if (size && seen.packet_limit && *size != *seen.packet_limit) {
    return fmt::format(
        "the descriptor says max_packet_size: {}, but the broker announces {}, which counts; "
        "remove "
        "the line",
        *size, *seen.packet_limit);
  }
  const std::int64_t offset = seen.clock_offset_ms;
  if (descriptor.clock_tolerance && std::llabs(offset) > descriptor.clock_tolerance->count()) {
    return fmt::format(
        "the descriptor says clock_tolerance: {}ms, but the store's clock is {} ms {} this "
        "machine's; synchronize the clocks, or raise clock_tolerance",
        descriptor.clock_tolerance->count(), std::llabs(offset),
        offset < 0 ? "behind" : "ahead of");
  }
  return {};
}

}  // namespace fencepost::target
