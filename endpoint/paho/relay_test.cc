// What Paho lacks, and must not get, is the relay's: each test is of one thing that ended or slowed
// down a run.
#include "endpoint/paho/relay.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/echo_broker.h"
#include "endpoint/mqtt.h"
#include "endpoint/paho/inbox.h"
#include "endpoint/socket.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// A limit for what must happen; nothing waits that long.
constexpr std::chrono::milliseconds kRelayPatience = 300s;

const std::string kPublishOut = "\x32\7\0\1t\0\1\0v"s;  // QoS 1, id 1
const std::string kPubackIn = "\x40\2\0\1"s;
const std::string kPublishIn = "\x30\5\0\1t\0v"s;
const std::string kPubcompIn = "\x70\2\0\1"s;

std::string read_from(const Socket& socket, std::size_t bytes) {
  return exchange(socket, "", bytes, kRelayPatience).value_or("the end");
}

void write_to(const Socket& socket, const std::string& bytes) {
  EXPECT_TRUE(exchange(socket, bytes, 0, kRelayPatience));
}

// A client and a broker with a relay between them: sockets, in the place of both.
class Relay : public ::testing::Test {
 protected:
  Relay() {
    std::uint16_t port = 0;
    const Socket listener = listen_on_free_port(port);
    options_.host = "127.0.0.1";
    options_.port = port;
    auto stream = Stream::connect(options_, nullptr, kRelayPatience);
    if (!stream) throw std::runtime_error(stream.error());
    broker = std::make_unique<Socket>(accept(listener.descriptor(), nullptr, nullptr));
    relay = PahoRelay::start(std::move(*stream), loop_).value();
    client =
        std::make_unique<Socket>(connect_tcp("127.0.0.1", relay->port(), kRelayPatience).value());
  }
  ~Relay() override {
    broker.reset();
    client.reset();
    relay->end();
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  std::unique_ptr<Socket> broker;
  std::unique_ptr<Socket> client;
  std::shared_ptr<PahoRelay> relay;

 private:
  MqttOptions options_;
  PollLoop loop_;
};

TEST_F(Relay, PassesOnWhatBothSay) {
  write_to(*client, kPublishOut);
  EXPECT_EQ(read_from(*broker, kPublishOut.size()), kPublishOut);
  write_to(*broker, kPubackIn + kPublishIn);
  EXPECT_EQ(read_from(*client, 11), kPubackIn + kPublishIn);
  EXPECT_EQ(relay->why(), "");
}

// With Nagle's algorithm and delayed acknowledgements the second of two small packets comes 40 ms
// after the first: Paho has no other sockets, and many a broker neither.
TEST_F(Relay, HoldsNothingUpWhereBothLeaveNaglesAlgorithmOn) {
  EXPECT_FALSE(is_held_up([&](std::size_t /*number*/) {
    write_to(*client, kPublishOut.substr(0, 4));
    write_to(*client, kPublishOut.substr(4));
    read_from(*broker, kPublishOut.size());
    for (const std::string& part : {kPubackIn, kPublishIn}) write_to(*broker, part);
    ASSERT_EQ(read_from(*client, 11), kPubackIn + kPublishIn);
  }));
}

// Paho frees the message of a PUBLISH twice when it learns from the write that the connection is
// gone, which a killed broker brings about once in many runs.
TEST_F(Relay, TakesWhatIsWrittenAfterTheBrokerIsGone) {
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(broker->descriptor(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  broker.reset();
  EXPECT_EQ(read_from(*client, 1), "the end");
  for (int i = 0; i < 100; ++i) write_to(*client, kPublishOut);
}

// Paho continues with a partial write in another thread, and crashes there once in many runs on a
// network that loses packets.
TEST_F(Relay, TakesAllThatIsWrittenWhileTheBrokerReadsNothing) {
  std::string packet = "\x30"s;                            // of QoS 0
  constexpr std::size_t kLength = std::size_t{24} << 20U;  // more than the buffers of sockets hold
  for (std::size_t left = kLength; left > 0; left >>= 7U) {
    packet += static_cast<char>((left & 0x7fU) | (left > 0x7fU ? 0x80U : 0U));
  }
  packet += "\0\1t\0"s;
  packet.resize(5 + kLength, 'v');
  write_to(*client, packet);
  std::string got;
  std::string part(1U << 20U, '\0');
  while (got.size() < packet.size()) {
    const ssize_t count = recv(broker->descriptor(), part.data(), part.size(), 0);
    ASSERT_GT(count, 0);
    got.append(part, 0, static_cast<std::size_t>(count));
  }
  EXPECT_TRUE(got == packet);
}

TEST_F(Relay, KeepsFromTheClientWhatTheGuardRefuses) {
  write_to(*client, kPublishOut);
  read_from(*broker, kPublishOut.size());
  write_to(*broker, kPubcompIn);
  EXPECT_EQ(read_from(*client, 1), "the end");
  EXPECT_EQ(relay->why(), "a PUBCOMP for no PUBLISH of QoS 2");
  EXPECT_EQ(read_from(*broker, 1), "the end");
}

TEST_F(Relay, TheBrokerGetsWhatWasWrittenBeforeACut) {
  write_to(*client, kPublishOut);
  EXPECT_EQ(read_from(*broker, kPublishOut.size()), kPublishOut);
  write_to(*client, kPublishOut);
  relay->cut();
  EXPECT_EQ(read_from(*broker, kPublishOut.size()), kPublishOut);
  EXPECT_EQ(read_from(*broker, 1), "the end");
  EXPECT_EQ(read_from(*client, 1), "the end");
}

TEST_F(Relay, TheBrokerGetsWhatWasWrittenBeforeTheEnd) {
  write_to(*client, kPublishOut);
  EXPECT_EQ(read_from(*broker, kPublishOut.size()), kPublishOut);
  write_to(*client, "\xe0\0"s);  // DISCONNECT
  client.reset();
  EXPECT_EQ(read_from(*broker, 2), "\xe0\0"s);
  EXPECT_EQ(read_from(*broker, 1), "the end");
}

TEST(Inbox, KeepsTheOrderAndGivesUpInTime) {
  constexpr int kEvents = 1000;
  Inbox inbox;
  const auto producer = std::async(std::launch::async, [&inbox] {
    for (int i = 0; i < kEvents; ++i) inbox.push({Disconnected{i}, Duration{i}});
  });
  for (int i = 0; i < kEvents; ++i) {
    const auto event = inbox.pop(kRelayPatience);
    ASSERT_TRUE(event);
    ASSERT_EQ(event->time, Duration{i});
  }
  EXPECT_FALSE(inbox.pop(0us));
  EXPECT_FALSE(inbox.pop(1ms));
}

}  // namespace
}  // namespace fencepost::endpoint
