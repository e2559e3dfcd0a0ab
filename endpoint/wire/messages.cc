#include "endpoint/wire/messages.h"

#include <cstdint>
#include <utility>

namespace fencepost::wire {

Publish publish_of(const codec::Message& message) {
  Publish out{.duplicate = message.duplicate,
              .qos = static_cast<std::uint8_t>(message.qos),
              .retain = message.retain,
              .topic = message.topic,
              .payload = message.payload};
  Properties& properties = out.properties;
  if (message.payload_format) {
    properties.add(PropertyId::kPayloadFormat, std::uint32_t{*message.payload_format});
  }
  if (message.expiry_seconds) properties.add(PropertyId::kMessageExpiry, *message.expiry_seconds);
  if (message.content_type) properties.add(PropertyId::kContentType, *message.content_type);
  if (message.response_topic) properties.add(PropertyId::kResponseTopic, *message.response_topic);
  if (message.correlation_data) {
    properties.add(PropertyId::kCorrelationData, *message.correlation_data);
  }
  for (const auto& [name, value] : message.user_properties) properties.add_user(name, value);
  return out;
}

codec::Message message_of(Publish packet) {
  codec::Message out;
  out.topic = std::move(packet.topic);
  out.payload = std::move(packet.payload);
  out.qos = packet.qos;
  out.retain = packet.retain;
  out.duplicate = packet.duplicate;
  for (Property& each : std::move(packet.properties).all()) {
    switch (each.id) {
      case PropertyId::kPayloadFormat:
        out.payload_format = static_cast<std::uint8_t>(each.number);
        break;
      case PropertyId::kMessageExpiry:
        out.expiry_seconds = each.number;
        break;
      case PropertyId::kContentType:
        out.content_type = std::move(each.text);
        break;
      case PropertyId::kResponseTopic:
        out.response_topic = std::move(each.text);
        break;
      case PropertyId::kCorrelationData:
        out.correlation_data = std::move(each.text);
        break;
      case PropertyId::kUserProperty:
        out.user_properties.emplace_back(std::move(each.text), std::move(each.value));
        break;
      default:
        break;
    }
  }
  return out;
}

}  // namespace fencepost::wire
