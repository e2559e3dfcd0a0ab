// The size of an MQTT 5 PUBLISH packet on the network: what a broker's Maximum Packet Size limits.
// Pure.
//
//   publish_packet_size({.topic = "t", .payload = "v"});  // header 2, topic 3, id 2, properties 1
#pragma once

#include <cstddef>

#include "codec/message.h"

namespace fencepost::endpoint {

// No packet is larger: 5 bytes of header, and the largest length that 4 of them can encode. (MQTT
// 5, 1.5.5)
inline constexpr std::size_t kMaxPacketSize = 268'435'460;

// The bytes of the whole packet with the properties that `message` has, and no others: fixed
// header, topic, packet identifier (unless the QoS is 0), properties, payload. (MQTT 5, 2.1.4 and
// 3.3) A message that does not fit into any packet gets the size that it would have.
[[nodiscard]] std::size_t publish_packet_size(const codec::Message& message);

}  // namespace fencepost::endpoint
