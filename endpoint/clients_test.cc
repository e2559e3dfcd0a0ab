// The client library in use: the delays that it has of its own are gone, and clients on many
// threads do not get in each other's way.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/resp3.h"
#include "codec/topics.h"
#include "endpoint/broker_process.h"
#include "endpoint/echo_broker.h"
#include "endpoint/mqtt.h"
#include "endpoint/socket.h"
#include "endpoint/test_driver.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using codec::Message;
using std::chrono::steady_clock;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A limit for what must happen; nothing waits that long.
constexpr std::chrono::milliseconds kPatienceMs = 300s;
constexpr Duration kPatience = kPatienceMs;

double milliseconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

// A broker with an endpoint in front of it.
class Clients : public ::testing::Test {
 protected:
  Clients() {
    broker = take(BrokerProcess::start({}));
    endpoint = make_mqtt_endpoint(options_for(broker->port()));
    session = endpoint->open_session().value();
  }

  std::unique_ptr<BrokerProcess> broker;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Session> session;
};

// Requests a key and returns what came back: the payload, or what went wrong. Throws nothing, so
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

// Connects, subscribes, sends `requests` requests. Returns the first problem, or nothing.
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

// A broker of a few lines that accepts one client and answers every packet as configured: for
// the refusals that the real one cannot be brought to.
class FakeBroker {
 public:
  struct Reasons {
    int connack = 0;
    int suback = 1;  // granted QoS 1
    int puback = 0;
  };
  explicit FakeBroker(Reasons reasons) : reasons_(reasons), listener_(listen_on_free_port(port_)) {
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeBroker() {
    shutdown(listener_.descriptor(), SHUT_RDWR);  // ends an accept() that nobody answered
    thread_.join();
  }
  FakeBroker(const FakeBroker&) = delete;
  FakeBroker& operator=(const FakeBroker&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void serve() const {
    const Socket client(accept(listener_.descriptor(), nullptr, nullptr));
    if (client.descriptor() < 0) return;
    while (const auto header = exchange(client, "", 2, kPatienceMs)) {
      // All packets here are shorter than 128 bytes.
      const auto body = exchange(client, "", static_cast<unsigned char>((*header)[1]), kPatienceMs);
      if (!body || !exchange(client, answer((*header)[0] & 0xf0, *body), 0, kPatienceMs)) return;
    }
  }

  [[nodiscard]] std::string answer(int type, const std::string& body) const {
    constexpr int kConnect = 0x10;
    constexpr int kPublish = 0x30;
    constexpr int kSubscribe = 0x80;
    const auto byte = [](int value) { return std::string(1, static_cast<char>(value)); };
    if (type == kConnect) return std::string("\x20\3\0", 3) + byte(reasons_.connack) + byte(0);
    if (type == kSubscribe) return "\x90\4" + body.substr(0, 2) + byte(0) + byte(reasons_.suback);
    if (type != kPublish) return {};
    const auto topic_size = static_cast<std::size_t>(body[1]);
    return "\x40\3" + body.substr(2 + topic_size, 2) + byte(reasons_.puback);
  }

  Reasons reasons_;
  std::uint16_t port_ = 0;
  Socket listener_;
  std::thread thread_;
};

std::unique_ptr<Endpoint> endpoint_of(const FakeBroker& broker) {
  return make_mqtt_endpoint(options_for(broker.port()));
}

TEST(Socket, SaysWhyItCannotConnect) {
  const auto nobody = reserve_port("127.0.0.1");
  const auto refused = connect_tcp("127.0.0.1", nobody->port, kPatienceMs);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "Connection refused");
  const auto illegal = connect_tcp("not a name", 1, kPatienceMs);
  ASSERT_FALSE(illegal);
  EXPECT_FALSE(illegal.error().empty());
}

// As programs bind that know nothing of the reservation: without SO_REUSEADDR.
int error_of_binding(std::uint16_t port) {
  const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const auto* generic = reinterpret_cast<sockaddr*>(&address);  // NOLINT: the sockets API is so
  return bind(socket.descriptor(), generic, sizeof(address)) == 0 ? 0 : errno;
}

TEST(Socket, AReservedPortIsForWhoKnowsIt) {
  const auto reserved = reserve_port("127.0.0.1");
  ASSERT_TRUE(reserved) << reserved.error();
  EXPECT_EQ(error_of_binding(reserved->port), EADDRINUSE);
  EXPECT_TRUE(listen_at("127.0.0.1", reserved->port, 1));
}

TEST(BrokerProcess, KeepsItsPortWhileItIsStartedAgain) {
  const auto broker = BrokerProcess::start({});
  ASSERT_TRUE(broker) << broker.error().text;
  (*broker)->stop();
  EXPECT_EQ(error_of_binding((*broker)->port()), EADDRINUSE);
  const auto again = (*broker)->restart();
  EXPECT_TRUE(again) << again.error().text;
}

TEST(Socket, ExchangeEndsWhenThePeerIsSilentOrGone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Socket here(ends[0]);
  {
    const Socket there(ends[1]);
    EXPECT_EQ(exchange(here, "ping", 0, kPatienceMs), "");
    EXPECT_EQ(exchange(there, "pong", 4, kPatienceMs), "ping");
    EXPECT_EQ(exchange(here, "", 5, 10ms), std::nullopt);  // one byte too many
  }
  EXPECT_EQ(exchange(here, "", 1, kPatienceMs), std::nullopt);
  EXPECT_EQ(exchange(here, "ping", 0, kPatienceMs), std::nullopt);
}

TEST(Refusal, OfAConnectionNamesTheReason) {
  struct Case {
    int reason;
    ErrorKind kind;
  };
  for (const Case& row : {Case{0x86, ErrorKind::kNotAllowed}, Case{0x87, ErrorKind::kNotAllowed},
                          Case{0x85, ErrorKind::kNotAllowed}, Case{0x88, ErrorKind::kUnreachable},
                          Case{0x80, ErrorKind::kUnreachable}}) {
    const FakeBroker broker({.connack = row.reason});
    const auto endpoint = endpoint_of(broker);
    const auto client = endpoint->open_session().value()->connect({.client_id = "c"});
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().kind, row.kind) << row.reason;
    EXPECT_EQ(client.error().reason_code, row.reason) << client.error().text;
  }
}

TEST(Refusal, OfASubscriptionNamesTheReason) {
  const FakeBroker broker({.suback = 0x87});
  const auto endpoint = endpoint_of(broker);
  const auto client = endpoint->open_session().value()->connect({.client_id = "c"}).value();
  const auto subscribed = client->subscribe("a/b");
  ASSERT_FALSE(subscribed);
  EXPECT_EQ(subscribed.error().kind, ErrorKind::kNotAllowed);
  EXPECT_EQ(subscribed.error().reason_code, 0x87);
  EXPECT_THAT(subscribed.error().text, HasSubstr("a/b with 0x87 (Not authorized)"));
}

TEST(Refusal, AGrantOfALowerQosIsOne) {
  const FakeBroker broker({.suback = 0});
  const auto endpoint = endpoint_of(broker);
  const auto client = endpoint->open_session().value()->connect({.client_id = "c"}).value();
  const auto subscribed = client->subscribe("a/b");
  ASSERT_FALSE(subscribed);
  EXPECT_EQ(subscribed.error().kind, ErrorKind::kNotAllowed);
  EXPECT_EQ(subscribed.error().reason_code, 0);
  EXPECT_THAT(subscribed.error().text, HasSubstr("a/b with QoS 0, not 1"));
}

TEST(Refusal, OfAMessageSaysWhichOne) {
  const FakeBroker broker({.puback = 0x97});
  const auto endpoint = endpoint_of(broker);
  const auto client = endpoint->open_session().value()->connect({.client_id = "c"}).value();
  for (const std::string id : {"one", "two", ""}) {
    ASSERT_TRUE(client->publish({.topic = "t", .correlation_data = id}));
    const auto event = client->receive(kPatience);
    ASSERT_TRUE(event);
    const auto* refused = std::get_if<PublishRefused>(&event->what);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->reason_code, 0x97);
    EXPECT_EQ(refused->correlation_data, id);
  }
}

TEST(Refusal, OfNothingIsNoEvent) {
  const FakeBroker broker({.puback = 0x10});  // accepted, and nobody subscribed
  const auto endpoint = endpoint_of(broker);
  const auto client = endpoint->open_session().value()->connect({.client_id = "c"}).value();
  ASSERT_TRUE(client->subscribe("a"));
  ASSERT_TRUE(client->publish({.topic = "t"}));
  ASSERT_TRUE(client->subscribe("b"));  // its SUBACK comes after the PUBACK
  EXPECT_FALSE(client->receive(0us));
}

// With delayed acknowledgements and Nagle's algorithm most requests take 44 ms.
TEST_F(Clients, RoundTripsAreNotHeldUp) {
  const auto client = session->connect({.client_id = "c"}).value();
  ASSERT_TRUE(client->subscribe("replies"));
  EXPECT_FALSE(is_held_up([&](std::size_t number) {
    ASSERT_EQ(ask(*client, "replies", std::to_string(number)), "$-1\r\n");
  }));
}

// Left alone, the library takes 2.1 s for each connection while other clients are idle. The fastest
// counts: a busy machine makes others late.
TEST_F(Clients, ConnectsManyClientsWhileOthersAreIdle) {
  constexpr std::size_t kIdle = 4;
  constexpr std::size_t kClients = 64;
  std::vector<std::unique_ptr<Client>> idle;
  for (std::size_t i = 0; i < kIdle; ++i) {
    idle.push_back(session->connect({.client_id = "idle" + std::to_string(i)}).value());
  }
  std::vector<std::unique_ptr<Client>> clients(kClients);
  std::vector<double> took_ms(kClients);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kClients; ++i) {
    threads.emplace_back([this, i, &clients, &took_ms] {
      const auto start = steady_clock::now();
      auto client = session->connect({.client_id = "c" + std::to_string(i)});
      took_ms[i] = milliseconds_since(start);
      if (client) clients[i] = std::move(*client);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(*std::min_element(took_ms.begin(), took_ms.end()), 1000);
  EXPECT_THAT(clients, Each(::testing::NotNull()));
}

TEST_F(Clients, ConnectsOneAfterTheOtherWhileOthersAreIdle) {
  constexpr int kClients = 20;
  const auto idle = session->connect({.client_id = "idle"}).value();
  std::vector<double> took_ms;
  for (int i = 0; i < kClients; ++i) {
    const auto start = steady_clock::now();
    ASSERT_TRUE(session->connect({.client_id = "c", .droppable = i % 2 == 0}));
    took_ms.push_back(milliseconds_since(start));  // with its end
  }
  EXPECT_LT(*std::min_element(took_ms.begin(), took_ms.end()), 1000);
}

// What ThreadSanitizer is for: every thread has a session of its own and none waits for another.
TEST_F(Clients, SessionsOnManyThreadsDoNotDisturbEachOther) {
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

Message plain(const std::string& topic, const std::string& payload) {
  Message out;
  out.topic = topic;
  out.payload = payload;
  return out;
}

std::string payload_of(Client& client) {
  const auto event = client.receive(kPatience);
  const auto* received = event ? std::get_if<MessageReceived>(&event->what) : nullptr;
  return received == nullptr ? "" : received->message.payload;
}

TEST_F(Clients, GetsNothingFromATopicThatItUnsubscribedFrom) {
  auto client = session->connect({.client_id = "c"}).value();
  ASSERT_TRUE(client->subscribe("x/1"));
  ASSERT_TRUE(client->subscribe("x/2"));
  ASSERT_TRUE(client->unsubscribe("x/1"));
  ASSERT_TRUE(client->publish(plain("x/1", "one")));
  ASSERT_TRUE(client->publish(plain("x/2", "two")));
  EXPECT_EQ(payload_of(*client), "two");
}

TEST_F(Clients, TheBrokerPublishesTheWillOfAClientThatDrops) {
  auto watcher = session->connect({.client_id = "watcher"}).value();
  ASSERT_TRUE(watcher->subscribe("wills/#"));
  auto client = session
                    ->connect({.client_id = "c",
                               .will = Will{.topic = "wills/c", .payload = std::string("a\0b", 3)},
                               .droppable = true})
                    .value();
  client->drop();
  EXPECT_EQ(payload_of(*watcher), std::string("a\0b", 3));
}

TEST_F(Clients, TakesNoLargerPacketsThanItSays) {
  auto writer = session->connect({.client_id = "w"}).value();
  auto client = session->connect({.client_id = "c", .max_packet_size = 500}).value();
  ASSERT_TRUE(client->subscribe("x"));
  ASSERT_TRUE(writer->publish(plain("x", std::string(600, 'x'))));
  ASSERT_TRUE(writer->publish(plain("x", "one")));
  EXPECT_EQ(payload_of(*client), "one");
}

TEST_F(Clients, GetsAllMessagesWhenItTakesOneAtATime) {
  auto writer = session->connect({.client_id = "w"}).value();
  auto client = session->connect({.client_id = "c", .receive_maximum = 1}).value();
  ASSERT_TRUE(client->subscribe("x"));
  for (const char* payload : {"one", "two", "three"}) {
    ASSERT_TRUE(writer->publish(plain("x", payload)));
  }
  EXPECT_EQ(payload_of(*client), "one");
  EXPECT_EQ(payload_of(*client), "two");
  EXPECT_EQ(payload_of(*client), "three");
}

TEST_F(Clients, EndpointsComeAndGo) {
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
