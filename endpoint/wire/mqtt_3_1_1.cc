#include "endpoint/wire/mqtt_3_1_1.h"

#include "endpoint/wire/packet.h"

namespace fencepost::wire::v3 {
namespace {

constexpr std::uint8_t kConnectByte = 0x10;
constexpr std::uint8_t kPublishByte = 0x32;    // QoS 1
constexpr std::uint8_t kSubscribeByte = 0x82;  // 3.8.1
constexpr char kProtocolLevel = 4;             // 3.1.2.2
constexpr char kQos = 1;
constexpr std::size_t kMaxRemaining = kLargestPacket - 5;
constexpr std::size_t kMaxLengthBytes = 4;  // 2.2.3

using Encoded = Result<std::string, std::string>;

void add_two_bytes(std::string& out, std::size_t number) {
  out += static_cast<char>((number >> 8U) & 0xffU);
  out += static_cast<char>(number & 0xffU);
}

// False when it is too long.
bool add_text(std::string& out, std::string_view text) {
  add_two_bytes(out, text.size());
  out += text;
  return text.size() <= kMaxText;
}

Encoded packet(std::uint8_t first, const std::string& body) {
  if (body.size() > kMaxRemaining) return fail(std::string("a packet that is too long"));
  std::string out(1, static_cast<char>(first));
  std::size_t length = body.size();
  do {
    const std::size_t low = length & 0x7fU;
    length >>= 7U;
    out += static_cast<char>(length > 0 ? low | 0x80U : low);
  } while (length > 0);
  return out + body;
}

Encoded too_long(std::string_view what) {
  return fail("a " + std::string(what) + " of more than " + std::to_string(kMaxText) + " bytes");
}

}  // namespace

Encoded encode(const Connect& connect) {
  constexpr unsigned kCleanSession = 0x02;
  constexpr unsigned kPassword = 0x40;
  constexpr unsigned kUser = 0x80;
  const bool has_password = connect.user && connect.password;
  std::string body;
  (void)add_text(body, "MQTT");
  body += kProtocolLevel;
  body += static_cast<char>(kCleanSession | (connect.user ? kUser : 0U) |
                            (has_password ? kPassword : 0U));
  add_two_bytes(body, connect.keep_alive_s);
  if (!add_text(body, connect.client_id)) return too_long("client id");
  if (connect.user && !add_text(body, *connect.user)) return too_long("user name");
  if (has_password && !add_text(body, *connect.password)) return too_long("password");
  return packet(kConnectByte, body);
}

Encoded encode(const Publish& publish) {
  std::string body;
  if (!add_text(body, publish.topic)) return too_long("topic");
  add_two_bytes(body, publish.packet_id);
  return packet(kPublishByte, body + publish.payload);
}

Encoded encode(const Subscribe& subscribe) {
  std::string body;
  add_two_bytes(body, subscribe.packet_id);
  if (!add_text(body, subscribe.filter)) return too_long("filter");
  body += kQos;
  return packet(kSubscribeByte, body);
}

std::string farewell() { return {'\xe0', '\0'}; }

Result<std::optional<Answer>, std::string> decode(std::string_view bytes) {
  std::size_t at = 1;
  std::size_t length = 0;
  for (unsigned shift = 0;; shift += 7, ++at) {
    if (at > kMaxLengthBytes) return fail(std::string("a length of more than four bytes"));
    if (at >= bytes.size()) return std::optional<Answer>();
    const auto byte = static_cast<unsigned char>(bytes[at]);
    length |= static_cast<std::size_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) break;
  }
  ++at;
  if (bytes.size() - at < length) return std::optional<Answer>();
  const std::string_view body = bytes.substr(at, length);
  const auto number = [&](std::size_t i) { return static_cast<unsigned char>(body[i]); };
  const auto packet_id = [&] { return static_cast<std::uint16_t>(number(0) << 8U | number(1)); };
  Answer out{.size = at + length};
  switch (static_cast<unsigned char>(bytes.front())) {
    case 0x20:
      if (length != 2) return fail(std::string("a CONNACK that has not two bytes"));
      out.kind = AnswerKind::kConnack;
      out.code = number(1);
      break;
    case 0x40:
      if (length != 2) return fail(std::string("a PUBACK that has not two bytes"));
      out.kind = AnswerKind::kPuback;
      out.packet_id = packet_id();
      break;
    case 0x90:
      if (length < 3) return fail(std::string("a SUBACK of less than three bytes"));
      out.kind = AnswerKind::kSuback;
      out.packet_id = packet_id();
      out.code = number(2);
      break;
    default:
      break;
  }
  return std::optional(out);
}

}  // namespace fencepost::wire::v3
