#include "traffic/record/capture_pcap.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/topics.h"
#include "endpoint/wire/packet.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Kind = TcpEvent::Kind;
using wire::PropertyId;

const std::string kRequests(codec::kRequestTopic);

std::string bytes_of(const wire::Packet& packet) { return *wire::encode(packet); }

std::string connect(const std::string& client) {
  return bytes_of(wire::Connect{.client_id = client});
}

std::string publish(const std::string& topic, std::vector<wire::Property> properties = {}) {
  wire::Publish out{.qos = 1, .packet_id = 7, .topic = topic, .payload = std::string("*\0", 2)};
  for (wire::Property& each : properties) out.properties.add(std::move(each));
  return bytes_of(out);
}

wire::Property alias(std::uint32_t number) {
  return {.id = PropertyId::kTopicAlias, .number = number};
}

wire::Property response_topic(const std::string& topic) {
  return {.id = PropertyId::kResponseTopic, .text = topic};
}

TcpEvent up(const std::string& bytes, std::uint64_t connection = 1, std::int64_t time = 10) {
  return {connection, Kind::kBytes, true, microseconds{time}, bytes};
}

TcpEvent down(const std::string& bytes, std::uint64_t connection = 1) {
  return {connection, Kind::kBytes, false, microseconds{10}, bytes};
}

TcpEvent lost(bool to_broker) { return {1, Kind::kLost, to_broker}; }

Capture capture_of(const std::vector<TcpEvent>& events) {
  PcapMessages messages(1883);
  for (const TcpEvent& each : events) messages.add(each);
  return messages.finish();
}

const codec::Message& message_at(const Capture& capture, std::size_t index) {
  return std::get<CapturedMessage>(capture.events.at(index)).message;
}

TEST(PcapMessages, ReadsARequestWithAllItsProperties) {
  wire::Publish all{.qos = 1, .retain = true, .packet_id = 7, .topic = kRequests, .payload = "*"};
  all.properties.add(PropertyId::kPayloadFormat, 1);
  all.properties.add(PropertyId::kMessageExpiry, 60);
  all.properties.add(PropertyId::kContentType, "text");
  all.properties.add(response_topic("clients/c/r"));
  all.properties.add(PropertyId::kCorrelationData, std::string("\0\xff", 2));
  all.properties.add_user("a", "b");
  all.properties.add_user("", "without a key");
  const Capture capture = capture_of({up(connect("c")), up(bytes_of(all), 1, 11'250'000)});
  ASSERT_THAT(capture.events, SizeIs(1));
  const auto& seen = std::get<CapturedMessage>(capture.events[0]);
  EXPECT_EQ(seen.direction, CaptureDirection::kToStore);
  EXPECT_EQ(seen.client_id, "c");
  EXPECT_TRUE(seen.client_known);
  EXPECT_EQ(seen.time, microseconds{11'250'000});
  const codec::Message& message = seen.message;
  EXPECT_EQ(message.topic, kRequests);
  EXPECT_EQ(message.payload, "*");
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

TEST(PcapMessages, ReadsTopicAliasesOfEachDirectionAndConnection) {
  const Capture capture = capture_of(
      {up(publish(kRequests, {alias(1)}) + publish("", {alias(1)})),  // two in one segment
       up(publish("", {alias(2)})),                                   // never said what it is
       down(publish("reply", {alias(1)})), down(publish("", {alias(1)})),
       up(publish("", {alias(1)}), 2)});
  ASSERT_THAT(capture.events, SizeIs(4));
  EXPECT_EQ(message_at(capture, 1).topic, kRequests);
  EXPECT_EQ(message_at(capture, 2).topic, "reply");
  EXPECT_EQ(message_at(capture, 3).topic, "reply");
  EXPECT_EQ(std::get<CapturedMessage>(capture.events[3]).direction, CaptureDirection::kToClient);
}

TEST(PcapMessages, LeavesOutWhatIsNotOfTheStore) {
  const std::string theirs = *codec::notification_topic("other", "k");
  const std::string own = *codec::notification_topic("c", "k");
  const Capture capture =
      capture_of({up(connect("c")), up(publish("telemetry")),
                  down(publish(kRequests)),  // a subscriber of requests
                  down(publish(theirs)), down(publish(own)), up(bytes_of(wire::Pingreq{}))});
  ASSERT_THAT(capture.events, SizeIs(1));
  EXPECT_EQ(message_at(capture, 0).topic, own);
}

TEST(PcapMessages, CountsWhatWasSentAgain) {
  const Capture capture =
      capture_of({up(publish(kRequests)),
                  up(bytes_of(wire::Publish{
                      .duplicate = true, .qos = 1, .packet_id = 7, .topic = kRequests}))});
  EXPECT_THAT(capture.events, SizeIs(1));
  EXPECT_THAT(capture.unknown, ElementsAre("1 message with the DUP flag: left out"));
}

TEST(PcapMessages, TakesTheClientIdThatTheBrokerAssigns) {
  wire::Connack connack;
  connack.properties.add(PropertyId::kAssignedClientId, "given");
  const Capture capture =
      capture_of({up(connect("")), down(bytes_of(connack)), up(publish(kRequests))});
  const auto& seen = std::get<CapturedMessage>(capture.events.at(0));
  EXPECT_EQ(seen.client_id, "given");
  EXPECT_TRUE(seen.client_known);
}

TEST(PcapMessages, DerivesTheClientWhereTheBeginIsMissing) {
  const Capture capture =
      capture_of({lost(true), lost(false), up(publish(kRequests, {response_topic("clients/me/r")})),
                  down(publish("clients/me/r")), down(bytes_of(wire::Connack{}), 2)});
  ASSERT_THAT(capture.events, SizeIs(2));
  const auto& request = std::get<CapturedMessage>(capture.events[0]);
  EXPECT_EQ(request.client_id, "me");
  EXPECT_FALSE(request.client_known);
  EXPECT_TRUE(capture.sees_replies);
  EXPECT_THAT(capture.unknown, ElementsAre(HasSubstr("derived from response topics")));
}

TEST(PcapMessages, TellsTheEndOfAConnectionOnceAndWhoseItWas) {
  const auto event = [](std::uint64_t connection, Kind kind, bool to_broker) {
    return TcpEvent{connection, kind, to_broker};
  };
  const Capture capture = capture_of(
      {up(connect("a"), 1, 0), up(connect("b"), 2, 0), up(connect("d"), 3, 0),
       event(1, Kind::kEnding, true), event(1, Kind::kEnding, false),
       event(1, Kind::kClosed, false), event(2, Kind::kClosed, false),
       down(bytes_of(wire::Disconnect{}), 3), event(7, Kind::kEnding, true)});  // nobody's
  std::vector<std::pair<std::string, bool>> ends;
  for (const CapturedEvent& each : capture.events) {
    const auto& ended = std::get<CapturedConnection>(each);
    EXPECT_FALSE(ended.begins);
    ends.emplace_back(ended.client_id, ended.by_store);
  }
  EXPECT_THAT(ends, ElementsAre(Pair("a", false), Pair("b", true), Pair("d", true)));
}

TEST(PcapMessages, ReadsPacketsThatAreInPiecesOfAnySize) {
  const std::string all = connect("c") + publish(kRequests) + publish(kRequests);
  for (std::size_t size = 1; size < all.size(); size += 5) {
    std::vector<TcpEvent> pieces;
    for (std::size_t at = 0; at < all.size(); at += size)
      pieces.push_back(up(all.substr(at, size)));
    ASSERT_THAT(capture_of(pieces).events, SizeIs(2)) << size;
  }
}

TEST(PcapMessages, ReadsOnAtTheNextWholePacketWhereBytesAreMissing) {
  const std::string request = publish(kRequests, {alias(1)});
  const std::size_t half = request.size() / 2;
  const Capture capture =
      capture_of({up(connect("c")), up(request), up(request.substr(0, half)), lost(true),
                  up(request.substr(half)),     // of what is missing
                  up(request.substr(0, half)),  // may be a packet's begin, and may be not
                  up(request.substr(half)),     // so
                  up(publish("", {alias(1)})),  // may stand for another topic by now
                  up(request + request.substr(0, half)), up(request.substr(half))});
  EXPECT_THAT(capture.events, SizeIs(3));
  EXPECT_FALSE(capture.sees_replies);
  EXPECT_FALSE(capture.sees_notifications);
  EXPECT_THAT(
      capture.unknown,
      ElementsAre("1 gap with missing bytes: messages that were not seen may have been there"));
}

TEST(PcapMessages, PutsMessagesInTheOrderOfTheirTimes) {
  const Capture capture =
      capture_of({up(connect("c")), up(publish(kRequests), 1, 30), up(publish(kRequests), 2, 20),
                  up(publish(kRequests), 1, 30)});
  std::vector<std::int64_t> times;
  for (const CapturedEvent& each : capture.events) times.push_back(time_of(each).count());
  EXPECT_THAT(times, ElementsAre(20, 30, 30));
}

TEST(PcapMessages, LeavesOutWhatIsNoMqtt5) {
  const std::string older = "\x10\x0d" + std::string("\0\4MQTT\4\2\0\0\0\1c", 13);
  const Capture capture =
      capture_of({up(older), up(publish(kRequests)), up(publish(kRequests)),  // of its version
                  up(connect("c"), 2), up("\xf7\x7f", 2), up("0000", 2)});
  EXPECT_THAT(capture.events, IsEmpty());
  EXPECT_THAT(capture.unknown, ElementsAre("1 connection with an older version of MQTT: left out",
                                           "1 malformed packet of MQTT 5: left out"));
  EXPECT_THAT(capture_of({}).unknown,
              ElementsAre("the capture has no MQTT 5 to or from port 1883 (TLS cannot be read)"));
}

}  // namespace
}  // namespace fencepost::record
