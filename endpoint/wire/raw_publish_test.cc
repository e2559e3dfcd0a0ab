#include "endpoint/wire/raw_publish.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::wire {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

Publish usual() {
  Publish out{.qos = 1, .packet_id = 7, .topic = "t", .payload = "p"};
  out.properties.add(PropertyId::kResponseTopic, std::string("r"));
  return out;
}

TEST(RawPublish, IsTheUsualOneWhenNothingIsRaw) {
  Publish large = usual();
  large.payload = std::string(20'000, 'x');
  large.properties.add_user("a", std::string(300, 'b'));
  for (const Publish& packet : {usual(), large, Publish{.topic = "t"}}) {
    EXPECT_EQ(encode(RawPublish{.packet = packet}), encode(Packet(packet)));
  }
}

TEST(RawPublish, HasWhatIsAskedFor) {
  EXPECT_EQ(encode(RawPublish{.packet = usual(), .more_properties = "\x08\0\1s"s}).value(),
            "\x32\x0f\0\1t\0\7\x08\x08\0\1r\x08\0\1sp"s);
  EXPECT_EQ(encode(RawPublish{.packet = usual(), .wrong_length = -1}).value(),
            "\x32\x0b\0\1t\0\7\3\x08\0\1rp"s);
  EXPECT_EQ(encode(RawPublish{.packet = usual(), .wrong_length = 200}).value(),
            "\x32\x0c\0\1t\0\7\xcc\1\x08\0\1rp"s);
  EXPECT_EQ(encode(RawPublish{.packet = usual(), .wrong_length = -9}).value(),
            "\x32\x0b\0\1t\0\7\0\x08\0\1rp"s);
  Publish packet = usual();
  packet.qos = 3;
  packet.packet_id = 0;
  EXPECT_EQ(encode(RawPublish{.packet = packet}).value(), "\x36\x0b\0\1t\0\0\4\x08\0\1rp"s);
}

TEST(RawPublish, IsRefusedByWhoReadsIt) {
  const auto refusal = [](const RawPublish& odd) {
    const auto read = decode(encode(odd).value(), kLargestPacket);
    return read ? "taken" : read.error().text;
  };
  EXPECT_THAT(
      refusal({.packet = usual(),
               .more_properties = encode(Property{.id = PropertyId::kResponseTopic, .text = "s"})}),
      HasSubstr("twice"));
  EXPECT_NE(refusal({.packet = usual(), .more_properties = "\x7f"}), "taken");
  EXPECT_NE(refusal({.packet = usual(), .wrong_length = 9'999}), "taken");
  EXPECT_NE(refusal({.packet = usual(), .wrong_length = -1}), "taken");
}

TEST(RawPublish, KnowsTheBytesOfEachProperty) {
  EXPECT_EQ(encode(Property{.id = PropertyId::kTopicAlias, .number = 258}), "\x23\1\2"s);
  EXPECT_EQ(encode(Property{.id = PropertyId::kMessageExpiry, .number = 1}), "\2\0\0\0\1"s);
  EXPECT_EQ(encode(Property{.id = PropertyId::kPayloadFormat}), "\1\0"s);
  EXPECT_EQ(encode(Property{.id = PropertyId::kCorrelationData}), "\x09\0\0"s);
  EXPECT_EQ(encode(Property{PropertyId::kUserProperty, 0, "a", "b"}), "\x26\0\1a\0\1b"s);
  const std::string text(200, 'x');
  EXPECT_EQ(encode(Property{.id = PropertyId::kContentType, .text = text}), "\3\0\xc8"s + text);
}

TEST(RawPublish, HasNoTextThatIsTooLong) {
  Publish packet = usual();
  packet.topic = std::string(kMaxText + 1, 't');
  EXPECT_THAT(encode(RawPublish{.packet = packet}).error(), HasSubstr("65536"));
}

}  // namespace
}  // namespace fencepost::wire
