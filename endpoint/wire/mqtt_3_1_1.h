// As much of MQTT 3.1.1 as a client needs that sends one request: what it writes, and what a broker
// answers. Its packets have no properties. Pure. Sections are those of the OASIS standard, MQTT
// Version 3.1.1.
//
//   out += *wire::v3::encode(wire::v3::Connect{.client_id = "c"});
//   out += *wire::v3::encode(wire::v3::Publish{.packet_id = 1, .topic = "t", .payload = "p"});
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fencepost::wire::v3 {

struct Connect {  // with a clean session
  std::string client_id{};
  std::optional<std::string> user{};
  std::optional<std::string> password{};  // only with a user (3.1.2.9)
  std::uint16_t keep_alive_s = 60;
};
struct Publish {  // of QoS 1
  std::uint16_t packet_id = 1;
  std::string topic{};
  std::string payload{};
};
struct Subscribe {  // with QoS 1
  std::uint16_t packet_id = 1;
  std::string filter{};
};

// The bytes. The error says which text, or that the packet, is too long.
[[nodiscard]] Result<std::string, std::string> encode(const Connect& packet);
[[nodiscard]] Result<std::string, std::string> encode(const Publish& packet);
[[nodiscard]] Result<std::string, std::string> encode(const Subscribe& packet);
// A DISCONNECT.
[[nodiscard]] std::string farewell();

enum class AnswerKind : std::uint8_t { kConnack, kPuback, kSuback, kOther };
struct Answer {
  AnswerKind kind = AnswerKind::kOther;
  std::uint8_t code = 0;        // of a CONNACK, and the first of a SUBACK
  std::uint16_t packet_id = 0;  // of a PUBACK or SUBACK
  std::size_t size = 0;         // bytes that it took
};

// The first packet of what a broker has sent; nothing when more bytes are needed. The error says
// what no broker may send.
[[nodiscard]] Result<std::optional<Answer>, std::string> decode(std::string_view bytes);

}  // namespace fencepost::wire::v3
