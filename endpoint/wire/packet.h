// The control packets of MQTT 5: bytes and what they mean, in both directions. Pure: no I/O, no
// time.
//
//   auto bytes = wire::encode(wire::Publish{.qos = 1, .packet_id = 7, .topic = "t"});
//   auto decoded = wire::decode(*bytes, wire::kLargestPacket);  // an error, nothing, or a packet
//
// Sections named in comments are those of the OASIS standard, MQTT Version 5.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace fencepost::wire {

// Bytes of the largest packet that there can be: its length has four bytes of seven bits. (1.5.5)
inline constexpr std::size_t kLargestPacket = 268'435'460;
// The limit for a text or binary data: its length has two bytes. (1.5.4, 1.5.6)
inline constexpr std::size_t kMaxText = 65'535;
// The limit for a packet that is read: a few bytes become many in memory.
inline constexpr std::size_t kMaxProperties = 10'000;

// 2.2.2.2
enum class PropertyId : std::uint8_t {
  kPayloadFormat = 0x01,
  kMessageExpiry = 0x02,
  kContentType = 0x03,
  kResponseTopic = 0x08,
  kCorrelationData = 0x09,
  kSubscriptionId = 0x0b,
  kSessionExpiry = 0x11,
  kAssignedClientId = 0x12,
  kServerKeepAlive = 0x13,
  kAuthenticationMethod = 0x15,
  kAuthenticationData = 0x16,
  kRequestProblemInformation = 0x17,
  kWillDelay = 0x18,
  kRequestResponseInformation = 0x19,
  kResponseInformation = 0x1a,
  kServerReference = 0x1c,
  kReasonString = 0x1f,
  kReceiveMaximum = 0x21,
  kTopicAliasMaximum = 0x22,
  kTopicAlias = 0x23,
  kMaximumQos = 0x24,
  kRetainAvailable = 0x25,
  kUserProperty = 0x26,
  kMaximumPacketSize = 0x27,
  kWildcardAvailable = 0x28,
  kSubscriptionIdAvailable = 0x29,
  kSharedAvailable = 0x2a,
};

// A number, a text (or binary data), or for kUserProperty a name and its value.
struct Property {
  PropertyId id{};
  std::uint32_t number = 0;
  std::string text{};
  std::string value{};

  friend bool operator==(const Property&, const Property&) = default;
};

class Properties {
 public:
  Properties() = default;
  void add(PropertyId id, std::uint32_t number) { add({.id = id, .number = number}); }
  void add(PropertyId id, std::string text) { add({.id = id, .text = std::move(text)}); }
  void add(Property property) {
    if (all_.empty()) all_.reserve(kUsual);
    all_.push_back(std::move(property));
  }
  void add_user(std::string name, std::string value) {
    add({PropertyId::kUserProperty, 0, std::move(name), std::move(value)});
  }

  void remove(PropertyId id);

  // Null when there is none. Valid until something changes.
  [[nodiscard]] const Property* find(PropertyId id) const;
  [[nodiscard]] std::optional<std::uint32_t> number(PropertyId id) const;
  [[nodiscard]] const std::vector<Property>& all() const& { return all_; }
  [[nodiscard]] std::vector<Property> all() && { return std::move(all_); }

  friend bool operator==(const Properties&, const Properties&) = default;

 private:
  static constexpr std::size_t kUsual = 4;  // of a request or a response

  std::vector<Property> all_;  // in the order of the packet
};

struct Will {
  std::uint8_t qos = 0;
  bool retain = false;
  Properties properties{};
  std::string topic{};
  std::string payload{};
  friend bool operator==(const Will&, const Will&) = default;
};
struct Connect {
  bool clean_start = true;
  std::uint16_t keep_alive_s = 0;
  Properties properties{};
  std::string client_id{};
  std::optional<Will> will{};
  std::optional<std::string> user{};
  std::optional<std::string> password{};
  friend bool operator==(const Connect&, const Connect&) = default;
};
struct Connack {
  bool session_present = false;
  std::uint8_t reason = 0;
  Properties properties{};
  friend bool operator==(const Connack&, const Connack&) = default;
};
struct Publish {
  bool duplicate = false;
  std::uint8_t qos = 0;
  bool retain = false;
  std::uint16_t packet_id = 0;  // of QoS 1 and 2
  std::string topic{};
  Properties properties{};
  std::string payload{};
  friend bool operator==(const Publish&, const Publish&) = default;
};
// What follows a PUBLISH of QoS 1 or 2; in their order on the network. (3.4 to 3.7)
enum class AckKind : std::uint8_t { kPuback = 4, kPubrec = 5, kPubrel = 6, kPubcomp = 7 };
struct Ack {
  AckKind kind = AckKind::kPuback;
  std::uint16_t packet_id = 0;
  std::uint8_t reason = 0;
  Properties properties{};
  friend bool operator==(const Ack&, const Ack&) = default;
};
inline constexpr std::uint8_t kNoMatchingSubscribers = 0x10;
// Does a PUBACK with this reason refuse the PUBLISH? One that MQTT does not have is no success to
// clients. (3.4.2.1)
[[nodiscard]] constexpr bool refuses(int reason) {
  return reason != 0 && reason != kNoMatchingSubscribers;
}
struct Subscription {
  std::string filter{};
  std::uint8_t options = 0;  // 3.8.3.1; the two lowest bits are the QoS
  friend bool operator==(const Subscription&, const Subscription&) = default;
};
struct Subscribe {
  std::uint16_t packet_id = 0;
  Properties properties{};
  std::vector<Subscription> subscriptions{};
  friend bool operator==(const Subscribe&, const Subscribe&) = default;
};
struct Unsubscribe {
  std::uint16_t packet_id = 0;
  Properties properties{};
  std::vector<std::string> filters{};
  friend bool operator==(const Unsubscribe&, const Unsubscribe&) = default;
};
struct Suback {
  std::uint16_t packet_id = 0;
  Properties properties{};
  std::vector<std::uint8_t> reasons{};
  friend bool operator==(const Suback&, const Suback&) = default;
};
struct Unsuback {
  std::uint16_t packet_id = 0;
  Properties properties{};
  std::vector<std::uint8_t> reasons{};
  friend bool operator==(const Unsuback&, const Unsuback&) = default;
};
struct Pingreq {
  friend bool operator==(const Pingreq&, const Pingreq&) = default;
};
struct Pingresp {
  friend bool operator==(const Pingresp&, const Pingresp&) = default;
};
struct Disconnect {
  std::uint8_t reason = 0;
  Properties properties{};
  friend bool operator==(const Disconnect&, const Disconnect&) = default;
};
struct Auth {
  std::uint8_t reason = 0;
  Properties properties{};
  friend bool operator==(const Auth&, const Auth&) = default;
};

using Packet = std::variant<Connect, Connack, Publish, Ack, Subscribe, Suback, Unsubscribe,
                            Unsuback, Pingreq, Pingresp, Disconnect, Auth>;

// "PUBLISH", "PUBREC", ...: as the standard writes them.
[[nodiscard]] std::string_view name(const Packet& packet);

// "a PUBLISH", "an UNSUBACK".
[[nodiscard]] std::string with_article(std::string_view name);

// The bytes. Legal when the packet is: what it holds is not checked, but for lengths. The error
// says which text, or that the packet, is too long for its length to be written.
[[nodiscard]] Result<std::string, std::string> encode(const Packet& packet);

struct Decoded {
  Packet packet{};
  std::size_t size = 0;  // bytes that it took
};

// Reason codes of what is wrong within one packet. (4.13.1)
inline constexpr std::uint8_t kMalformed = 0x81;
inline constexpr std::uint8_t kProtocolError = 0x82;
inline constexpr std::uint8_t kTooLarge = 0x95;

struct DecodeError {
  std::uint8_t reason = 0;  // to end the connection with: one of these three
  std::string text{};       // e.g. "a PUBLISH with QoS 3"
  // The statement of the standard: "MQTT-3.3.1-4". Empty where it does not number what is broken.
  std::string_view statement{};
};

// How many bytes the first packet of `bytes` has, with its header; 0 while that is not known.
[[nodiscard]] std::size_t size_of_first(std::string_view bytes);

// The first packet of `bytes`; nothing when more bytes are needed. What 1.5, 2 and 3 call malformed
// or a protocol error within one packet is an error, and so is a packet of more than `limit` bytes
// (as soon as its length is known). Whether texts are UTF-8, and topics legal, is not looked at.
[[nodiscard]] Result<std::optional<Decoded>, DecodeError> decode(std::string_view bytes,
                                                                 std::size_t limit);

// The properties that stand in these bytes, without their length, of a CONNECT or of a SUBSCRIBE;
// the error says what is wrong with them there.
enum class PropertiesOf : std::uint8_t { kConnect, kSubscribe };
[[nodiscard]] Result<Properties, DecodeError> decode_properties(std::string_view bytes,
                                                                PropertiesOf packet);

// What is wrong with the texts of a packet that was decoded, all of which have to be UTF-8 without
// U+0000 (1.5.4): "a PUBLISH with a user property that is not UTF-8". Nothing when they are right.
[[nodiscard]] std::optional<DecodeError> error_of_texts(const Packet& packet);

}  // namespace fencepost::wire
