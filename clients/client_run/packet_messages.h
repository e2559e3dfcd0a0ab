// A packet of MQTT in a line. Private to client_run/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fencepost::client_run {

// `> PUBLISH of 120 bytes: "*2\r\n..."`: the direction, the packet, and at most `most` bytes of a
// payload. One line.
[[nodiscard]] std::string packet_line(char direction, std::string_view bytes, std::size_t most);

}  // namespace fencepost::client_run
