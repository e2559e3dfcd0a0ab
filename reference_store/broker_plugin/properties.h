// MQTT 5 properties between codec::Message and mosquitto's lists.
#pragma once

#include <memory>

#include "codec/message.h"

struct mqtt5__property;  // NOLINT(bugprone-reserved-identifier): mosquitto's name

namespace fencepost::broker_plugin {

struct PropertiesDeleter {
  void operator()(mqtt5__property* properties) const;
};
using Properties = std::unique_ptr<mqtt5__property, PropertiesDeleter>;

// Copies what the list says into the message: everything but topic, payload, QoS and retain.
void read_properties(const mqtt5__property* properties, codec::Message& message);

// The list of a message; null when it needs none or memory is short.
[[nodiscard]] Properties make_properties(const codec::Message& message);

}  // namespace fencepost::broker_plugin
