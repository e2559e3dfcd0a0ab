// A broker whose store is slow and whose clock is not ours, over real MQTT.
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/resp3.h"
#include "codec/topics.h"
#include "endpoint/broker_process.h"
#include "endpoint/mqtt.h"
#include "endpoint/test_driver.h"
#include "hlc/hlc.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using codec::Message;
using ::testing::ElementsAre;
using ::testing::StartsWith;

using Arguments = std::vector<std::string_view>;

// A limit for what must happen; nothing waits that long.
constexpr Duration kPatience = 300s;
constexpr const char* kOk = "+OK\r\n";

// A broker with an endpoint in front of it.
struct World {
  explicit World(const Conditions& conditions)
      : broker(take(BrokerProcess::start({.conditions = conditions}))) {
    endpoint = make_mqtt_endpoint(options_for(broker->port()));
    session = take(endpoint->open_session());
  }

  // A client that receives its responses.
  std::unique_ptr<Client> connect(const std::string& id) {
    auto client = take(session->connect({.client_id = id}));
    if (const auto done = client->subscribe("replies/" + id); !done) {
      throw std::runtime_error(done.error().text);
    }
    return client;
  }

  [[nodiscard]] Duration now() const { return session->clock().now(); }
  [[nodiscard]] std::int64_t wall_ms() const {
    return static_cast<std::int64_t>(session->clock().wall_ms());
  }

  std::unique_ptr<BrokerProcess> broker;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Session> session;
};

void send(Client& client, const std::string& id, const Arguments& arguments) {
  Message message;
  message.topic = std::string(codec::kRequestTopic);
  message.payload = codec::encode_command(arguments);
  message.response_topic = "replies/" + id;
  message.correlation_data = "id";
  message.user_properties = {{"__ts", "1:0:c"}};
  if (const auto sent = client.publish(message); !sent) {
    throw std::runtime_error(sent.error().text);
  }
}

Event receive(Client& client) {
  auto event = client.receive(kPatience);
  if (!event) throw std::runtime_error("nothing came");
  return std::move(*event);
}

const Message& message_of(const Event& event) {
  return std::get<MessageReceived>(event.what).message;
}

TEST(BrokerConditions, VersionsTellTheTimeOfTheStore) {
  for (const auto offset : {30s, -600s}) {
    World world({.clock_offset = offset});
    const auto client = world.connect("c");
    const std::int64_t before = world.wall_ms();
    send(*client, "c", {"SET", "k", "v"});
    const Event event = receive(*client);
    const std::int64_t after = world.wall_ms();
    ASSERT_EQ(message_of(event).payload, kOk);
    const auto version = hlc::parse(*message_of(event).property("__ts"));
    ASSERT_TRUE(version);
    const std::int64_t offset_ms = std::chrono::milliseconds(offset).count();
    EXPECT_GE(static_cast<std::int64_t>(version->wall_ms), before + offset_ms);
    EXPECT_LE(static_cast<std::int64_t>(version->wall_ms), after + offset_ms);
  }
}

TEST(BrokerConditions, ExpiryDoesNotDependOnTheClock) {
  World world({.clock_offset = -600s});
  const auto client = world.connect("c");
  send(*client, "c", {"KEYNOTIFY", "k"});
  EXPECT_EQ(message_of(receive(*client)).payload, kOk);
  const Duration start = world.now();
  send(*client, "c", {"SET", "k", "v", "PX", "100"});
  EXPECT_THAT(message_of(receive(*client)).payload, StartsWith("*4\r\n$6\r\nNOTIFY"));
  EXPECT_EQ(message_of(receive(*client)).payload, kOk);
  const Event event = receive(*client);
  EXPECT_EQ(message_of(event).payload, "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n");
  EXPECT_GE(event.time - start, 100ms);
}

TEST(BrokerConditions, AllThatTheStoreSendsIsLateAndInOrder) {
  World world({.response_delay = 100ms});
  const auto client = world.connect("c");
  const Duration start = world.now();
  send(*client, "c", {"KEYNOTIFY", "k"});
  send(*client, "c", {"SET", "k", "v", "PX", "1"});
  std::vector<std::string> received;
  for (int i = 0; i < 4; ++i) {
    const Event event = receive(*client);
    EXPECT_GE(event.time - start, 100ms);
    received.push_back(message_of(event).payload);
  }
  EXPECT_THAT(received, ElementsAre(kOk, StartsWith("*4\r\n$6\r\nNOTIFY"), kOk,
                                    StartsWith("*2\r\n$6\r\nNOTIFY")));
}

TEST(BrokerConditions, RequestsInFlightAreDelayedTogether) {
  constexpr int kRequests = 20;
  World world({.response_delay = 500ms});
  const auto client = world.connect("c");
  const Duration start = world.now();
  for (int i = 0; i < kRequests; ++i) send(*client, "c", {"GET", "k"});
  for (int i = 0; i < kRequests; ++i) EXPECT_EQ(message_of(receive(*client)).payload, "$-1\r\n");
  // A broker that slept would need ten seconds.
  EXPECT_LT(world.now() - start, kRequests * 500ms);
}

TEST(BrokerConditions, JitterKeepsTheOrderOfEachClient) {
  constexpr int kRequests = 100;
  World world({.response_jitter = 30ms});
  const auto a = world.connect("a");
  const auto b = world.connect("b");
  std::vector<std::string> values;
  for (int i = 0; i < kRequests; ++i) values.push_back(std::to_string(i));
  for (const std::string& value : values) {
    for (const auto& [client, id] : {std::pair{a.get(), "a"}, {b.get(), "b"}}) {
      send(*client, id, {"SET", id, value});
      send(*client, id, {"GET", id});
    }
  }
  for (const std::string& value : values) {
    const std::string expected = "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
    for (Client* client : {a.get(), b.get()}) {
      EXPECT_EQ(message_of(receive(*client)).payload, kOk);
      EXPECT_EQ(message_of(receive(*client)).payload, expected);
    }
  }
}

// They were for the connection that has ended, and the store keeps nothing for those who are gone.
TEST(BrokerConditions, NotificationsOnTheirWayDoNotReachTheNextConnection) {
  World world({.response_delay = 300ms});
  auto observer = world.connect("observer");
  const auto writer = world.connect("writer");
  send(*observer, "observer", {"KEYNOTIFY", "k"});
  EXPECT_EQ(message_of(receive(*observer)).payload, kOk);
  send(*writer, "writer", {"SET", "k", "v"});
  send(*writer, "writer", {"GET", "other"});
  observer->disconnect();
  observer = world.connect("observer");
  EXPECT_EQ(message_of(receive(*writer)).payload, kOk);
  EXPECT_EQ(message_of(receive(*writer)).payload,
            "$-1\r\n");  // the notification would be out by now
  send(*observer, "observer", {"GET", "k"});
  EXPECT_EQ(message_of(receive(*observer)).payload, "$1\r\nv\r\n");
}

}  // namespace
}  // namespace fencepost::endpoint
