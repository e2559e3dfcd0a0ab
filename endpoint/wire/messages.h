// Between PUBLISH packets and messages of the store: the properties that a message has.
//
//   wire::Publish packet = wire::publish_of(message);
//   packet.packet_id = next_id();
//   codec::Message received = wire::message_of(std::move(packet));
//
// Pure and thread safe. Source: MQTT 5, 3.3.2.3.
#pragma once

#include "codec/message.h"
#include "endpoint/wire/packet.h"

namespace fencepost::wire {

// Without a Packet Identifier.
[[nodiscard]] Publish publish_of(const codec::Message& message);

// If a property is there twice, the last one counts; other properties are left out.
[[nodiscard]] codec::Message message_of(Publish packet);

}  // namespace fencepost::wire
