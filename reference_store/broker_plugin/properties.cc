#include "reference_store/broker_plugin/properties.h"

#include <cstdlib>
#include <optional>
#include <string>

#include <mosquitto.h>
#include <mqtt_protocol.h>

namespace fencepost::broker_plugin {
namespace {

// mosquitto's readers return copies made with calloc.
struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};

std::optional<std::string> read_string(const mosquitto_property* properties, int identifier) {
  char* text = nullptr;
  if (mosquitto_property_read_string(properties, identifier, &text, false) == nullptr) {
    return std::nullopt;
  }
  const std::unique_ptr<char, FreeDeleter> owner(text);
  return text == nullptr ? std::string() : std::string(text);
}

std::optional<std::string> read_binary(const mosquitto_property* properties, int identifier) {
  void* data = nullptr;
  std::uint16_t size = 0;
  if (mosquitto_property_read_binary(properties, identifier, &data, &size, false) == nullptr) {
    return std::nullopt;
  }
  const std::unique_ptr<void, FreeDeleter> owner(data);
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

// One property of a list, which read_string_pair() would search from here on.
void read_user_property(const mosquitto_property* property, codec::Message& message) {
  char* name = nullptr;
  char* value = nullptr;
  if (mosquitto_property_read_string_pair(property, MQTT_PROP_USER_PROPERTY, &name, &value,
                                          false) == nullptr) {
    return;
  }
  const std::unique_ptr<char, FreeDeleter> name_owner(name);
  const std::unique_ptr<char, FreeDeleter> value_owner(value);
  message.user_properties.emplace_back(name == nullptr ? "" : name, value == nullptr ? "" : value);
}

}  // namespace

void PropertiesDeleter::operator()(mqtt5__property* properties) const {
  mosquitto_property_free_all(&properties);
}

void read_properties(const mqtt5__property* properties, codec::Message& message) {
  message.response_topic = read_string(properties, MQTT_PROP_RESPONSE_TOPIC);
  message.correlation_data = read_binary(properties, MQTT_PROP_CORRELATION_DATA);
  message.content_type = read_string(properties, MQTT_PROP_CONTENT_TYPE);
  std::uint8_t format = 0;
  if (mosquitto_property_read_byte(properties, MQTT_PROP_PAYLOAD_FORMAT_INDICATOR, &format,
                                   false) != nullptr) {
    message.payload_format = format;
  }
  std::uint32_t expiry = 0;
  if (mosquitto_property_read_int32(properties, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, &expiry,
                                    false) != nullptr) {
    message.expiry_seconds = expiry;
  }
  for (const mqtt5__property* property = properties; property != nullptr;
       property = mosquitto_property_next(property)) {
    if (mosquitto_property_identifier(property) == MQTT_PROP_USER_PROPERTY) {
      read_user_property(property, message);
    }
  }
}

Properties make_properties(const codec::Message& message) {
  mosquitto_property* list = nullptr;
  int failed = 0;
  if (message.payload_format) {
    failed |= mosquitto_property_add_byte(&list, MQTT_PROP_PAYLOAD_FORMAT_INDICATOR,
                                          *message.payload_format);
  }
  if (message.expiry_seconds) {
    failed |= mosquitto_property_add_int32(&list, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL,
                                           *message.expiry_seconds);
  }
  if (message.content_type) {
    failed |=
        mosquitto_property_add_string(&list, MQTT_PROP_CONTENT_TYPE, message.content_type->c_str());
  }
  if (message.response_topic) {
    failed |= mosquitto_property_add_string(&list, MQTT_PROP_RESPONSE_TOPIC,
                                            message.response_topic->c_str());
  }
  if (message.correlation_data) {
    failed |= mosquitto_property_add_binary(
        &list, MQTT_PROP_CORRELATION_DATA, message.correlation_data->data(),
        static_cast<std::uint16_t>(message.correlation_data->size()));
  }
  for (const auto& [name, value] : message.user_properties) {
    failed |= mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, name.c_str(),
                                                 value.c_str());
  }
  Properties properties(list);
  if (failed != 0) properties.reset();
  return properties;
}

}  // namespace fencepost::broker_plugin
