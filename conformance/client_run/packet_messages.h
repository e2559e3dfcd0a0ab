// Between packets of MQTT and messages of the store. Private to client_run/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "codec/message.h"
#include "wire/packet.h"

namespace fencepost::client_run {

[[nodiscard]] codec::Message message_of(const wire::Publish& publish);

// Without a Packet Identifier.
[[nodiscard]] wire::Publish publish_of(const codec::Message& message);

// `> PUBLISH of 120 bytes: "*2\r\n..."`: the direction, the packet, and at most `most` bytes of a
// payload. One line.
[[nodiscard]] std::string packet_line(char direction, std::string_view bytes, std::size_t most);

}  // namespace fencepost::client_run
