// The reference store in a real mosquitto, reached over loopback: what the network adds to the
// in-process store, and how the broker process and its connections come and go.
//
// Started with --hold-broker this program is the parent that the orphan test kills.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>

#include "codec/resp3.h"
#include "codec/topics.h"
#include "endpoint/broker_process.h"
#include "endpoint/mqtt.h"
#include "endpoint/socket.h"
#include "endpoint/test_driver.h"
#include "suite/testing/temporary_folder.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using codec::Message;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Arguments = std::vector<std::string_view>;

constexpr Duration kPatience = 300s;  // a limit for what must happen; nothing waits that long
constexpr const char* kLoopback = "127.0.0.1";
constexpr const char* kSetNotification = "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n";
constexpr const char* kDeleteNotification = "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n";

std::string repeated(char byte, std::size_t count) { return std::string(count, byte); }

std::string every_byte() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}

// What happened, in a word: the payload of a message, or how it went wrong.
std::string describe(const std::optional<Event>& event) {
  if (!event) return "nothing";
  if (const auto* received = std::get_if<MessageReceived>(&event->what)) {
    return received->message.payload;
  }
  return std::holds_alternative<Disconnected>(event->what) ? "disconnected" : "refused";
}

// A client that receives its responses on a topic of its own.
class Peer {
 public:
  Peer(std::unique_ptr<Client> client, const std::string& client_id)
      : client_(std::move(client)), response_topic_("replies/" + client_id) {
    take_nothing(client_->subscribe(response_topic_));
  }

  [[nodiscard]] Message raw_request(const std::string& payload) const {
    Message message;
    message.topic = std::string(codec::kRequestTopic);
    message.payload = payload;
    message.response_topic = response_topic_;
    message.correlation_data = "some id";
    message.user_properties = {{"__ts", timestamp()}};
    return message;
  }
  [[nodiscard]] Message request(const Arguments& arguments) const {
    return raw_request(codec::encode_command(arguments));
  }

  void publish(const Message& message) { take_nothing(client_->publish(message)); }
  void send(const Arguments& arguments) { publish(request(arguments)); }

  // The payload of the next message, or what came instead.
  std::string receive(Duration patience = kPatience) {
    return describe(client_->receive(patience));
  }

  Message receive_message() {
    const auto event = client_->receive(kPatience);
    if (event && std::holds_alternative<MessageReceived>(event->what)) {
      return std::get<MessageReceived>(event->what).message;
    }
    throw std::runtime_error("expected a message, but: " + describe(event));
  }
  Message answer_to(const Message& message) {
    publish(message);
    return receive_message();
  }
  std::string ask(const Arguments& arguments) {
    send(arguments);
    return receive();
  }

  Client& client() { return *client_; }
  Client* operator->() { return client_.get(); }

 private:
  static void take_nothing(const Result<void, Error>& result) {
    if (!result) throw std::runtime_error(result.error().text);
  }
  static std::string timestamp() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) +
           ":0:node";
  }

  std::unique_ptr<Client> client_;
  std::string response_topic_;
};

// A broker with an endpoint in front of it.
struct World {
  explicit World(
      const BrokerOptions& broker_options = {},
      const std::function<void(MqttOptions&)>& adjust = [](MqttOptions&) {})
      : broker(take(BrokerProcess::start(broker_options))) {
    const bool tls = broker_options.tls.has_value();
    MqttOptions options = options_for(tls ? broker->tls_port() : broker->port());
    options.url = "mqtt://127.0.0.1";
    options.tls = tls;
    adjust(options);
    endpoint = make_mqtt_endpoint(std::move(options));
    session = take(endpoint->open_session());
  }

  Peer connect(const std::string& client_id) { return connect_with({.client_id = client_id}); }
  Peer connect_with(const ClientOptions& options) {
    return Peer(take(session->connect(options)), options.client_id);
  }

  std::unique_ptr<BrokerProcess> broker;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Session> session;
};

struct CommandResult {
  int status = -1;
  std::string output;
};

// Runs a shell command and keeps what it writes to either stream.
CommandResult run_command(const std::string& command) {
  CommandResult result;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer{};
  std::size_t got = 0;
  while ((got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    result.output.append(buffer.data(), got);
  }
  result.status = pclose(pipe);
  return result;
}

void must_run(const std::string& command) {
  const CommandResult result = run_command(command);
  if (result.status != 0) throw std::runtime_error(command + ":\n" + result.output);
}

// ---- Messages ----

TEST(Broker, AnswersARequest) {
  World world;
  Peer client = world.connect("c");
  EXPECT_EQ(client.ask({"SET", "k", "v"}), "+OK\r\n");
  EXPECT_EQ(client.ask({"GET", "k"}), "$1\r\nv\r\n");
  EXPECT_EQ(client.ask({"DEL", "k"}), ":1\r\n");
  EXPECT_EQ(client.ask({"GET", "k"}), "$-1\r\n");
}

TEST(Broker, SpeaksTheDialectItWasStartedWith) {
  World world({.dialect = codec::DialectId::kDocumented, .quota = 1, .node_id = "Node7"});
  Peer client = world.connect("c");
  EXPECT_THAT(*client.answer_to(client.request({"SET", "k", "v"})).property("__ts"),
              HasSubstr(":Node7"));
  EXPECT_EQ(client.ask({"SET", "k", "v", "NX"}), "-1\r\n");
  EXPECT_THAT(client.ask({"SET", "k2", "v"}), HasSubstr("quota"));
}

TEST(Broker, AppliesTheAuthorizationItWasStartedWith) {
  World world({.authorization_json = R"({"policies": [{"principals": {"clientIds": ["reader"]},
      "stateStoreResources": [{"method": "Read", "keyType": "Pattern", "keys": ["*"]}]}]})"});
  Peer reader = world.connect("reader");
  EXPECT_EQ(reader.ask({"GET", "k"}), "$-1\r\n");
  EXPECT_EQ(reader.ask({"SET", "k", "v"}), "-ERR not authorized\r\n");
}

TEST(Broker, EveryPropertySurvivesTheWayThrough) {
  World world;
  Peer sender = world.connect("sender");
  Peer receiver = world.connect("receiver");
  Message full;
  full.topic = "replies/receiver";
  full.payload = every_byte();
  full.response_topic = "somewhere/else";
  full.correlation_data = every_byte();
  full.content_type = "text/plain; \xc3\xa4";
  full.payload_format = std::uint8_t{0};
  full.user_properties = {{"b", "2"}, {"a", "1"}, {"b", ""}, {"", "no name"}, {"b", "2"}};
  Message empty;
  empty.topic = "replies/receiver";
  empty.correlation_data = "";
  empty.content_type = "";
  Message long_one;
  long_one.topic = "replies/receiver";
  long_one.correlation_data = repeated('\xff', 65'535);
  long_one.user_properties = {{repeated('n', 65'535), repeated('v', 65'535)}};
  long_one.payload_format = std::uint8_t{1};
  Message bare;
  bare.topic = "replies/receiver";
  for (const Message& message : {full, empty, long_one, bare}) {
    sender.publish(message);
    EXPECT_TRUE(receiver.receive_message() == message) << message.payload.size();
  }
}

TEST(Broker, CountsTheMessageExpiryDown) {
  World world;
  Peer sender = world.connect("sender");
  Peer receiver = world.connect("receiver");
  Message message{.topic = "replies/receiver"};
  for (const std::uint32_t seconds : {60U, 0x7fff'ffffU}) {
    message.expiry_seconds = seconds;
    sender.publish(message);
    const auto left = receiver.receive_message().expiry_seconds;
    ASSERT_TRUE(left);
    EXPECT_LE(*left, seconds);
    EXPECT_GE(*left, seconds - 20);
  }
}

// Paho would send other numbers.
TEST(Broker, RefusesIntervalsThatCannotBeSent) {
  if (test_driver() != Driver::kPaho) GTEST_SKIP() << "the other driver sends them";
  World world;
  Peer sender = world.connect("sender");
  Message message{.topic = "t"};
  message.expiry_seconds = 0x8000'0000U;
  const auto sent = sender->publish(message);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kInvalid);
  const auto client =
      world.session->connect({.client_id = "c", .session_expiry_seconds = 0xffff'ffffU});
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().kind, ErrorKind::kInvalid);
}

TEST(Broker, DeliversRetainedMessagesAsSuch) {
  World world;
  Peer sender = world.connect("sender");
  sender.publish({.topic = "kept", .payload = "old news", .retain = true});
  EXPECT_EQ(sender.ask({"GET", "k"}), "$-1\r\n");  // by now the broker has it
  Peer receiver = world.connect("receiver");
  ASSERT_TRUE(receiver->subscribe("kept"));
  const Message message = receiver.receive_message();
  EXPECT_EQ(message.payload, "old news");
  EXPECT_TRUE(message.retain);
}

TEST(Broker, EchoesCorrelationDataOfEveryKind) {
  World world;
  Peer client = world.connect("c");
  const std::string bytes = every_byte();
  for (const std::string& data : {bytes, std::string(), std::string(1, '\0'), bytes + bytes}) {
    Message request = client.request({"GET", "k"});
    request.correlation_data = data;
    const Message response = client.answer_to(request);
    EXPECT_EQ(response.correlation_data, data);
    EXPECT_EQ(response.content_type, "application/octet-stream");
    EXPECT_EQ(response.payload_format, std::uint8_t{0});
    EXPECT_EQ(response.qos, 1);
    EXPECT_FALSE(response.retain);
    EXPECT_FALSE(response.response_topic);
    EXPECT_FALSE(response.expiry_seconds);
  }
}

TEST(Broker, TheStoreSeesUserPropertiesInOrder) {
  World world;
  Peer client = world.connect("c");
  Message request = client.request({"SET", "k", "v"});
  const auto good = request.user_properties.front();
  const std::pair<std::string, std::string> bad{"__ts", ""};
  request.user_properties = {bad, {"$high_priority", ""}, bad, good};  // the last one counts
  EXPECT_EQ(client.answer_to(request).payload, "+OK\r\n");
  request.user_properties = {good, {"$high_priority", ""}, good, bad};
  EXPECT_THAT(client.answer_to(request).payload, HasSubstr("malformed timestamp"));
}

TEST(Broker, AnswersRequestsOfQosOneOnly) {
  World world;
  Peer client = world.connect("c");
  for (const int qos : {0, 2}) {
    Message ignored = client.request({"SET", "k", "v"});
    ignored.qos = qos;
    client.publish(ignored);
  }
  EXPECT_EQ(client.ask({"GET", "k"}), "$-1\r\n");  // the first and only response
}

TEST(Broker, PublishesWithEveryQos) {
  World world;
  Peer sender = world.connect("sender");
  Peer receiver = world.connect("receiver");
  for (const int qos : {0, 1, 2}) {
    sender.publish({.topic = "replies/receiver", .payload = "p", .qos = qos});
    EXPECT_EQ(receiver.receive_message().qos, std::min(qos, 1));  // the subscription requests 1
  }
}

TEST(Broker, ASubscriptionIsInForceWhenTheCallReturns) {
  World world;
  Peer sender = world.connect("sender");
  Peer receiver = world.connect("receiver");
  for (int i = 0; i < 50; ++i) {
    const std::string topic = "topic/" + std::to_string(i);
    ASSERT_TRUE(receiver->subscribe(topic));
    sender.publish({.topic = topic, .payload = topic});
    ASSERT_EQ(receiver.receive(), topic);
  }
}

TEST(Broker, CarriesAMebibyte) {
  World world;
  Peer client = world.connect("c");
  const std::string value = repeated('x', 1U << 20U);
  EXPECT_EQ(client.ask({"KEYNOTIFY", "k"}), "+OK\r\n");
  client.send({"SET", "k", value});
  EXPECT_THAT(client.receive(), StartsWith(kSetNotification));
  EXPECT_EQ(client.receive(), "+OK\r\n");
  EXPECT_TRUE(client.ask({"GET", "k"}) == "$1048576\r\n" + value + "\r\n");
}

TEST(Broker, AnswersFiveHundredRequestsInFlightInOrder) {
  constexpr int kRequests = 500;
  World world;
  Peer client = world.connect("c");
  for (int i = 0; i < kRequests; ++i) {
    Message request = client.request({"SET", "k" + std::to_string(i % 7), "v"});
    request.correlation_data = std::to_string(i);
    client.publish(request);
  }
  for (int i = 0; i < kRequests; ++i) {
    const Message response = client.receive_message();
    ASSERT_EQ(response.correlation_data, std::to_string(i));
    ASSERT_EQ(response.payload, "+OK\r\n");
  }
}

// ---- Notifications and registrations ----

TEST(Broker, PushesNotificationsWithoutASubscription) {
  World world;
  Peer observer = world.connect("observer");
  EXPECT_EQ(observer.ask({"KEYNOTIFY", "k"}), "+OK\r\n");
  observer.send({"SET", "k", "v"});
  const Message notification = observer.receive_message();  // before the response
  EXPECT_EQ(notification.topic, codec::notification_topic("observer", "k"));
  EXPECT_EQ(notification.payload, kSetNotification + std::string("$5\r\nVALUE\r\n$1\r\nv\r\n"));
  EXPECT_EQ(notification.qos, 1);
  EXPECT_NE(notification.property("__ts"), nullptr);
  EXPECT_EQ(observer.receive(), "+OK\r\n");
}

enum class End { kDisconnect, kDrop, kTakeover };

// The answer to KEYNOTIFY STOP; what the session still had to deliver before is not that, and must
// not be a notification.
std::string stop_observing(Peer& observer) {
  Message stop = observer.request({"KEYNOTIFY", "k", "STOP"});
  stop.correlation_data = "stop";
  observer.publish(stop);
  Message received;
  do {
    received = observer.receive_message();
    EXPECT_THAT(received.payload, Not(StartsWith(kSetNotification)));
  } while (received.correlation_data != "stop");
  return received.payload;
}

TEST(Broker, ForgetsRegistrationsHoweverTheConnectionEnds) {
  World world;
  Peer writer = world.connect("writer");
  for (const End end : {End::kDisconnect, End::kDrop, End::kTakeover}) {
    SCOPED_TRACE(static_cast<int>(end));
    // The session outlives the connection: what was sent to it meanwhile would still arrive.
    const ClientOptions options{.client_id = "observer",
                                .clean_start = false,
                                .session_expiry_seconds = 60,
                                .droppable = end == End::kDrop};
    Peer observer = world.connect_with(options);
    EXPECT_EQ(observer.ask({"KEYNOTIFY", "k"}), "+OK\r\n");
    std::optional<Peer> heir;
    if (end == End::kDisconnect) observer->disconnect();
    if (end == End::kDrop) observer->drop();
    if (end == End::kTakeover) {
      heir = world.connect_with(options);
      EXPECT_EQ(observer.receive(), "disconnected");
    }
    // The broker sees the end of the connection before what was sent after it.
    EXPECT_EQ(writer.ask({"GET", "nothing"}), "$-1\r\n");
    EXPECT_EQ(writer.ask({"SET", "k", "v"}), "+OK\r\n");
    if (!heir) heir = world.connect_with(options);
    EXPECT_EQ(stop_observing(*heir), ":0\r\n");
  }
}

TEST(Broker, OwnEndsAreNoEvents) {
  World world;
  Peer leaver = world.connect("leaver");
  leaver->disconnect();
  EXPECT_EQ(leaver.receive(50ms), "nothing");
  Peer dropper = world.connect_with({.client_id = "dropper", .droppable = true});
  dropper->drop();
  EXPECT_EQ(dropper.receive(50ms), "nothing");
}

TEST(Broker, NotifiesAnExpiryWithinMillisecondsOnAnIdleBroker) {
  constexpr std::size_t kKeys = 20;
  World world;
  Peer observer = world.connect("observer");
  for (std::size_t i = 0; i < kKeys; ++i) {
    EXPECT_EQ(observer.ask({"KEYNOTIFY", "k" + std::to_string(i)}), "+OK\r\n");
  }
  // How late this machine wakes a thread meanwhile, at worst: the yardstick.
  std::atomic<bool> over{false};
  Duration late{0};
  std::thread sleeper([&, nap = std::chrono::milliseconds{2}] {
    while (!over) {
      const Duration begun = world.session->clock().now();
      std::this_thread::sleep_for(nap);
      late = std::max<Duration>(late, world.session->clock().now() - begun - nap);
    }
  });
  const auto lifetime = [](std::size_t i) { return std::chrono::milliseconds{100 + 11 * i}; };
  std::vector<Duration> earliest;  // no broker may act before that
  std::vector<Duration> due;
  std::vector<Duration> expired;
  std::size_t notified = 0;
  const auto receive_one = [&] {
    const auto event = observer->receive(kPatience);
    const std::string text = describe(event);
    if (text == "+OK\r\n") {
      due.push_back(event->time + lifetime(due.size()));
    } else if (text == kDeleteNotification) {
      expired.push_back(event->time);
    } else {
      ASSERT_THAT(text, StartsWith(kSetNotification));
      ++notified;
    }
  };
  for (std::size_t i = 0; i < kKeys && !HasFatalFailure(); ++i) {
    earliest.push_back(world.session->clock().now() + lifetime(i));
    observer.send({"SET", "k" + std::to_string(i), "v", "PX", std::to_string(lifetime(i).count())});
    // On a busy machine the first keys expire before the last are set.
    while (due.size() <= i && !HasFatalFailure()) receive_one();
  }
  while (expired.size() < kKeys && !HasFatalFailure()) receive_one();
  over = true;
  sleeper.join();
  ASSERT_EQ(due.size(), kKeys);
  EXPECT_EQ(notified, kKeys);
  std::vector<double> lateness_ms;
  for (std::size_t i = 0; i < kKeys; ++i) {
    EXPECT_GE(expired[i], earliest[i]);
    lateness_ms.push_back(static_cast<double>((expired[i] - due[i]).count()) / 1000);
  }
  std::sort(lateness_ms.begin(), lateness_ms.end());
  std::cout << "expiry lateness in ms, minimum / median / maximum of " << kKeys << ": "
            << lateness_ms.front() << " / " << lateness_ms[kKeys / 2] << " / " << lateness_ms.back()
            << "; threads are woken up to " << late.count() / 1000 << " late\n";
  // Where it waits for the broker's own tick of 100 ms, a quarter is later than 20 ms.
  EXPECT_LE(lateness_ms[kKeys / 4], 15 + static_cast<double>(2 * late.count()) / 1000);
}

TEST(Broker, IllegalResponseTopicsDropTheClientAndNobodyElse) {
  World world;
  Peer other = world.connect("bystander");
  const std::string prefix(codec::kStorePrefix);
  for (const std::string& topic :
       {std::string(codec::kRequestTopic), prefix, prefix + "/636C/command/notify/6B",
        std::string("a/+/b"), std::string("a/#"), std::string("#"), std::string("a+"),
        std::string("$SYS/x"), std::string("$fencepost/sink"), std::string()}) {
    SCOPED_TRACE(topic);
    Peer offender = world.connect("offender");
    Message request = offender.request({"SET", "k", "v"});
    request.response_topic = topic;
    offender.publish(request);
    const auto event = offender->receive(kPatience);
    ASSERT_EQ(describe(event), "disconnected");
    // The code is lost when the connection breaks before it is read.
    EXPECT_EQ(std::get<Disconnected>(event->what).reason_code.value_or(0x82), 0x82);
    EXPECT_EQ(other.ask({"GET", "k"}), "$-1\r\n");
  }
}

// ---- Others ----

TEST(Broker, NobodySeesTheRequestsOfOthers) {
  World world;
  Peer client = world.connect("client");
  Peer spy = world.connect("spy");
  for (const char* filter : {"#", "statestore/#", "+/v1/#"}) ASSERT_TRUE(spy->subscribe(filter));
  ASSERT_TRUE(spy->subscribe(std::string(codec::kRequestTopic)));
  for (const bool retain : {false, true}) {
    Message request = client.request({"SET", "secret", "value"});
    request.retain = retain;
    EXPECT_EQ(client.answer_to(request).payload, "+OK\r\n");
  }
  Peer latecomer = world.connect("latecomer");
  ASSERT_TRUE(latecomer->subscribe("#"));
  EXPECT_EQ(client.ask({"GET", "secret"}), "$5\r\nvalue\r\n");
  client.publish({.topic = "end", .payload = "end"});
  for (Peer* listener : {&spy, &latecomer}) {
    std::size_t responses = 0;
    for (std::string received; (received = listener->receive()) != "end"; ++responses) {
      EXPECT_THAT(received, ::testing::AnyOf("+OK\r\n", "$5\r\nvalue\r\n"));
      ASSERT_LT(responses, 12U);  // three responses, at most once for each filter
    }
    EXPECT_GE(responses, 1U);
  }
}

TEST(Broker, AcknowledgesRequestsWithSuccess) {
  World world;
  const std::string command = "mosquitto_pub -V 5 -q 1 -d -h 127.0.0.1 -p " +
                              std::to_string(world.broker->port()) + " -m x -t ";
  EXPECT_THAT(run_command(command + std::string(codec::kRequestTopic)).output,
              HasSubstr("PUBACK (Mid: 1, RC:0)"));
  // The same command shows that the broker would say otherwise where nobody subscribed.
  EXPECT_THAT(run_command(command + "nobody/listens").output, HasSubstr("RC:16"));
}

TEST(Broker, OlderClientsDoNoHarm) {
  World world;
  Peer client = world.connect("c");
  for (const char* qos : {"0", "1", "2"}) {
    const CommandResult result = run_command("mosquitto_pub -V mqttv311 -h 127.0.0.1 -p " +
                                             std::to_string(world.broker->port()) + " -q " + qos +
                                             " -m '*1' -t " + std::string(codec::kRequestTopic));
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_EQ(client.ask({"GET", "k"}), "$-1\r\n");
  }
}

TEST(Broker, SurvivesRandomPayloads) {
  constexpr int kPayloads = 2000;
  constexpr std::size_t kMaxBytes = 64;
  World world;
  Peer client = world.connect("c");
  std::mt19937_64 random(20'260'101);  // NOLINT(cert-msc51-cpp): the same bytes every time
  const std::string frame = codec::encode_command({"SET", "key", "value", "PX", "10"});
  for (int i = 0; i < kPayloads; ++i) {
    std::string payload(random() % kMaxBytes, '\0');
    for (char& byte : payload) byte = static_cast<char>(random());
    if (i % 2 == 0) payload = frame.substr(0, random() % frame.size()) + payload;
    client.publish(client.raw_request(payload));
  }
  for (int i = 0; i < kPayloads; ++i) ASSERT_THAT(client.receive(), StartsWith("-ERR ")) << i;
  EXPECT_EQ(client.ask({"GET", "key"}), "$-1\r\n");
}

TEST(Broker, SurvivesConnectionsThatAreNone) {
  World world;
  Peer client = world.connect("c");
  EXPECT_EQ(client.ask({"KEYNOTIFY", "k"}), "+OK\r\n");
  for (const std::string& bytes :
       {std::string(), std::string("\x10"), std::string("\x10\x7f\0\4MQTT\5", 9),
        std::string("GET / HTTP/1.1\r\n\r\n"), repeated('\xff', 100)}) {
    const auto socket = connect_tcp(kLoopback, world.broker->port(), 1000ms);
    ASSERT_TRUE(socket) << socket.error();
    (void)exchange(*socket, bytes, 0, 1000ms);
  }
  client.send({"SET", "k", "v"});
  EXPECT_THAT(client.receive(), StartsWith(kSetNotification));
  EXPECT_EQ(client.receive(), "+OK\r\n");
}

// ---- The process ----

TEST(BrokerProcess, TwoAtOnceShareNothing) {
  World one;
  World two;
  ASSERT_NE(one.broker->port(), two.broker->port());
  Peer here = one.connect("c");
  Peer there = two.connect("c");
  EXPECT_EQ(here.ask({"SET", "k", "v"}), "+OK\r\n");
  EXPECT_EQ(there.ask({"GET", "k"}), "$-1\r\n");
  EXPECT_EQ(here.ask({"GET", "k"}), "$1\r\nv\r\n");
}

TEST(BrokerProcess, RefusesAPortInUse) {
  const auto first = take(BrokerProcess::start({}));
  const auto second = BrokerProcess::start({.port = first->port()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, StartErrorKind::kPortInUse);
  EXPECT_THAT(second.error().text, HasSubstr(std::to_string(first->port())));
  EXPECT_TRUE(first->running());
}

// Taken means taken, also when nobody answers there.
TEST(BrokerProcess, RefusesAPortThatIsBoundButSilent) {
  const Socket holder(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);  // NOLINT: the sockets API is like this
  ASSERT_EQ(bind(holder.descriptor(), generic, size), 0);
  ASSERT_EQ(getsockname(holder.descriptor(), generic, &size), 0);
  const auto broker = BrokerProcess::start({.port = ntohs(address.sin_port)});
  ASSERT_FALSE(broker);
  EXPECT_EQ(broker.error().kind, StartErrorKind::kPortInUse) << broker.error().text;
}

TEST(BrokerProcess, ListensOnThePortThatWasAskedFor) {
  const auto reserved = reserve_port("127.0.0.1");
  ASSERT_TRUE(reserved) << reserved.error();
  World world({.port = reserved->port});
  EXPECT_EQ(world.broker->port(), reserved->port);
  EXPECT_EQ(world.connect("c").ask({"GET", "k"}), "$-1\r\n");
}

TEST(BrokerProcess, WithoutStoreIsAnOrdinaryBroker) {
  World world({.with_store = false});
  Peer client = world.connect("c");
  client.publish({.topic = "replies/c", .payload = "hello"});
  EXPECT_EQ(client.receive(), "hello");
  client.send({"GET", "k"});
  EXPECT_EQ(client.receive(100ms), "nothing");
}

TEST(BrokerProcess, SaysWhyItDidNotStart) {
  // A mosquitto that gives up leaves its configuration to the system; in a sanitized build its
  // words about that would follow those of the plugin.
  // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread here
  const char* before = getenv("LSAN_OPTIONS");
  const std::string kept = before == nullptr ? "" : before;
  setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
  const auto broker = BrokerProcess::start({.authorization_json = "{not json"});
  setenv("LSAN_OPTIONS", kept.c_str(), 1);
  // NOLINTEND(concurrency-mt-unsafe)
  ASSERT_FALSE(broker);
  EXPECT_EQ(broker.error().kind, StartErrorKind::kFailed);
  EXPECT_THAT(broker.error().text, HasSubstr("fencepost: "));
}

// It would be a further line of the broker's configuration: a listener, or a foreign library.
TEST(BrokerProcess, RefusesValuesThatWouldBeLinesOfItsConfiguration) {
  const std::string more = "x\nlistener 25603 127.0.0.1";
  const std::filesystem::path file = more;
  for (const auto& [option, options] : std::vector<std::pair<std::string, BrokerOptions>>{
           {"--node-id", {.node_id = more}},
           {"--record", {.record = more}},
           {"--database", {.database = more}},
           {"--variant", {.right = "a\rb"}},
           {"--fault", {.fault = more}},
           {"--certificate", {.tls = TlsListener{.certificate = file, .key = "k"}}},
           {"--key", {.tls = TlsListener{.certificate = "c", .key = file}}},
           {"--client-ca", {.tls = TlsListener{.certificate = "c", .key = "k", .ca = file}}},
           {"--password-file",
            {.passwords = PasswordFile{.path = file, .user = "u", .password = "p"}}}}) {
    const auto broker = BrokerProcess::start(options);
    ASSERT_FALSE(broker) << option;
    EXPECT_EQ(broker.error().kind, StartErrorKind::kBadValue) << broker.error().text;
    EXPECT_THAT(broker.error().text, StartsWith(option + ": "));
  }
}

TEST(BrokerProcess, WithAPrivateSocketHasNoPort) {
  const auto broker = take(BrokerProcess::start({.private_socket = true}));
  EXPECT_EQ(broker->port(), 0);
  EXPECT_EQ(broker->tls_port(), 0);
  const std::filesystem::path socket = broker->private_socket();
  EXPECT_TRUE(connect_unix(socket.string(), 1s));
  const auto mode = std::filesystem::status(socket.parent_path()).permissions();
  EXPECT_EQ(mode & std::filesystem::perms::mask, std::filesystem::perms::owner_all);
}

TEST(BrokerProcess, StopsInOrder) {
  const auto broker = take(BrokerProcess::start({}));
  EXPECT_TRUE(broker->running());
  broker->stop();
  EXPECT_FALSE(broker->running());
  EXPECT_NE(kill(broker->pid(), 0), 0);  // reaped
  broker->stop();                        // a second time does nothing
}

TEST(BrokerProcess, ItsDeathIsNoticed) {
  World world;
  Peer one = world.connect("one");
  Peer two = world.connect("two");
  ASSERT_TRUE(world.endpoint->check_reachable(1s));
  ASSERT_EQ(kill(world.broker->pid(), SIGKILL), 0);
  EXPECT_EQ(one.receive(), "disconnected");
  EXPECT_EQ(two.receive(), "disconnected");
  // The kernel closes the connections first, then the listening socket.
  while (world.broker->running()) std::this_thread::yield();
  const auto start = steady_clock::now();
  const auto reachable = world.endpoint->check_reachable(kPatience);
  EXPECT_LT(steady_clock::now() - start, kPatience);
  ASSERT_FALSE(reachable);
  EXPECT_EQ(reachable.error().kind, ErrorKind::kUnreachable);
  EXPECT_THAT(reachable.error().text, HasSubstr("refused"));
  EXPECT_EQ(world.session->connect({.client_id = "late"}).error().kind, ErrorKind::kUnreachable);
}

TEST(BrokerProcess, NothingCanBeSentOverALostConnection) {
  World world;
  Peer client = world.connect("c");
  const Message request = client.request({"GET", "k"});
  ASSERT_EQ(kill(world.broker->pid(), SIGKILL), 0);
  ASSERT_EQ(client.receive(), "disconnected");
  const auto sent = client->publish(request);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kLost);
  EXPECT_EQ(client->subscribe("x").error().kind, ErrorKind::kLost);
}

// A descriptor number is used again as soon as it is free.
TEST(BrokerProcess, DroppingALostClientHurtsNobodyElse) {
  World world;
  Peer offender = world.connect_with({.client_id = "offender", .droppable = true});
  Message request = offender.request({"GET", "k"});
  request.response_topic = "#";
  offender.publish(request);
  ASSERT_EQ(offender.receive(), "disconnected");
  Peer first = world.connect("first");
  Peer second = world.connect("second");
  offender->drop();
  EXPECT_EQ(first.ask({"GET", "k"}), "$-1\r\n");
  EXPECT_EQ(second.ask({"GET", "k"}), "$-1\r\n");
}

// The broker has the descriptors that it opened, and those of its configuration in memory.
TEST(BrokerProcess, InheritsNoConnections) {
  World one;
  Peer client = one.connect("c");
  const auto two = take(BrokerProcess::start({}));
  std::string sockets;
  const std::filesystem::path own = "/proc/self/fd";
  std::vector<std::filesystem::path> ours;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(own)) {
    ours.push_back(std::filesystem::read_symlink(entry.path(), gone));
  }
  const std::string directory = "/proc/" + std::to_string(two->pid()) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    const bool shared = std::find(ours.begin(), ours.end(), target) != ours.end();
    if (shared && target.string().starts_with("socket:")) sockets += target.string() + " ";
  }
  EXPECT_EQ(sockets, "");
}

// Started by OrphansDoNotStay: runs a broker until it is killed.
int hold_broker() {
  const auto broker = BrokerProcess::start({});
  if (!broker) return EXIT_FAILURE;
  std::cout << (*broker)->pid() << std::endl;
  while (true) pause();
}

TEST(BrokerProcess, OrphansDoNotStay) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string program = std::filesystem::read_symlink("/proc/self/exe");
  std::string mode = "--hold-broker";
  std::array<char*, 3> arguments = {program.data(), mode.data(), nullptr};
  pid_t parent = 0;
  ASSERT_EQ(posix_spawn(&parent, program.c_str(), &actions, nullptr, arguments.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  FILE* output = fdopen(ends[0], "r");
  std::array<char, 64> line{};
  ASSERT_NE(fgets(line.data(), line.size(), output), nullptr);
  fclose(output);
  const auto broker = static_cast<pid_t>(std::strtol(line.data(), nullptr, 10));
  ASSERT_GT(broker, 1);
  pollfd ended{
      .fd = static_cast<int>(syscall(SYS_pidfd_open, broker, 0)), .events = POLLIN, .revents = 0};
  ASSERT_GE(ended.fd, 0);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(poll(&ended, 1, 60'000), 1);
  close(ended.fd);
}

// ---- TLS and passwords ----

// A certification authority, another one, and what they signed; made once with openssl.
class Certificates {
 public:
  static const Certificates& get() {
    static const Certificates certificates;
    return certificates;
  }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const {
    return directory_.path() / name;
  }
  [[nodiscard]] TlsListener listener(const std::string& server, bool mutual) const {
    return {.certificate = file(server + ".pem"),
            .key = file(server + ".key"),
            .ca = file("ca.pem"),
            .require_certificate = mutual};
  }

 private:
  Certificates() {
    make_authority("ca");
    make_authority("stranger");
    sign("server", "ca", "subjectAltName=IP:127.0.0.1,DNS:localhost");
    sign("elsewhere", "ca", "subjectAltName=DNS:broker.example");
    sign("client", "ca", "extendedKeyUsage=clientAuth");
    sign("intruder", "stranger", "extendedKeyUsage=clientAuth");
  }
  [[nodiscard]] std::string new_key(const std::string& name) const {
    return "cd " + directory_.path().string() +
           " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2" +
           " -keyout " + name + ".key -out " + name + ".pem -subj /CN=" + name;
  }
  void make_authority(const std::string& name) { must_run(new_key(name)); }
  void sign(const std::string& name, const std::string& authority, const std::string& extension) {
    must_run(new_key(name) + " -CA " + authority + ".pem -CAkey " + authority +
             ".key -addext basicConstraints=critical,CA:FALSE -addext " + extension);
  }

  test::TemporaryFolder directory_;
};

// A broker with a TLS listener, and an endpoint that trusts its authority.
struct TlsWorld : World {
  TlsWorld(const TlsListener& listener, const std::function<void(MqttOptions&)>& adjust)
      : World({.tls = listener}, [&adjust](MqttOptions& options) {
          options.ca = Certificates::get().file("ca.pem");
          adjust(options);
        }) {}

  Error refusal() {
    const auto client = session->connect({.client_id = "c"});
    return client ? Error{ErrorKind::kInternal, "it was let in"} : client.error();
  }
};

void with_certificate(MqttOptions& options, const std::string& name) {
  options.certificate = Certificates::get().file(name + ".pem");
  options.key = Certificates::get().file(name + ".key");
}

TEST(BrokerTls, WorksWithoutClientCertificate) {
  for (const std::string host : {"127.0.0.1", "localhost"}) {
    TlsWorld world(Certificates::get().listener("server", false),
                   [&host](MqttOptions& options) { options.host = host; });
    Peer client = world.connect("c");
    EXPECT_EQ(client.ask({"SET", "k", "v"}), "+OK\r\n") << host;
    EXPECT_EQ(client.ask({"GET", "k"}), "$1\r\nv\r\n") << host;
  }
}

// What is not sent immediately is written later, from where it stands by then.
TEST(BrokerTls, SendsMoreThanTheSocketTakesAtOnce) {
  constexpr int kMessages = 30;
  TlsWorld world(Certificates::get().listener("server", false), [](MqttOptions&) {});
  Peer client = world.connect("c");
  const codec::Message message{
      .topic = "elsewhere", .payload = std::string(3 << 20, 'x'), .qos = 0};
  for (int i = 0; i < kMessages; ++i) {
    client.publish(message);
  }
  EXPECT_EQ(client.ask({"SET", "k", "v"}), "+OK\r\n");
}

TEST(BrokerTls, RefusesABrokerOfAnotherAuthority) {
  TlsWorld world(Certificates::get().listener("server", false), [](MqttOptions& options) {
    options.ca = Certificates::get().file("stranger.pem");
  });
  const Error error = world.refusal();
  EXPECT_EQ(error.kind, ErrorKind::kUnreachable);
  EXPECT_THAT(error.text, HasSubstr("its certificate is not signed by a trusted CA ("));
  EXPECT_THAT(error.text, HasSubstr("stranger.pem): self-signed certificate in certificate chain"));
}

TEST(BrokerTls, RefusesABrokerOfAnotherName) {
  TlsWorld world(Certificates::get().listener("elsewhere", false), [](MqttOptions&) {});
  const Error error = world.refusal();
  EXPECT_EQ(error.kind, ErrorKind::kUnreachable);
  EXPECT_THAT(error.text, HasSubstr("its certificate is not for 127.0.0.1: IP address mismatch"));
}

TEST(BrokerTls, AuthenticatesBothSides) {
  TlsWorld world(Certificates::get().listener("server", true),
                 [](MqttOptions& options) { with_certificate(options, "client"); });
  EXPECT_EQ(world.connect("c").ask({"GET", "k"}), "$-1\r\n");
}

TEST(BrokerTls, RefusesAClientWithoutCertificateOrWithAForeignOne) {
  for (const bool foreign : {false, true}) {
    TlsWorld world(Certificates::get().listener("server", true), [&](MqttOptions& options) {
      if (foreign) with_certificate(options, "intruder");
    });
    const Error error = world.refusal();
    EXPECT_EQ(error.kind, ErrorKind::kUnreachable) << foreign;
    EXPECT_THAT(error.text, HasSubstr(foreign ? "unknown ca" : "it requires a client certificate"));
  }
}

TEST(BrokerTls, SaysThatAPortIsPlainOrIsNot) {
  TlsWorld plain(Certificates::get().listener("server", false),
                 [](MqttOptions& options) { options.tls = false; });
  EXPECT_THAT(plain.refusal().text, HasSubstr("write mqtts://"));
  World world({}, [](MqttOptions& options) { options.tls = true; });
  const auto client = world.session->connect({.client_id = "c"});
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().text, HasSubstr("write mqtt://"));
}

TEST(BrokerTls, NamesAFileThatCannotBeRead) {
  TlsWorld world(Certificates::get().listener("server", false),
                 [](MqttOptions& options) { options.ca = "/nonexistent/ca.pem"; });
  const Error error = world.refusal();
  EXPECT_EQ(error.kind, ErrorKind::kUnreachable);
  EXPECT_THAT(error.text, HasSubstr("cannot use the CA certificates in /nonexistent/ca.pem: "));
}

TEST(BrokerPassword, LetsInWhoKnowsItAndNobodyElse) {
  const test::TemporaryFolder directory;
  const std::string file = directory.path() / "passwords";
  const std::string long_password = repeated('p', 200);
  must_run("mosquitto_passwd -b -c " + file + " ann secret");
  must_run("mosquitto_passwd -b " + file + " bob " + long_password);
  for (const Credentials& good :
       {Credentials{"ann", "secret"}, Credentials{"bob", long_password}}) {
    SCOPED_TRACE(good.user);
    const PasswordFile passwords{file, good.user, good.password};
    World world({.passwords = passwords}, [&good](MqttOptions& options) {
      options.credentials = good;
      options.roles = {
          {"wrong", {good.user, "guess"}}, {"unknown", {"eve", "secret"}}, {"none", {""}}};
    });
    EXPECT_EQ(world.connect("c").ask({"GET", "k"}), "$-1\r\n");
    for (const std::string role : {"wrong", "unknown", "none"}) {
      const auto client = world.session->connect({.client_id = "c", .role = role});
      ASSERT_FALSE(client) << role;
      EXPECT_EQ(client.error().kind, ErrorKind::kNotAllowed) << role;
      EXPECT_EQ(client.error().reason_code, 0x87) << role;
      EXPECT_THAT(client.error().text, Not(HasSubstr("guess"))) << role;
    }
    EXPECT_EQ(world.session->connect({.client_id = "c", .role = "other"}).error().kind,
              ErrorKind::kInvalid);
  }
}

}  // namespace

// Outside the unnamed namespace only for main().
int run_as_holder() { return hold_broker(); }

}  // namespace fencepost::endpoint

int main(int argument_count, char** arguments) {
  if (argument_count > 1 && std::string(arguments[1]) == "--hold-broker") {
    return fencepost::endpoint::run_as_holder();
  }
  testing::InitGoogleTest(&argument_count, arguments);
  return RUN_ALL_TESTS();
}
