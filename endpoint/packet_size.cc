#include "endpoint/packet_size.h"

#include <optional>
#include <string>

namespace fencepost::endpoint {
namespace {

constexpr std::size_t kLengthPrefix = 2;  // of strings and binary data
constexpr std::size_t kPropertyId = 1;
constexpr std::size_t kPacketId = 2;
constexpr std::size_t kPacketType = 1;

// Seven bits of the number a byte. (MQTT 5, 1.5.5)
std::size_t variable_integer_size(std::size_t value) {
  std::size_t bytes = 1;
  for (; value >= 128; value /= 128) ++bytes;
  return bytes;
}

std::size_t text_size(const std::string& text) { return kLengthPrefix + text.size(); }

std::size_t property_size(const std::optional<std::string>& text) {
  return text ? kPropertyId + text_size(*text) : 0;
}

std::size_t properties_size(const codec::Message& message) {
  std::size_t size = property_size(message.content_type) + property_size(message.response_topic) +
                     property_size(message.correlation_data);
  if (message.payload_format) size += kPropertyId + 1;
  if (message.expiry_seconds) size += kPropertyId + 4;
  for (const auto& [name, value] : message.user_properties) {
    size += kPropertyId + text_size(name) + text_size(value);
  }
  return size;
}

}  // namespace

std::size_t publish_packet_size(const codec::Message& message) {
  const std::size_t properties = properties_size(message);
  const std::size_t remaining = text_size(message.topic) + (message.qos > 0 ? kPacketId : 0) +
                                variable_integer_size(properties) + properties +
                                message.payload.size();
  return kPacketType + variable_integer_size(remaining) + remaining;
}

}  // namespace fencepost::endpoint
