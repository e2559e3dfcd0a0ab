#include "conformance/command_support.h"

#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "conformance/library.h"

namespace fencepost::conformance {
namespace {

std::string_view headline(PreflightErrorKind kind) {
  switch (kind) {
    case PreflightErrorKind::kNoBroker:
      return "no broker";
    case PreflightErrorKind::kNoStore:
      return "a broker, but no state store";
    case PreflightErrorKind::kNotAllowed:
      return "not allowed";
  }
  return "unknown";
}

}  // namespace

void complain(const std::string& text) { fmt::print(stderr, "fencepost: {}\n", text); }

std::optional<Descriptor> read_descriptor(const EndpointChoice& choice) {
  Descriptor descriptor;
  if (!choice.descriptor.empty()) {
    const auto file = read_file(choice.descriptor);
    if (!file) {
      complain(file.error());
      return std::nullopt;
    }
    std::vector<LoadError> errors;
    auto loaded = load_descriptor(*file, errors);
    for (const LoadError& error : errors) complain(describe(error));
    if (!loaded) return std::nullopt;
    descriptor = std::move(*loaded);
  }
  if (!choice.url.empty()) descriptor.url = choice.url;
  return descriptor;
}

std::string describe(const PreflightError& error, const std::string& url) {
  return fmt::format("{} at {}: {}", headline(error.kind), url, error.text);
}

std::string contradiction(const Descriptor& descriptor, const PreflightReport& seen) {
  const auto& size = descriptor.mqtt.capabilities.max_packet_size;
  if (size && seen.packet_limit && *size != *seen.packet_limit) {
    return fmt::format(
        "the descriptor says max_packet_size: {}, and the broker announces {}; remove the line, as "
        "what is announced counts",
        *size, *seen.packet_limit);
  }
  const std::int64_t offset = seen.clock_offset_ms;
  if (descriptor.clock_tolerance && std::llabs(offset) > descriptor.clock_tolerance->count()) {
    return fmt::format(
        "the descriptor says clock_tolerance: {}ms, and the store's clock is {} ms {} this "
        "machine's; synchronize the clocks, or allow for more",
        descriptor.clock_tolerance->count(), std::llabs(offset),
        offset < 0 ? "behind" : "ahead of");
  }
  return {};
}

std::string random_run_id() {
  std::random_device device;
  return fmt::format("{:08x}", device());
}

}  // namespace fencepost::conformance
