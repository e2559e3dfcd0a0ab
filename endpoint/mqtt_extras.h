// What an MQTT client may send that a store and its broker must accept, and few client libraries
// support.
#pragma once

#include <cstdint>
#include <string>

namespace fencepost::endpoint {

struct MqttExtras {
  // Properties as MQTT 5 encodes them (2.2.2.2), without their length: behind those of the CONNECT,
  // and in each SUBSCRIBE. Identifiers for subscriptions are left out where the broker takes none.
  // (3.2.2.3.12)
  std::string connect_properties{};
  std::string subscribe_properties{};
  // For each subscription, the bits above its QoS: 4 no local, 8 retain as published, 16 and 32
  // retain handling. (3.8.3.1)
  std::uint8_t subscription_options = 0;
  // Each topic is sent once, and then an alias for it, as many as the broker takes. (3.3.2.3.4)
  bool topic_aliases = false;

  friend bool operator==(const MqttExtras&, const MqttExtras&) = default;
};

}  // namespace fencepost::endpoint
