// The client library at work: the delays that it has of its own are gone, and clients on many
// threads do not get in each other's way.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
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

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using codec::Message;
using std::chrono::steady_clock;
using ::testing::Each;
using ::testing::IsEmpty;

constexpr Duration kPatience = 20s;  // a limit for what must happen; nothing waits that long

double milliseconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

// A broker with an endpoint in front of it.
class Paho : public ::testing::Test {
 protected:
  Paho() {
    auto started = BrokerProcess::start({});
    if (!started) throw std::runtime_error(started.error().text);
    broker = std::move(*started);
    MqttOptions options;
    options.host = "127.0.0.1";
    options.port = broker->port();
    options.timeout = kPatience;
    endpoint = make_mqtt_endpoint(std::move(options));
    session = endpoint->open_session().value();
  }

  std::unique_ptr<BrokerProcess> broker;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Session> session;
};

// Asks for a key and returns what came back: the payload, or what went wrong. Throws nothing, so
// that it may run on any thread.
std::string ask(Client& client, const std::string& response_topic, const std::string& id) {
  Message request;
  request.topic = std::string(codec::kRequestTopic);
  request.payload = codec::encode_command({"GET", "k"});
  request.response_topic = response_topic;
  request.correlation_data = id;
  if (const auto sent = client.publish(request); !sent) return sent.error().text;
  const auto event = client.receive(kPatience);
  if (!event) return "no answer";
  const auto* received = std::get_if<MessageReceived>(&event->what);
  if (received == nullptr) return "not a message";
  return received->message.correlation_data == id ? received->message.payload : "another's answer";
}

// Connects, subscribes, asks `requests` times. Returns the first problem, or nothing.
std::string live(Session& session, const ClientOptions& options, int requests) {
  const auto client = session.connect(options);
  if (!client) return client.error().text;
  const std::string topic = "replies/" + options.client_id;
  if (const auto subscribed = (*client)->subscribe(topic); !subscribed) {
    return subscribed.error().text;
  }
  for (int i = 0; i < requests; ++i) {
    const std::string answer = ask(**client, topic, options.client_id + std::to_string(i));
    if (answer != "$-1\r\n") return answer;
  }
  if (options.droppable) (*client)->drop();
  return {};
}

// With delayed acknowledgements and Nagle's algorithm a request takes 44 ms.
TEST_F(Paho, RoundTripsAreNotHeldUp) {
  constexpr std::size_t kRoundTrips = 200;
  const auto client = session->connect({.client_id = "c"}).value();
  ASSERT_TRUE(client->subscribe("replies"));
  std::vector<double> took_ms;
  for (std::size_t i = 0; i < kRoundTrips; ++i) {
    const auto start = steady_clock::now();
    ASSERT_EQ(ask(*client, "replies", std::to_string(i)), "$-1\r\n");
    took_ms.push_back(milliseconds_since(start));
  }
  std::sort(took_ms.begin(), took_ms.end());
  std::cout << "round trip in ms, minimum / median / maximum of " << kRoundTrips << ": "
            << took_ms.front() << " / " << took_ms[kRoundTrips / 2] << " / " << took_ms.back()
            << "\n";
  EXPECT_LT(took_ms[kRoundTrips / 2], 5);
}

// Left alone, the library takes 2.1 s for each connection while other clients are idle.
TEST_F(Paho, ConnectsManyClientsWhileOthersAreIdle) {
  constexpr std::size_t kIdle = 4;
  constexpr std::size_t kClients = 64;
  std::vector<std::unique_ptr<Client>> idle;
  for (std::size_t i = 0; i < kIdle; ++i) {
    idle.push_back(session->connect({.client_id = "idle" + std::to_string(i)}).value());
  }
  std::vector<std::unique_ptr<Client>> clients(kClients);
  const auto start = steady_clock::now();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kClients; ++i) {
    threads.emplace_back([this, i, &clients] {
      auto client = session->connect({.client_id = "c" + std::to_string(i)});
      if (client) clients[i] = std::move(*client);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double took_ms = milliseconds_since(start);
  std::cout << "connecting " << kClients << " clients took " << took_ms << " ms\n";
  EXPECT_LT(took_ms, 2000);
  EXPECT_THAT(clients, Each(::testing::NotNull()));
}

TEST_F(Paho, ConnectsOneAfterTheOtherWhileOthersAreIdle) {
  constexpr int kClients = 20;
  const auto idle = session->connect({.client_id = "idle"}).value();
  const auto start = steady_clock::now();
  for (int i = 0; i < kClients; ++i) {
    ASSERT_TRUE(session->connect({.client_id = "c", .droppable = i % 2 == 0}));
  }
  const double took_ms = milliseconds_since(start);
  std::cout << "connecting and disconnecting " << kClients << " clients took " << took_ms
            << " ms\n";
  EXPECT_LT(took_ms, 4000);
}

// What ThreadSanitizer is for: every thread has a session of its own and none waits for another.
TEST_F(Paho, SessionsOnManyThreadsDoNotDisturbEachOther) {
  constexpr std::size_t kThreads = 8;
  constexpr int kLives = 3;
  constexpr int kRequests = 25;
  std::vector<std::string> problems(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i, &problems] {
      const auto own = endpoint->open_session();
      for (int life = 0; life < kLives && problems[i].empty(); ++life) {
        const std::string id = "t" + std::to_string(i) + "-" + std::to_string(life) + "-";
        // Clients that drop their connection must find their own, not another's.
        problems[i] = live(**own, {.client_id = id, .droppable = (i + 1) % 3 == 0}, kRequests);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(problems, Each(IsEmpty()));
}

TEST_F(Paho, EndpointsComeAndGo) {
  for (int i = 0; i < 3; ++i) {
    MqttOptions options;
    options.host = "127.0.0.1";
    options.port = broker->port();
    const auto another = make_mqtt_endpoint(std::move(options));
    const auto own = another->open_session().value();
    EXPECT_EQ(live(*own, {.client_id = "c"}, 1), "");
    EXPECT_EQ(live(*session, {.client_id = "d"}, 1), "");
  }
}

}  // namespace
}  // namespace fencepost::endpoint
