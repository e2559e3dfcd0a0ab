// What one packet of a client shows by itself, and against what the broker has announced to it: the
// statements of MQTT 5 on texts, topics, filters, flags and reason codes. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "clients/request_rules.h"
#include "endpoint/wire/packet.h"

namespace fencepost::clients {

// What a CONNACK says that the client has to keep to. (3.2.2.3)
struct Announced {
  std::uint32_t receive_maximum = 65'535;
  std::uint32_t largest_packet = 0;  // bytes; 0: no limit
  std::uint32_t largest_alias = 0;   // 0: none may be used
  std::uint32_t maximum_qos = 2;
  bool retain = true;
};
[[nodiscard]] Announced announced_in(const wire::Connack& connack);

// Checks each packet, the CONNECT too: its texts, topics and reason codes.
void check_packet(const wire::Packet& packet, std::vector<Diagnostic>& out);

// For a packet after the CONNACK, with its number of bytes.
void check_announced(const wire::Packet& packet, std::size_t bytes, const Announced& announced,
                     std::vector<Diagnostic>& out);

// Why a broker refuses a packet, or ends the connection, where only what the client has sent can be
// the reason: "topic alias invalid". Empty for reasons that a conforming client may get, too:
// rights, quota, a busy broker, a session that another connection takes over. (2.4)
[[nodiscard]] std::string_view clients_mistake(std::uint8_t reason);

}  // namespace fencepost::clients
