// The computed size of a PUBLISH against the bytes that the client library really writes.
#include "endpoint/packet_size.h"

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "codec/topics.h"
#include "endpoint/mqtt.h"
#include "endpoint/paho/inbox.h"
#include "endpoint/socket.h"
#include "endpoint/test_driver.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using codec::Message;

// A limit for what must happen; nothing waits that long.
constexpr std::chrono::milliseconds kPatience = 300s;

std::string bytes(std::size_t count) { return std::string(count, 'x'); }

// --- a broker that weighs what it is sent

// A packet of a connection: its first byte, and the size of the whole.
struct Packet {
  int first_byte = 0;
  std::size_t size = 0;
  std::string beginning;  // of its body
};

class Scales {
 public:
  // `connack` stands behind the fixed header of the CONNACK.
  explicit Scales(std::string connack)
      : connack_(std::move(connack)), listener_(listen_on_free_port(port_)) {
    thread_ = std::thread([this] { serve(); });
  }
  ~Scales() {
    shutdown(listener_.descriptor(), SHUT_RDWR);  // ends an accept() that nobody answered
    thread_.join();
  }
  Scales(const Scales&) = delete;
  Scales& operator=(const Scales&) = delete;

  std::unique_ptr<Client> connect(std::optional<std::uint32_t> described = {}) {
    MqttOptions options = options_for(port_);
    options.capabilities.max_packet_size = described;
    endpoint_ = make_mqtt_endpoint(std::move(options));
    session_ = endpoint_->open_session().value();
    auto client = session_->connect({.client_id = "weighed"});
    if (!client) throw std::runtime_error(client.error().text);
    return std::move(*client);
  }

  // The size of the next PUBLISH that arrives; 0 when none does.
  std::size_t weigh() {
    const auto event = sizes_.pop(kPatience);
    return event ? static_cast<std::size_t>(event->time.count()) : 0;
  }

 private:
  // Reads byte by byte, as a broker would: no arithmetic of the code under test is used.
  static std::optional<Packet> read_packet(const Socket& client) {
    Packet packet;
    const auto first = exchange(client, "", 1, kPatience);
    if (!first) return std::nullopt;
    packet.first_byte = static_cast<unsigned char>(first->front());
    packet.size = 1;
    std::size_t remaining = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = exchange(client, "", 1, kPatience);
      if (!byte) return std::nullopt;
      ++packet.size;
      const auto value = static_cast<unsigned char>(byte->front());
      remaining |= static_cast<std::size_t>(value & 0x7fU) << shift;
      if ((value & 0x80U) == 0) break;
    }
    auto body = exchange(client, "", remaining, kPatience);
    if (!body) return std::nullopt;
    packet.size += body->size();
    packet.beginning = body->substr(0, 4);
    return packet;
  }

  void serve() {
    const Socket client(accept(listener_.descriptor(), nullptr, nullptr));
    if (client.descriptor() < 0) return;
    while (const auto packet = read_packet(client)) {
      const int type = packet->first_byte & 0xf0;
      if (type == 0x10) {
        const std::string size(1, static_cast<char>(connack_.size()));
        if (!exchange(client, "\x20" + size + connack_, 0, kPatience)) return;
      }
      if (type == 0x30) sizes_.push({Disconnected{}, Duration{static_cast<long>(packet->size)}});
      if (type == 0xe0) return;
    }
  }

  std::string connack_;
  Inbox sizes_;  // a size stands in the place of the time
  std::uint16_t port_ = 0;
  Socket listener_;
  std::thread thread_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Session> session_;
};

const std::string kPlainConnack("\0\0\0", 3);

// --- sizes

// A message of each shape that the suite sends, and sizes around the places where a length takes
// one byte more.
std::vector<Message> shapes() {
  std::vector<Message> out;
  out.push_back({.topic = "t", .payload = ""});
  out.push_back({.topic = "t", .payload = "v", .qos = 0});
  out.push_back({.topic = "t", .payload = "v", .qos = 2, .retain = true});
  out.push_back({.topic = std::string(codec::kRequestTopic),
                 .payload = bytes(40),
                 .response_topic = "clients/c/response",
                 .correlation_data = std::string("\0\1\2\xff", 4),
                 .content_type = "application/octet-stream",
                 .payload_format = std::uint8_t{0},
                 .expiry_seconds = 10,
                 .user_properties = {{"__ts", "001767225600000:00000:c"}, {"__ft", ""}}});
  out.push_back({.topic = "t", .payload = "", .correlation_data = ""});
  out.push_back(
      {.topic = "t", .payload = "", .user_properties = {{"", ""}, {"a", "b"}, {"a", ""}}});
  // Remaining length 127 and 128: topic 3, packet identifier 2, length of the properties 1.
  for (const std::size_t size : {121U, 122U, 123U, 16'377U, 16'378U, 2'097'145U, 2'097'146U}) {
    out.push_back({.topic = "t", .payload = bytes(size)});
  }
  // Properties of 127 and 128 bytes, and of 16,383 and 16,384.
  for (const std::size_t size : {124U, 125U, 16'380U, 16'381U}) {
    out.push_back({.topic = "t", .payload = "v", .correlation_data = bytes(size)});
  }
  out.push_back({.topic = bytes(65'535), .payload = "v"});
  return out;
}

TEST(PacketSize, IsWhatTheClientLibraryWrites) {
  Scales scales(kPlainConnack);
  const std::unique_ptr<Client> client = scales.connect();
  std::size_t at = 0;
  for (const Message& message : shapes()) {
    if (message.qos == 2) continue;  // a handshake of four packets, which this broker does not know
    SCOPED_TRACE(at++);
    ASSERT_TRUE(client->publish(message));
    EXPECT_EQ(publish_packet_size(message), scales.weigh());
  }
}

// By hand: each line of the specification once.
TEST(PacketSize, CountsWhatTheSpecificationSays) {
  EXPECT_EQ(publish_packet_size({.topic = "t", .payload = "v"}), 2U + 3U + 2U + 1U + 1U);
  EXPECT_EQ(publish_packet_size({.topic = "t", .payload = "v", .qos = 0}), 2U + 3U + 1U + 1U);
  EXPECT_EQ(publish_packet_size({.topic = "t", .payload = "v", .qos = 2}), 2U + 3U + 2U + 1U + 1U);
  EXPECT_EQ(publish_packet_size({.topic = "", .payload = "", .payload_format = std::uint8_t{1}}),
            2U + 2U + 2U + 1U + 2U);
  EXPECT_EQ(publish_packet_size({.topic = "", .payload = "", .expiry_seconds = 1}),
            2U + 2U + 2U + 1U + 5U);
  EXPECT_EQ(publish_packet_size({.topic = "", .payload = "", .user_properties = {{"ab", "c"}}}),
            2U + 2U + 2U + 1U + (1U + 2U + 2U + 2U + 1U));
}

// One byte more in the packet adds a second one where its length takes another byte.
TEST(PacketSize, GrowsByTwoWhereTheLengthDoes) {
  const auto size = [](std::size_t payload) {
    return publish_packet_size({.topic = "t", .payload = bytes(payload)});
  };
  const std::size_t around = 6;  // topic, packet identifier, length of the properties
  EXPECT_EQ(size(127 - around), 129U);
  EXPECT_EQ(size(128 - around), 131U);
  EXPECT_EQ(size(16'383 - around), 16'386U);
  EXPECT_EQ(size(16'384 - around), 16'388U);
  EXPECT_EQ(size(2'097'151 - around), 2'097'155U);
  EXPECT_EQ(size(2'097'152 - around), 2'097'157U);
}

// --- what the broker says of it

// Properties of 5 bytes: 0x27, Maximum Packet Size.
const std::string kLimitingConnack("\0\0\5\x27\x00\x01\x86\xa0", 8);

TEST(PacketLimit, IsWhatTheBrokerAnnounces) {
  EXPECT_EQ(Scales(kLimitingConnack).connect()->packet_limit(), 100'000U);
  EXPECT_EQ(Scales(kLimitingConnack).connect(200'000)->packet_limit(), 100'000U);
}

// MQTT 5, 3.2.2.3.4.
TEST(MaximumQos, KeepsWhatTheBrokerDoesNotTakeFromBeingSent) {
  const auto refused =
      Scales(std::string("\0\0\2\x24\0", 5)).connect()->publish({.topic = "t", .qos = 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kNotAllowed);
}

TEST(PacketLimit, IsTheDescribedOneOfABrokerThatDoesNotSay) {
  EXPECT_EQ(Scales(kPlainConnack).connect(200'000)->packet_limit(), 200'000U);
  EXPECT_EQ(Scales(kPlainConnack).connect()->packet_limit(), std::nullopt);
}

}  // namespace
}  // namespace fencepost::endpoint
