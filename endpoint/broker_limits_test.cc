// A broker that limits its packets, and one that is restarted.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/resp3.h"
#include "codec/topics.h"
#include "endpoint/broker_process.h"
#include "endpoint/mqtt.h"
#include "endpoint/packet_size.h"
#include "endpoint/test_driver.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using codec::Message;
using ::testing::HasSubstr;

// A limit for what must happen; nothing waits that long.
constexpr Duration kPatience = 300s;  // a limit for what must happen; nothing waits that long
constexpr const char* kTopic = "replies/c";

// A broker with an endpoint in front of it, which can restart it.
struct World {
  explicit World(const BrokerOptions& broker_options = {})
      : broker(take(BrokerProcess::start(broker_options))) {
    MqttOptions options = options_for(broker->port());
    options.hooks["restart"] = [this]() -> Result<void, Error> {
      if (auto done = broker->restart(); !done) {
        return fail(Error{ErrorKind::kInternal, done.error().text});
      }
      return {};
    };
    endpoint = make_mqtt_endpoint(std::move(options));
    session = take(endpoint->open_session());
  }

  std::unique_ptr<Client> connect(const std::string& id) {
    auto client = take(session->connect({.client_id = id}));
    if (const auto done = client->subscribe(kTopic); !done) {
      throw std::runtime_error(done.error().text);
    }
    return client;
  }

  std::unique_ptr<BrokerProcess> broker;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Session> session;
};

Message set_of(std::size_t value_size) {
  Message message;
  message.topic = std::string(codec::kRequestTopic);
  message.payload = codec::encode_command({"SET", "k", std::string(value_size, 'x')});
  message.response_topic = kTopic;
  message.correlation_data = "id";
  message.user_properties = {{"__ts", "1:0:c"}};
  return message;
}

// A SET whose packet has exactly this size.
Message set_of_packet_size(std::size_t size) {
  Message message = set_of(size / 2);
  return set_of(size / 2 + size - publish_packet_size(message));
}

// The payload of the answer, or what came instead.
std::string answer(Client& client, const Message& message) {
  if (const auto sent = client.publish(message); !sent) return sent.error().text;
  const auto event = client.receive(kPatience);
  if (!event) return "nothing";
  const auto* received = std::get_if<MessageReceived>(&event->what);
  return received == nullptr ? "disconnected" : received->message.payload;
}

TEST(BrokerLimits, APacketMayBeAsLargeAsTheBrokerAnnounces) {
  World world({.max_packet_size = 5'000});
  const auto client = world.connect("c");
  ASSERT_EQ(client->packet_limit(), 5'000U);
  const Message largest = set_of_packet_size(5'000);
  ASSERT_EQ(publish_packet_size(largest), 5'000U);
  EXPECT_EQ(answer(*client, largest), "+OK\r\n");
}

TEST(BrokerLimits, ALargerPacketEndsTheConnection) {
  World world({.max_packet_size = 5'000});
  const auto client = world.connect("c");
  // mosquitto does not count the two bytes of the remaining length.
  EXPECT_EQ(answer(*client, set_of_packet_size(5'003)), "disconnected");
  EXPECT_EQ(answer(*world.connect("d"), set_of(1)), "+OK\r\n");
}

TEST(BrokerLimits, ThereIsNoneUnlessAskedFor) {
  World world;
  EXPECT_EQ(world.connect("c")->packet_limit(), std::nullopt);
}

TEST(BrokerRestart, EndsEveryConnectionAndKeepsThePort) {
  World world;
  const auto client = world.connect("c");
  ASSERT_EQ(answer(*client, set_of(1)), "+OK\r\n");
  const std::uint16_t port = world.broker->port();
  const pid_t pid = world.broker->pid();
  EXPECT_THAT(world.endpoint->capabilities().disturbances, testing::ElementsAre("restart"));
  ASSERT_TRUE(world.session->disturb({kRestartOfBroker, "again"}));
  EXPECT_EQ(world.broker->port(), port);
  EXPECT_NE(world.broker->pid(), pid);
  const auto event = client->receive(kPatience);
  ASSERT_TRUE(event);
  EXPECT_TRUE(std::holds_alternative<Disconnected>(event->what));
  EXPECT_EQ(answer(*world.connect("c"), set_of(1)), "+OK\r\n");
}

std::vector<ClientOptions> clients_numbered_to(std::size_t count) {
  std::vector<ClientOptions> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({.client_id = "c" + std::to_string(i)});
  return out;
}

TEST(ConnectAll, BeginsNoneWhenOneHasFailed) {
  World world;
  constexpr std::size_t kClients = 200;
  constexpr std::size_t kFails = 7;
  std::atomic<std::size_t> asked{0};
  std::latch failing(1);
  const auto made = world.session->connect_all(
      clients_numbered_to(kClients),
      [&](std::size_t number, Client& /*client*/) -> Result<void, Error> {
        ++asked;
        if (number > kFails) failing.wait();
        if (number != kFails) return {};
        failing.count_down();
        return fail(Error{ErrorKind::kLost, "not this one"});
      });
  ASSERT_EQ(made.size(), kClients);
  const auto first = std::find_if(made.begin(), made.end(), [](const auto& one) { return !one; });
  ASSERT_EQ(first - made.begin(), kFails);
  EXPECT_EQ(first->error().text, "not this one");
  EXPECT_FALSE(made.back());
  EXPECT_LT(asked, kClients);
}

TEST(ConnectAll, GivesEachItsOwnResultInOrder) {
  World world;
  constexpr std::size_t kClients = 40;
  const std::vector<ClientOptions> all = clients_numbered_to(kClients);
  const auto made = world.session->connect_all(all, [](std::size_t number, Client& client) {
    return client.subscribe("to/" + std::to_string(number));
  });
  ASSERT_EQ(made.size(), kClients);
  const auto sender = world.connect("sender");
  for (std::size_t i = 0; i < kClients; ++i) {
    ASSERT_TRUE(made[i]) << made[i].error().text;
    ASSERT_TRUE(sender->publish({.topic = "to/" + std::to_string(i), .payload = all[i].client_id}));
    const auto event = (*made[i])->receive(kPatience);
    ASSERT_TRUE(event);
    ASSERT_TRUE(std::holds_alternative<MessageReceived>(event->what));
    EXPECT_EQ(std::get<MessageReceived>(event->what).message.payload, all[i].client_id);
  }
}

// The kernel ends a child together with the thread that has started it, unless configured
// otherwise.
TEST(BrokerRestart, OutlivesTheThreadThatAskedForIt) {
  World world;
  std::thread([&] { ASSERT_TRUE(world.session->disturb({kRestartOfBroker, "again"})); }).join();
  EXPECT_EQ(answer(*world.connect("c"), set_of(1)), "+OK\r\n");
  EXPECT_TRUE(world.broker->running());
}

TEST(BrokerRestart, IsRefusedByAnEndpointThatCannot) {
  const auto endpoint = make_mqtt_endpoint({});
  const auto refused = take(endpoint->open_session())->disturb({kRestartOfBroker, "again"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
}

TEST(BrokerRestart, SaysWhyTheBrokerDoesNotComeBack) {
  World world;
  MqttOptions options = options_for(world.broker->port());
  options.hook_timeout = Duration{0};
  options.hooks["restart"] = [&]() -> Result<void, Error> {
    world.broker->stop();
    return {};
  };
  const auto endpoint = make_mqtt_endpoint(std::move(options));
  const auto gone = take(endpoint->open_session())->disturb({kRestartOfBroker, "again"});
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().text, HasSubstr("cannot connect to "));
}

}  // namespace
}  // namespace fencepost::endpoint
