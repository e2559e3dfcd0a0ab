#include "endpoint/wire/packet.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::wire {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

Decoded decoded(const std::string& bytes) {
  auto out = decode(bytes, kLargestPacket);
  EXPECT_TRUE(out) << (out ? "" : out.error().text);
  if (!out || !*out) return {};
  return std::move(**out);
}

DecodeError refused(const std::string& bytes, std::size_t limit = kLargestPacket) {
  const auto out = decode(bytes, limit);
  if (out) {
    ADD_FAILURE() << (*out ? "taken as a " + std::string(name((*out)->packet)) : "incomplete");
    return {};
  }
  return out.error();
}

void round_trip(const Packet& packet, const std::string& bytes) {
  const auto encoded = encode(packet);
  ASSERT_TRUE(encoded);
  EXPECT_EQ(*encoded, bytes) << name(packet);
  const Decoded back = decoded(bytes + "more");
  EXPECT_EQ(back.packet, packet) << name(packet);
  EXPECT_EQ(back.size, bytes.size()) << name(packet);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto part = decode(bytes.substr(0, i), kLargestPacket);
    ASSERT_TRUE(part) << i << " bytes of a " << name(packet) << ": " << part.error().text;
    EXPECT_FALSE(*part) << i << " bytes of a " << name(packet);
  }
}

// The bytes are written from the tables of chapter 3.
TEST(Packet, IsWhatTheStandardSays) {
  round_trip(Connect{.clean_start = true, .keep_alive_s = 60, .client_id = "c"},
             "\x10\x0e\0\4MQTT\5\2\0\x3c\0\0\1c"s);
  round_trip(Connack{.session_present = true, .reason = 0x87}, "\x20\3\1\x87\0"s);
  round_trip(Publish{.qos = 0, .topic = "t", .payload = "p"}, "\x30\5\0\1t\0p"s);
  round_trip(Publish{.duplicate = true, .qos = 2, .retain = true, .packet_id = 258, .topic = "t"},
             "\x3d\6\0\1t\1\2\0"s);
  round_trip(Ack{.kind = AckKind::kPuback, .packet_id = 1}, "\x40\2\0\1"s);
  round_trip(Ack{.kind = AckKind::kPubrec, .packet_id = 1, .reason = 0x10}, "\x50\3\0\1\x10"s);
  round_trip(Ack{.kind = AckKind::kPubrel, .packet_id = 1}, "\x62\2\0\1"s);
  round_trip(Ack{.kind = AckKind::kPubcomp, .packet_id = 1}, "\x70\2\0\1"s);
  round_trip(Subscribe{.packet_id = 1, .subscriptions = {{"a", 1}, {"b", 0x2e}}},
             "\x82\x0b\0\1\0\0\1a\1\0\1b\x2e"s);
  round_trip(Suback{.packet_id = 1, .reasons = {1, 0x80}}, "\x90\5\0\1\0\1\x80"s);
  round_trip(Unsubscribe{.packet_id = 1, .filters = {"a"}}, "\xa2\6\0\1\0\0\1a"s);
  round_trip(Unsuback{.packet_id = 1, .reasons = {0x11}}, "\xb0\4\0\1\0\x11"s);
  round_trip(Pingreq{}, "\xc0\0"s);
  round_trip(Pingresp{}, "\xd0\0"s);
  round_trip(Disconnect{}, "\xe0\0"s);
  round_trip(Disconnect{.reason = 0x8e}, "\xe0\1\x8e"s);
  round_trip(Auth{.reason = 0x18}, "\xf0\1\x18"s);
}

TEST(Packet, HasItsProperties) {
  Publish publish{.qos = 1, .packet_id = 7, .topic = "t"};
  publish.properties.add(PropertyId::kPayloadFormat, 1);
  publish.properties.add(PropertyId::kMessageExpiry, 0x01020304);
  publish.properties.add(PropertyId::kResponseTopic, "r"s);
  publish.properties.add(PropertyId::kCorrelationData, "\0"s);
  publish.properties.add_user("a", "b");
  publish.properties.add_user("a", "");
  round_trip(publish,
             "\x32\x22\0\1t\0\7\x1c\1\1\2\1\2\3\4\x08\0\1r\x09\0\1\0\x26\0\1a\0\1b\x26\0\1a\0\0"s);

  Connect connect{.client_id = "c"};
  connect.properties.add(PropertyId::kSessionExpiry, 0xffff'ffff);
  connect.properties.add(PropertyId::kReceiveMaximum, 1);
  connect.will = Will{.qos = 1, .retain = true, .topic = "w", .payload = "p"};
  connect.will->properties.add(PropertyId::kWillDelay, 5);
  connect.user = "u";
  connect.password = "";
  round_trip(
      connect,
      "\x10\x27\0\4MQTT\5\xee\0\0\x08\x11\xff\xff\xff\xff\x21\0\1\0\1c\5\x18\0\0\0\5\0\1w\0\1p"
      "\0\1u\0\0"s);
}

TEST(Packet, OfWhichThereCannotBeMoreBytesIsNotWritten) {
  const std::string longest(kMaxText, 'x');
  EXPECT_TRUE(encode(Publish{.topic = longest}));
  const auto too_long = encode(Publish{.topic = longest + "x"});
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error(), "a text of 65536 bytes, where 65535 is the most");
  Publish user{.topic = "t"};
  user.properties.add_user("a", longest + "x");
  EXPECT_FALSE(encode(user));
  const std::size_t most = kLargestPacket - 5 - 4;  // header; topic and properties
  EXPECT_FALSE(encode(Publish{.topic = "t", .payload = std::string(most + 1, 'x')}));
}

TEST(Decode, RefusesWhatTheStandardCallsMalformed) {
  struct Case {
    std::string bytes;
    std::uint8_t reason;
    std::string text;
  };
  for (const Case& row : std::vector<Case>{
           {"\0\0"s, 0x81, "type 0"},
           {"\x10\x0e\0\4MQTT\4\2\0\x3c\0\0\1c"s, 0x84, "another protocol or version"},
           {"\x10\x0e\0\4MQTT\5\3\0\x3c\0\0\1c"s, 0x81, "reserved flag"},
           {"\x10\x0e\0\4MQTT\5\x0a\0\x3c\0\0\1c"s, 0x81, "will that cannot be"},
           {"\x21\3\0\0\0"s, 0x81, "CONNACK with flags"},
           {"\x20\3\2\0\0"s, 0x81, "CONNACK with reserved flags"},
           {"\x36\6\0\1t\0\1\0"s, 0x81, "QoS 3"},
           {"\x38\4\0\1t\0"s, 0x81, "DUP and QoS 0"},
           {"\x32\6\0\1t\0\0\0"s, 0x82, "PUBLISH with packet identifier 0"},
           {"\x30\3\0\5t"s, 0x81, "ends within"},
           {"\x30\7\0\1t\3\1\1"s
            "a",
            0x81, "property of type 0x61"},
           {"\x30\6\0\1t\2\1\2"s, 0x82, "property 0x01 of 2"},
           {"\x30\x08\0\1t\4\1\1\1\0"s, 0x82, "property 0x01 twice"},
           {"\x30\x09\0\1t\5\x11\0\0\0\1"s, 0x81, "property 0x11, which is not for it"},
           {"\x30\7\0\1t\3\x23\0\0"s, 0x82, "property 0x23 of 0"},
           {"\x30\x0a\0\1t\6\x0b\xff\xff\xff\xff\1"s, 0x81, "more than four bytes"},
           {"\x40\1\0"s, 0x81, "PUBACK that ends within"},
           {"\x40\2\0\0"s, 0x82, "PUBACK with packet identifier 0"},
           {"\x40\5\0\1\0\0x"s, 0x81, "PUBACK with bytes behind its end"},
           {"\x60\2\0\1"s, 0x81, "PUBREL with flags"},
           {"\x82\3\0\1\0"s, 0x82, "without a filter"},
           {"\x82\7\0\1\0\0\1a\3"s, 0x81, "options that cannot be"},
           {"\x90\3\0\1\0"s, 0x81, "SUBACK without a reason code"},
           {"\xa2\3\0\1\0"s, 0x82, "without a filter"},
           {"\xd0\1x"s, 0x81, "PINGRESP with bytes behind its end"},
           {"\xd0\x80\x80\x80\x80\1"s, 0x81, "length of more than four bytes"},
       }) {
    const DecodeError error = refused(row.bytes);
    EXPECT_EQ(error.reason, row.reason) << row.text << ", seen: " << error.text;
    EXPECT_THAT(error.text, HasSubstr(row.text));
  }
}

TEST(Decode, RefusesAPacketThatIsTooLargeBeforeItHasCome) {
  const DecodeError error = refused("\x30\xff\xff\xff\x7f"s, 1000);
  EXPECT_EQ(error.reason, 0x95);
  EXPECT_EQ(error.text, "a PUBLISH of 268435460 bytes, where 1000 is the most");
}

TEST(SizeOfFirst, IsKnownAsSoonAsTheLengthIs) {
  EXPECT_EQ(size_of_first(""), 0U);
  EXPECT_EQ(size_of_first("\x30"), 0U);
  EXPECT_EQ(size_of_first("\x30\x80"), 0U);
  EXPECT_EQ(size_of_first("\x30\x80\x01"), 131U);
  EXPECT_EQ(size_of_first("\x30\xff\xff\xff\x7f"), 268'435'460U);
  EXPECT_EQ(size_of_first(std::string("\xd0\x00\x30", 3)), 2U);
}

// Each takes a hundred times the five bytes that it costs to send.
TEST(Decode, RefusesMorePropertiesThanAnybodyNeeds) {
  Publish flood{.topic = "t"};
  for (std::size_t i = 0; i <= kMaxProperties; ++i) flood.properties.add_user("", "");
  EXPECT_EQ(refused(encode(flood).value()).text, "a PUBLISH with more than 10000 properties");
}

}  // namespace
}  // namespace fencepost::wire
