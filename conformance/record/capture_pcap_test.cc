#include "conformance/record/capture_pcap.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/topics.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

const std::string kRequests(codec::kRequestTopic);

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string field(const std::string& name, const std::string& value) {
  return fmt::format(R"(<field name="{}" value="{}"/>)", name, value);
}

std::string shown(const std::string& name, const std::string& show) {
  return fmt::format(R"(<field name="{}" show="{}"/>)", name, show);
}

struct Segment {
  bool to_store = true;
  int stream = 0;
  std::string flags{};
  std::string time = "10.5";
};

// A packet as tshark prints it.
std::string packet(const std::string& mqtt, const Segment& of = {}) {
  return R"(<packet><proto name="geninfo">)" + field("timestamp", of.time) +
         R"(</proto><proto name="tcp">)" + shown("tcp.srcport", of.to_store ? "5000" : "1883") +
         shown("tcp.dstport", of.to_store ? "1883" : "5000") +
         shown("tcp.stream", std::to_string(of.stream)) + of.flags + "</proto>" + mqtt +
         "</packet>\n";
}

std::string control(int type, const std::string& fields) {
  return R"(<proto name="mqtt"><field name="mqtt.hdrflags">)" +
         shown("mqtt.msgtype", std::to_string(type)) + "</field>" + fields + "</proto>";
}

std::string properties(const std::string& fields) {
  return R"(<field name="mqtt.properties">)" + field("mqtt.prop_len", "05") + fields + "</field>";
}

std::string property(int id, const std::string& value) {
  return field("mqtt.property_id", fmt::format("{:02x}", id)) + field("mqtt.prop_value_len", "09") +
         field("mqtt.prop_string", value);
}

std::string connect(const std::string& client) {
  return control(1, field("mqtt.clientid", hex(client)));
}

std::string publish(const std::string& topic, const std::string& some_properties = {},
                    const std::string& flags = {}) {
  return control(3, shown("mqtt.qos", "1") + flags + field("mqtt.topic", hex(topic)) +
                        properties(some_properties) + field("mqtt.msg", "2a00"));
}

std::string alias(int number) { return property(0x23, fmt::format("{:04x}", number)); }

Capture capture_of(const std::vector<std::string>& packets) {
  PdmlReader reader(1883);
  for (const std::string& each : packets) {
    const auto added = reader.add(each);
    EXPECT_TRUE(added) << added.error();
  }
  return reader.finish();
}

const codec::Message& message_at(const Capture& capture, std::size_t index) {
  return std::get<CapturedMessage>(capture.events.at(index)).message;
}

TEST(PdmlReader, ReadsARequestWithAllItsProperties) {
  const std::string all = property(1, "01") + property(2, "0000003c") + property(3, hex("text")) +
                          property(8, hex("clients/c/r")) + property(9, "00ff") +
                          property(0x26, "") + field("mqtt.prop_key_len", "01") +
                          field("mqtt.prop_key", hex("a")) + field("mqtt.prop_value", hex("b")) +
                          field("mqtt.prop_value", hex("without a key"));
  const Capture capture =
      capture_of({packet(connect("c")),
                  packet(publish(kRequests, all, shown("mqtt.retain", "1")), {.time = "11.25"})});
  ASSERT_THAT(capture.events, SizeIs(1));
  const auto& seen = std::get<CapturedMessage>(capture.events[0]);
  EXPECT_EQ(seen.direction, CaptureDirection::kToStore);
  EXPECT_EQ(seen.client_id, "c");
  EXPECT_TRUE(seen.client_known);
  EXPECT_EQ(seen.time, microseconds{11'250'000});
  const codec::Message& message = seen.message;
  EXPECT_EQ(message.topic, kRequests);
  EXPECT_EQ(message.payload, std::string("*\0", 2));
  EXPECT_EQ(message.qos, 1);
  EXPECT_TRUE(message.retain);
  EXPECT_FALSE(message.duplicate);
  EXPECT_EQ(message.payload_format, 1);
  EXPECT_EQ(message.expiry_seconds, 60U);
  EXPECT_EQ(message.content_type, "text");
  EXPECT_EQ(message.response_topic, "clients/c/r");
  EXPECT_EQ(message.correlation_data, std::string("\0\xff", 2));
  EXPECT_THAT(message.user_properties, ElementsAre(Pair("a", "b"), Pair("", "without a key")));
  EXPECT_TRUE(capture.sees_replies);
  EXPECT_TRUE(capture.sees_packets);
  EXPECT_FALSE(capture.from_start);
  EXPECT_THAT(capture.unknown, IsEmpty());
}

// Some versions of tshark put the length before it.
TEST(PdmlReader, TakesTheLengthFromAContentType) {
  for (const auto& [shown_as, type] : std::vector<std::pair<std::string, std::string>>{
           {"0004" + hex("text"), "text"},
           {hex("text"), "text"},
           {hex("t"), "t"},
           {"", ""},
           {"0003" + hex("text"), std::string("\0\3text", 6)}}) {
    const Capture capture = capture_of({packet(publish(kRequests, property(3, shown_as)))});
    EXPECT_EQ(message_at(capture, 0).content_type, type);
  }
}

TEST(PdmlReader, ReadsTopicAliasesOfEachDirectionAndConnection) {
  const Capture capture = capture_of(
      {packet(publish(kRequests, alias(1)) + publish("", alias(1))),  // two in one packet
       packet(publish("", alias(2))),                                 // never said what it is
       packet(publish("reply", alias(1)), {.to_store = false}),
       packet(publish("", alias(1)), {.to_store = false}),
       packet(publish("", alias(1)), {.stream = 1})});
  ASSERT_THAT(capture.events, SizeIs(4));
  EXPECT_EQ(message_at(capture, 1).topic, kRequests);
  EXPECT_EQ(message_at(capture, 2).topic, "reply");
  EXPECT_EQ(message_at(capture, 3).topic, "reply");
  EXPECT_EQ(std::get<CapturedMessage>(capture.events[3]).direction, CaptureDirection::kToClient);
}

TEST(PdmlReader, LeavesOutWhatIsNotOfTheStore) {
  const std::string theirs = *codec::notification_topic("other", "k");
  const std::string own = *codec::notification_topic("c", "k");
  const Capture capture =
      capture_of({packet(connect("c")), packet(publish("telemetry")),
                  packet(publish(kRequests), {.to_store = false}),  // a subscriber of requests
                  packet(publish(theirs), {.to_store = false}),
                  packet(publish(own), {.to_store = false}), packet(control(12, ""))});
  ASSERT_THAT(capture.events, SizeIs(1));
  EXPECT_EQ(message_at(capture, 0).topic, own);
}

TEST(PdmlReader, CountsWhatWasSentAgain) {
  const Capture capture = capture_of(
      {packet(publish(kRequests)), packet(publish(kRequests, "", shown("mqtt.dupflag", "True")))});
  EXPECT_THAT(capture.events, SizeIs(1));
  EXPECT_THAT(capture.unknown, ElementsAre("1 messages with the flag DUP were left out"));
}

TEST(PdmlReader, TakesTheClientIdThatTheBrokerAssigns) {
  const Capture capture =
      capture_of({packet(connect("")),
                  packet(control(2, properties(property(0x12, hex("given")))), {.to_store = false}),
                  packet(publish(kRequests))});
  const auto& seen = std::get<CapturedMessage>(capture.events.at(0));
  EXPECT_EQ(seen.client_id, "given");
  EXPECT_TRUE(seen.client_known);
}

TEST(PdmlReader, DerivesTheClientWhereTheBeginIsMissing) {
  const Capture capture = capture_of({packet(publish(kRequests, property(8, hex("clients/me/r")))),
                                      packet(publish("clients/me/r"), {.to_store = false}),
                                      packet(control(2, ""), {.to_store = false, .stream = 1})});
  ASSERT_THAT(capture.events, SizeIs(2));
  const auto& request = std::get<CapturedMessage>(capture.events[0]);
  EXPECT_EQ(request.client_id, "me");
  EXPECT_FALSE(request.client_known);
  EXPECT_THAT(capture.unknown, ElementsAre(HasSubstr("derived from response topics")));
}

TEST(PdmlReader, TellsTheEndOfAConnectionOnceAndWhoseItWas) {
  const std::string fin = shown("tcp.flags.fin", "True");
  const std::string reset = shown("tcp.flags.reset", "1");
  const Capture capture =
      capture_of({packet(connect("a")), packet(connect("b"), {.stream = 1}),
                  packet(connect("d"), {.stream = 2}), packet("", {.flags = fin}),
                  packet("", {.to_store = false, .flags = fin}),
                  packet("", {.to_store = false, .stream = 1, .flags = reset}),
                  packet(control(14, ""), {.to_store = false, .stream = 2}),
                  packet("", {.stream = 7, .flags = fin})});  // nobody's
  std::vector<std::pair<std::string, bool>> ends;
  for (const CapturedEvent& event : capture.events) {
    const auto& ended = std::get<CapturedConnection>(event);
    EXPECT_FALSE(ended.begins);
    ends.emplace_back(ended.client_id, ended.by_store);
  }
  EXPECT_THAT(ends, ElementsAre(Pair("a", false), Pair("b", true), Pair("d", true)));
}

TEST(PdmlReader, PassesOverWhatIsNoPacketOfTheBroker) {
  const std::string of_others = R"(<packet><proto name="geninfo">)" + field("timestamp", "1") +
                                R"(</proto><proto name="tcp">)" + shown("tcp.srcport", "80") +
                                shown("tcp.dstport", "81") + "</proto>" + publish(kRequests) +
                                "</packet>";
  const Capture capture =
      capture_of({"<?xml?><pdml>", "<packet></packet>", of_others,
                  packet(publish(kRequests), {.time = "soon"}), "</packet>", "<packet"});
  EXPECT_THAT(capture.events, IsEmpty());
  EXPECT_THAT(capture.unknown,
              ElementsAre("there is no MQTT to or from port 1883 in the capture (TLS cannot be "
                          "read)"));
}

TEST(PdmlReader, ReadsPiecesOfAnySize) {
  const std::string all = "<pdml>" + packet(connect("c")) + packet(publish(kRequests)) +
                          packet(publish(kRequests)) + "</pdml>";
  for (std::size_t size = 1; size < all.size(); size += 5) {
    PdmlReader reader(1883);
    for (std::size_t at = 0; at < all.size(); at += size) {
      ASSERT_TRUE(reader.add(std::string_view(all).substr(at, size)));
    }
    ASSERT_THAT(reader.finish().events, SizeIs(2)) << size;
  }
}

TEST(PdmlReader, RefusesWhatIsNoXmlAndKeepsWhatCameBefore) {
  PdmlReader reader(1883);
  const auto added = reader.add(packet(publish(kRequests)) + "<packet><proto></packet>");
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error(), HasSubstr("not what tshark writes: "));
  EXPECT_THAT(reader.finish().events, SizeIs(1));
}

TEST(PdmlReader, RefusesAPacketWithoutAnEnd) {
  PdmlReader reader(1883);
  const std::string some(std::size_t{16} << 20U, ' ');
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(reader.add(some));
  const auto added = reader.add(" ");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error(), "a packet is larger than this program takes");
}

}  // namespace
}  // namespace fencepost::record
