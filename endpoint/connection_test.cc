// What a broker may do to our own client: with anything that it sends, the connection ends at
// worst, with a word that says why.
#include "endpoint/connection.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/mqtt.h"
#include "endpoint/poll_loop.h"
#include "endpoint/socket.h"
#include "endpoint/wire/packet.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A limit for what must happen; nothing waits that long. TCP may wait for two minutes before it
// sends again to a receiver whose buffer was full.
constexpr Duration kPatience = 300s;

// A broker of a few lines, for one client: it does what its script says.
class ScriptedBroker {
 public:
  using Script = std::function<void(ScriptedBroker&)>;

  explicit ScriptedBroker(Script script)
      : script_(std::move(script)), listener_(listen_on_free_port(port_)) {
    thread_ = std::thread([this] {
      peer_ = std::make_unique<Socket>(accept(listener_.descriptor(), nullptr, nullptr));
      if (peer_->descriptor() >= 0) script_(*this);
      peer_.reset();
    });
  }
  ~ScriptedBroker() {
    shutdown(listener_.descriptor(), SHUT_RDWR);
    join();
  }
  // Waits until its script is over.
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  ScriptedBroker(const ScriptedBroker&) = delete;
  ScriptedBroker& operator=(const ScriptedBroker&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

  // False once the client has gone.
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(peer_->descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  bool write(const wire::Packet& packet) { return write(wire::encode(packet).value()); }

  // The next packet of the client; nothing when it has gone.
  std::optional<wire::Packet> read() {
    while (true) {
      auto decoded = wire::decode(in_, wire::kLargestPacket).value();
      if (decoded) {
        in_.erase(0, decoded->size);
        return std::move(decoded->packet);
      }
      std::string part(4096, ' ');
      const ssize_t count = ::recv(peer_->descriptor(), part.data(), part.size(), 0);
      if (count <= 0) return std::nullopt;
      in_.append(part, 0, static_cast<std::size_t>(count));
    }
  }
  // The bytes of the next packet, which begins with `first` and has less than 128 more; empty when
  // it does not.
  std::string read_bytes(unsigned char first) {
    while (in_.size() < 2 || in_.size() < 2U + static_cast<unsigned char>(in_[1])) {
      std::string part(4096, ' ');
      const ssize_t count = ::recv(peer_->descriptor(), part.data(), part.size(), 0);
      if (count <= 0) return {};
      in_.append(part, 0, static_cast<std::size_t>(count));
    }
    std::string out = in_.substr(0, 2U + static_cast<unsigned char>(in_[1]));
    in_.erase(0, out.size());
    return static_cast<unsigned char>(out[0]) == first ? out : "";
  }
  template <typename Packet>
  std::optional<Packet> read_a() {
    const auto packet = read();
    if (!packet || !std::holds_alternative<Packet>(*packet)) return std::nullopt;
    return std::get<Packet>(*packet);
  }
  void greet(const wire::Connack& connack = {}) {
    read();
    write(connack);
  }
  // Until the client goes.
  void listen() {
    while (read()) {
    }
  }

 private:
  Script script_;
  std::uint16_t port_ = 0;
  Socket listener_;
  std::unique_ptr<Socket> peer_;
  std::string in_;
  std::thread thread_;
};

struct World {
  explicit World(ScriptedBroker::Script script, Duration timeout = kPatience)
      : broker(std::move(script)) {
    MqttOptions options;
    options.host = "127.0.0.1";
    options.port = broker.port();
    options.timeout = timeout;
    endpoint = make_mqtt_endpoint(std::move(options));
    session = endpoint->open_session().value();
  }
  std::unique_ptr<Client> connect(const ClientOptions& options = {.client_id = "c"}) const {
    return session->connect(options).value();
  }

  ScriptedBroker broker;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Session> session;
};

// The words with which a connection ended; those that come before it are read.
std::string end_of(Client& client) {
  while (const auto event = client.receive(kPatience)) {
    if (const auto* gone = std::get_if<Disconnected>(&event->what)) return gone->text;
  }
  return "it continues";
}

TEST(Connection, EndsWithAWordWhateverABrokerSends) {
  struct Case {
    std::string bytes;
    std::string text;
  };
  for (const Case& row : std::vector<Case>{
           {"\x50\2\0\1"s, "a PUBREC for a PUBLISH of QoS 1"},
           {"\x40\2\0\7"s, "a PUBACK for a packet that was not sent"},
           {"\x70\2\0\1"s, "a PUBCOMP for a PUBLISH of QoS 1"},
           {"\x20\3\0\0\0"s, "a second CONNACK"},
           {"\x90\4\0\1\0\1"s, "a SUBACK for no SUBSCRIBE"},
           {"\xb0\4\0\1\0\0"s, "an UNSUBACK for no UNSUBSCRIBE"},
           {"\xf0\0"s, "an AUTH, which no broker sends"},
           {"\xc0\0"s, "a PINGREQ, which no broker sends"},
           {"\xd0\0"s, "a PINGRESP for no PINGREQ"},
           {"\x82\7\0\1\0\0\1a\1"s, "a SUBSCRIBE, which no broker sends"},
           {"\x30\7\0\1t\3\x23\0\1"s, "a PUBLISH with a topic alias, of which we take none"},
           {"\x30\3\0\0\0"s, "a PUBLISH without a topic"},
           {"\x30\5\0\2t#\0"s, "a PUBLISH whose topic has a wildcard"},
           {"\x30\5\0\2t\xff\0"s, "a PUBLISH with a topic that is not UTF-8"},
           {"\x30\x0b\0\1t\7\x26\0\1a\0\1\0"s, "a PUBLISH with a user property with U+0000"},
           {"\x36\6\0\1t\0\1\0"s, "a PUBLISH with QoS 3"},
           {"\x30\xff\xff\xff\x7f"s, "a PUBLISH of 268435460 bytes, where 20971520 is the most"},
           {"\xff\xff\xff\xff\xff"s, "an AUTH with flags that cannot be"},
           {"\xe0\0"s, ""},
       }) {
    int reason = -1;
    {
      World world([&](ScriptedBroker& broker) {
        broker.greet();
        broker.read_a<wire::Publish>();
        broker.write(row.bytes);
        if (const auto last = broker.read_a<wire::Disconnect>()) reason = last->reason;
      });
      const auto client = world.connect();
      ASSERT_TRUE(client->publish({.topic = "t"}));
      EXPECT_EQ(end_of(*client), row.text);
      const auto sent = client->publish({.topic = "t"});
      ASSERT_FALSE(sent) << row.text;
      EXPECT_EQ(sent.error().kind, ErrorKind::kLost);
      EXPECT_THAT(sent.error().text, HasSubstr(row.text));
    }
    if (!row.text.empty()) {
      EXPECT_GE(reason, 0x80) << row.text;
    }
  }
}

Disconnected how_it_ended(Client& client) {
  while (const auto event = client.receive(kPatience)) {
    if (const auto* gone = std::get_if<Disconnected>(&event->what)) return *gone;
  }
  return {.text = "it continues"};
}

// What MQTT 5 forbids a server has its section; what is too much for us alone has none.
TEST(Connection, NamesTheSectionOfWhatIsForbidden) {
  const auto section_of = [](const std::string& bytes) {
    World world([&](ScriptedBroker& broker) {
      broker.greet();
      broker.write(bytes);
      broker.listen();
    });
    const auto client = world.connect();
    return how_it_ended(*client).section;
  };
  EXPECT_EQ(section_of("\xd0\0"s), "3.13");
  EXPECT_EQ(section_of("\x36\6\0\1t\0\1\0"s), "3.3.1");
  EXPECT_EQ(section_of("\x32\6\0\1t\0\0\0"s), "2.2.1");  // packet identifier 0
  EXPECT_EQ(section_of("\x30\6\0\1t\2\2\1"s), "4.13");   // properties without an end
  EXPECT_EQ(section_of("\x30\5\0\2t\xff\0"s), "1.5.4");
  EXPECT_EQ(section_of("\x30\xff\xff\xff\x7f"s), "");
  EXPECT_EQ(section_of("\xe0\0"s), "");
}

TEST(Connection, RefusesASessionThatItHasNotAskedFor) {
  World world([](ScriptedBroker& broker) {
    broker.greet({.session_present = true});
    broker.listen();
  });
  const auto client = world.session->connect({.client_id = "c"});
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().text, HasSubstr("Session Present after a CONNECT with Clean Start"));
}

// MQTT 5, 3.3.1.3: once for each subscription, and then without the flag.
TEST(Connection, RefusesRetainedMessagesThatNoSubscriptionBrings) {
  const auto section_after = [](int retained, std::uint8_t options) {
    World world([&](ScriptedBroker& broker) {
      broker.greet();
      const auto subscribe = broker.read_a<wire::Subscribe>();
      if (!subscribe) return;
      broker.write(wire::Suback{.packet_id = subscribe->packet_id, .reasons = {1}});
      for (int i = 0; i < retained; ++i) broker.write(wire::Publish{.retain = true, .topic = "a"});
      broker.write(wire::Publish{.retain = true, .topic = "b"});
      broker.write(wire::Disconnect{});
      broker.listen();
    });
    const auto client =
        world.session->connect({.client_id = "c", .extras = {.subscription_options = options}});
    EXPECT_TRUE((*client)->subscribe("#"));
    return how_it_ended(**client).section;
  };
  EXPECT_EQ(section_after(1, 0), "");
  EXPECT_EQ(section_after(2, 0), "3.3.1.3");
  EXPECT_EQ(section_after(2, 8), "");
}

TEST(Connection, RefusesMoreReasonCodesThanFilters) {
  World world([](ScriptedBroker& broker) {
    broker.greet();
    const auto subscribe = broker.read_a<wire::Subscribe>();
    if (!subscribe) return;
    broker.write(wire::Suback{.packet_id = subscribe->packet_id, .reasons = {1, 1}});
    broker.listen();
  });
  const auto client = world.connect();
  const auto done = client->subscribe("a");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr("a SUBACK with 2 reason codes for 1 filter"));
  EXPECT_EQ(how_it_ended(*client).section, "3.9.3");
}

// MQTT 5, 4.3.2
TEST(Connection, EndsWhereWhatItPublishedIsNotAcknowledged) {
  World world([](ScriptedBroker& broker) {
    broker.greet();
    broker.listen();
  });
  const auto client = world.connect();
  ASSERT_TRUE(client->publish({.topic = "t", .qos = 1}));
  client->await_acknowledgements(20ms);
  const Disconnected end = how_it_ended(*client);
  EXPECT_EQ(end.section, "4.3.2");
  EXPECT_THAT(end.text, HasSubstr("the PUBLISH with packet identifier 1 and QoS 1"));
}

TEST(Connection, GoesOnWhereEverythingIsAcknowledged) {
  World world([](ScriptedBroker& broker) {
    broker.greet();
    const auto publish = broker.read_a<wire::Publish>();
    if (!publish) return;
    broker.write(wire::Ack{.kind = wire::AckKind::kPuback, .packet_id = publish->packet_id});
    broker.write(wire::Publish{.topic = "t"});
    broker.listen();
  });
  const auto client = world.connect();
  client->await_acknowledgements(kPatience);  // of nothing
  ASSERT_TRUE(client->publish({.topic = "t", .qos = 1}));
  client->await_acknowledgements(kPatience);
  const auto event = client->receive(kPatience);
  ASSERT_TRUE(event);
  EXPECT_TRUE(std::holds_alternative<MessageReceived>(event->what));
}

// MQTT 5, 3.4.2.1: 0x00 and 0x10 are successes, and there are no others.
TEST(Connection, TakesAPubackOfAReasonThatMqttDoesNotHaveForARefusal) {
  constexpr std::uint8_t kUndefined = 0x01;
  World world([](ScriptedBroker& broker) {
    broker.greet();
    for (const std::uint8_t reason : std::initializer_list<std::uint8_t>{0, 0x10, kUndefined}) {
      const auto publish = broker.read_a<wire::Publish>();
      if (!publish) return;
      broker.write(wire::Ack{
          .kind = wire::AckKind::kPuback, .packet_id = publish->packet_id, .reason = reason});
    }
    broker.listen();
  });
  const auto client = world.connect();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client->publish({.topic = "t", .qos = 1}));
  const auto event = client->receive(kPatience);
  ASSERT_TRUE(event);
  const auto* refused = std::get_if<PublishRefused>(&event->what);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->reason_code, kUndefined);
}

// MQTT 5, 2.2.1: nothing is acknowledged of what one read gives.
TEST(Connection, RefusesAPacketIdentifierThatIsInUse) {
  const auto end_of = [](bool duplicate) -> std::string {
    World world([duplicate](ScriptedBroker& broker) {
      broker.greet();
      wire::Publish publish{.duplicate = false, .qos = 1, .packet_id = 7, .topic = "t"};
      const std::string first = wire::encode(publish).value();
      publish.duplicate = duplicate;
      broker.write(first + wire::encode(publish).value());
      broker.listen();
    });
    const auto client = world.connect();
    for (int messages = 0; messages < 2; ++messages) {
      const auto event = client->receive(kPatience);
      if (!event) return "nothing came";
      if (const auto* end = std::get_if<Disconnected>(&event->what)) return end->text;
    }
    return "both came";
  };
  EXPECT_THAT(end_of(false), HasSubstr("a PUBLISH with packet identifier 7, as an earlier one"));
  EXPECT_EQ(end_of(true), "both came");
}

TEST(Connection, TellsTheReasonOfADisconnect) {
  World world([](ScriptedBroker& broker) {
    broker.greet();
    broker.write(wire::Disconnect{.reason = 0x8e});
    broker.listen();
  });
  const auto event = world.connect()->receive(kPatience);
  ASSERT_TRUE(event);
  ASSERT_TRUE(std::holds_alternative<Disconnected>(event->what));
  EXPECT_EQ(std::get<Disconnected>(event->what).reason_code, 0x8e);
}

TEST(Connection, ThatIsNotAnsweredSaysSo) {
  const auto refusal = [](ScriptedBroker::Script script) {
    World world(std::move(script));
    const auto client = world.session->connect({.client_id = "c"});
    return client ? "connected" : client.error().text;
  };
  EXPECT_THAT(refusal([](ScriptedBroker& broker) { broker.read(); }),
              StartsWith("the broker ended the connection without answering the CONNECT"));
  EXPECT_THAT(refusal([](ScriptedBroker& broker) {
                broker.read();
                broker.write("HTTP/1.1 400 Bad Request\r\n\r\n");
                broker.listen();
              }),
              "the port does not speak MQTT: its answer begins with \"HTTP/1.1 400 Bad Request\"");
  EXPECT_THAT(refusal([](ScriptedBroker& broker) {
                broker.read();
                broker.write("\x48\1\x8d"s);
                broker.listen();
              }),
              HasSubstr("without answering the CONNECT: a PUBACK with flags"));
  EXPECT_THAT(refusal([](ScriptedBroker& broker) {
                broker.read();
                broker.write("\xe0\1\x8d"s);
                broker.listen();
              }),
              HasSubstr("a DISCONNECT before the CONNACK"));
}

TEST(HeldBytes, AreThoseOfAll) {
  HeldBytes one;
  HeldBytes other;
  EXPECT_TRUE(one.try_add(kMaxHeldOfAll));
  EXPECT_FALSE(one.is_too_much());
  EXPECT_TRUE(other.try_add(kHeldOfEach));  // which each may have
  EXPECT_TRUE(one.is_too_much());
  EXPECT_FALSE(other.try_add(1));
  EXPECT_EQ(other.own(), kHeldOfEach);
  one.remove(kHeldOfEach + 1);
  EXPECT_TRUE(other.try_add(1));
  {
    HeldBytes gone;
    gone.add(kMaxHeldOfAll);
  }
  EXPECT_FALSE(other.is_too_much());
}

// Many connections with a large packet each would fill the memory.
TEST(Connection, EndsWhenAllTogetherHoldTooMuch) {
  HeldBytes others;
  others.add(kMaxHeldOfAll);
  World world([](ScriptedBroker& broker) {
    broker.greet();
    broker.write(wire::encode(wire::Publish{.topic = "t", .payload = "small"}).value());
    broker.write(
        wire::encode(wire::Publish{.topic = "t", .payload = std::string(1 << 20, 'x')}).value());
    broker.listen();
  });
  const auto client = world.connect();
  const auto small = client->receive(kPatience);
  ASSERT_TRUE(small && std::holds_alternative<MessageReceived>(small->what));
  const auto end = client->receive(kPatience);
  ASSERT_TRUE(end);
  const auto* gone = std::get_if<Disconnected>(&end->what);
  ASSERT_NE(gone, nullptr);
  EXPECT_THAT(gone->text, HasSubstr("the endpoint floods: a packet of 1048584 bytes"));
}

// It sends messages without end, and no SUBACK.
TEST(Connection, EndsWhenTheBrokerFloods) {
  World world([](ScriptedBroker& broker) {
    broker.greet();
    const std::string message =
        wire::encode(wire::Publish{.topic = "t", .payload = std::string(1 << 20, 'x')}).value();
    while (broker.write(message)) {
    }
  });
  const auto client = world.connect();
  std::size_t bytes = 0;
  const auto refused = client->subscribe("x");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("the endpoint floods: 63 messages of "));
  while (const auto event = client->receive(0s)) {
    const auto* message = std::get_if<MessageReceived>(&event->what);
    if (message == nullptr) break;
    bytes += message->message.payload.size();
  }
  EXPECT_EQ(bytes, std::size_t{63} << 20U);
}

// There is always something to read: that must not keep anybody from looking at the time.
TEST(Connection, IsNotKeptByABrokerThatNeverStops) {
  const World world([](ScriptedBroker& broker) {
    broker.greet();
    const auto message = wire::encode(wire::Ack{.kind = wire::AckKind::kPubrel, .packet_id = 1});
    std::string batch;
    for (int i = 0; i < 5'000; ++i) batch += message.value();
    while (broker.write(batch)) {
    }
  });
  const auto client = world.connect();
  EXPECT_FALSE(client->receive(100ms)) << "it is no event, and the connection has not ended";
}

// A broker that sends faster than its messages are read has to wait.
TEST(Connection, TakesWhatIsReadAsFastAsItComes) {
  constexpr std::size_t kMessages = 200'000;
  World world([](ScriptedBroker& broker) {
    broker.greet();
    std::string batch;
    for (int i = 0; i < 100; ++i) batch += wire::encode(wire::Publish{.topic = "t"}).value();
    for (std::size_t sent = 0; sent < kMessages; sent += 100) broker.write(batch);
    broker.listen();
  });
  const auto client = world.connect();
  std::size_t count = 0;
  while (count < kMessages && client->receive(kPatience)) ++count;
  EXPECT_EQ(count, kMessages);
}

// Each connection is waited for in a thread of its own, and all of them count.
TEST(PollLoop, CountsInAllThreads) {
  constexpr int kTimes = 10'000;
  PollLoop loop;
  std::thread other([&] {
    for (int i = 0; i < kTimes; ++i) loop.note_unacknowledged();
  });
  int before = 0;
  while (before < kTimes) {
    const int now = loop.unacknowledged();
    EXPECT_GE(now, before);
    before = now;
  }
  other.join();
  EXPECT_EQ(before, kTimes);
}

TEST(Connection, SendsNoMoreAtOnceThanTheBrokerReceives) {
  constexpr std::size_t kMessages = 50;
  std::atomic<std::size_t> most = 0;
  std::atomic<std::size_t> came = 0;
  World world([&](ScriptedBroker& broker) {
    wire::Connack connack;
    connack.properties.add(wire::PropertyId::kReceiveMaximum, 3);
    broker.greet(connack);
    std::vector<std::uint16_t> open;
    while (came < kMessages) {
      while (open.size() < 3 && came < kMessages) {
        const auto publish = broker.read_a<wire::Publish>();
        if (!publish) return;
        open.push_back(publish->packet_id);
        ++came;
      }
      most = std::max(most.load(), open.size());
      broker.write(wire::Ack{.packet_id = open.back()});
      open.pop_back();
    }
    for (const std::uint16_t id : open) broker.write(wire::Ack{.packet_id = id});
    broker.listen();
  });
  {
    const auto client = world.connect();
    for (std::size_t i = 0; i < kMessages; ++i) ASSERT_TRUE(client->publish({.topic = "t"}));
    while (came < kMessages) std::this_thread::yield();
  }
  EXPECT_EQ(most.load(), 3U);
}

// All of its subscriptions are of QoS 1. (MQTT 5, 3.8.4)
TEST(Connection, TakesNothingOfQosTwo) {
  World world([](ScriptedBroker& broker) {
    broker.greet();
    broker.write(wire::Ack{.kind = wire::AckKind::kPubrel, .packet_id = 9});
    const auto answer = broker.read_a<wire::Ack>();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->reason, 0x92);
    broker.write(wire::Publish{.qos = 2, .packet_id = 9, .topic = "t", .payload = "once"});
    broker.listen();
  });
  const auto client = world.connect();
  EXPECT_EQ(how_it_ended(*client).section, "3.8.4");
}

TEST(Connection, PublishesQosTwo) {
  for (const auto reason : {std::uint8_t{0}, std::uint8_t{0x97}}) {
    std::atomic<bool> released = false;
    World world([&](ScriptedBroker& broker) {
      broker.greet();
      const auto publish = broker.read_a<wire::Publish>();
      if (!publish) return;
      const std::uint16_t id = publish->packet_id;
      broker.write(wire::Ack{.kind = wire::AckKind::kPubrec, .packet_id = id, .reason = reason});
      if (reason == 0) {
        released = broker.read_a<wire::Ack>() == wire::Ack{wire::AckKind::kPubrel, id};
        broker.write(wire::Ack{.kind = wire::AckKind::kPubcomp, .packet_id = id});
      }
      broker.write(wire::Publish{.topic = "t"});
      broker.listen();
    });
    const auto client = world.connect();
    ASSERT_TRUE(client->publish({.topic = "t", .qos = 2, .correlation_data = "id"}));
    const auto event = client->receive(kPatience);
    ASSERT_TRUE(event);
    const auto* refused = std::get_if<PublishRefused>(&event->what);
    EXPECT_EQ(refused != nullptr, reason != 0);
    if (refused != nullptr) {
      EXPECT_EQ(refused->correlation_data, "id");
    }
    EXPECT_EQ(released.load(), reason == 0);
  }
}

// What the broker has sent before it ended the connection is not lost.
TEST(Connection, DeliversWhatCameBeforeItsEnd) {
  World world([](ScriptedBroker& broker) {
    broker.greet();
    for (const char* payload : {"one", "two"}) {
      broker.write(wire::Publish{.topic = "t", .payload = payload});
    }
  });
  const auto client = world.connect();
  for (const char* expected : {"one", "two"}) {
    const auto event = client->receive(kPatience);
    ASSERT_TRUE(event);
    EXPECT_EQ(std::get<MessageReceived>(event->what).message.payload, expected);
  }
  EXPECT_EQ(end_of(*client), "");
}

std::chrono::nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Its owner may keep it for as long as it likes.
TEST(Connection, ComputesNothingBehindItsEnd) {
  World world([](ScriptedBroker& broker) { broker.greet(); });
  const auto client = world.connect();
  EXPECT_EQ(end_of(*client), "");
  const auto before = processor_time();
  std::this_thread::sleep_for(400ms);
  EXPECT_LT(processor_time() - before, 200ms);
}

TEST(Connection, SaysFarewell) {
  bool left = false;
  {
    World world([&](ScriptedBroker& broker) {
      broker.greet();
      left = broker.read_a<wire::Disconnect>() == wire::Disconnect{};
    });
    world.connect();
  }
  EXPECT_TRUE(left);
  {
    World world([&](ScriptedBroker& broker) {
      broker.greet();
      left = broker.read().has_value();
    });
    const auto client = world.connect({.client_id = "c", .droppable = true});
    client->drop();
    EXPECT_FALSE(client->receive(0s));
  }
  EXPECT_FALSE(left);
}

// The socket's buffers are full: publish() waits, and continues.
TEST(Connection, SendsToABrokerThatReadsLate) {
  constexpr std::size_t kMessages = 40;
  std::atomic<std::size_t> came = 0;
  World world([&](ScriptedBroker& broker) {
    broker.greet();
    while (came < kMessages && broker.read_a<wire::Publish>()) ++came;
    broker.listen();
  });
  const auto client = world.connect();
  const std::string payload(1 << 20, 'x');
  for (std::size_t i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(client->publish({.topic = "t", .payload = payload, .qos = 0}));
  }
  while (came < kMessages) ASSERT_FALSE(client->receive(10ms));
}

TEST(Connection, TakesAMessageByteByByte) {
  World world([](ScriptedBroker& broker) {
    broker.greet();
    const auto bytes = wire::encode(wire::Publish{.topic = "t", .payload = "v"});
    for (const char byte : *bytes) broker.write(std::string(1, byte));
    broker.listen();
  });
  const auto event = world.connect()->receive(kPatience);
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<MessageReceived>(event->what).message.payload, "v");
}

// What the broker reads, byte for byte.
TEST(Connection, SendsRawPacketsAsGiven) {
  std::string seen;
  World world([&](ScriptedBroker& broker) {
    broker.greet();
    seen = broker.read_bytes(0x3e);
    broker.listen();
  });
  EXPECT_TRUE(world.endpoint->capabilities().raw_packets);
  const auto client = world.connect();
  codec::Message message{.topic = "t", .payload = "p", .response_topic = "r"};
  ASSERT_TRUE(client->publish_raw(
      message, {.duplicate = true, .qos_3 = true, .packet_id = 777, .more_properties = "\x7f"}));
  client->drop();
  world.broker.join();
  EXPECT_EQ(seen, "\x3e\x0c\0\1t\x03\x09\5\x08\0\1r\x7fp"s);
}

// As of any request, so that a refusal finds it.
TEST(Connection, KnowsTheAcknowledgementOfARawPacket) {
  World world([&](ScriptedBroker& broker) {
    broker.greet();
    broker.read();
    broker.write(wire::Ack{.kind = wire::AckKind::kPuback, .packet_id = 777, .reason = 0x87});
    broker.listen();
  });
  const auto client = world.connect();
  const codec::Message message{.topic = "t", .correlation_data = "c"};
  ASSERT_TRUE(client->publish_raw(message, {.duplicate = true, .packet_id = 777}));
  const auto event = client->receive(kPatience);
  ASSERT_TRUE(event && std::holds_alternative<PublishRefused>(event->what));
  EXPECT_EQ(std::get<PublishRefused>(event->what).correlation_data, "c");
}

// MQTT 5, 3.3.4: a broker may end the connection of a client that sends more.
TEST(Connection, SendsNoMoreRawPacketsAtOnceThanTheBrokerReceives) {
  std::atomic<bool> acknowledged = false;
  World world([&](ScriptedBroker& broker) {
    wire::Connack connack;
    connack.properties.add(wire::PropertyId::kReceiveMaximum, 1);
    broker.greet(connack);
    for (int i = 0; i < 2; ++i) {
      const auto publish = broker.read_a<wire::Publish>();
      if (!publish) return;
      if (i == 0) std::this_thread::sleep_for(20ms);
      acknowledged = true;
      broker.write(wire::Ack{.packet_id = publish->packet_id});
    }
    broker.listen();
  });
  const auto client = world.connect();
  ASSERT_TRUE(client->publish({.topic = "t"}));
  ASSERT_TRUE(client->publish_raw({.topic = "t"}, {.duplicate = true}));
  EXPECT_TRUE(acknowledged);
}

ClientOptions mqtt311_client() { return {.client_id = "c", .mqtt_3_1_1 = true}; }

TEST(Mqtt311Client, PublishesAndKnowsThatItWasRead) {
  std::string seen;
  World world([&](ScriptedBroker& broker) {
    seen = broker.read_bytes(0x10);
    broker.write("\x20\2\0\0"s);
    seen += broker.read_bytes(0x32);
    broker.write("\x40\2\0\1"s);
    seen += broker.read_bytes(0x82);
    broker.write("\x90\3\0\2\1"s);
    (void)broker.read_bytes(0xe0);
  });
  const auto client = world.connect(mqtt311_client());
  ASSERT_TRUE(client->publish({.topic = "t", .payload = "p"}));
  ASSERT_TRUE(client->subscribe("f"));
  EXPECT_FALSE(client->receive(Duration{1}));
  client->disconnect();
  world.broker.join();
  EXPECT_EQ(seen, "\x10\x0d\0\4MQTT\4\2\0\x3c\0\1c\x32\6\0\1t\0\1p\x82\6\0\2\0\1f\1"s);
}

TEST(Mqtt311Client, KnowsARefusalFromAnEnd) {
  World refused([&](ScriptedBroker& broker) {
    (void)broker.read_bytes(0x10);
    broker.write("\x20\2\0\1"s);
  });
  const auto no = refused.session->connect(mqtt311_client());
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().kind, ErrorKind::kNotAllowed);
  EXPECT_THAT(no.error().text, HasSubstr("return code 1"));
  World silent([&](ScriptedBroker& broker) { (void)broker.read_bytes(0x10); });
  const auto gone = silent.session->connect(mqtt311_client());
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::kNotAllowed);
  World later([&](ScriptedBroker& broker) {
    (void)broker.read_bytes(0x10);
    broker.write("\x20\2\0\0"s);
    (void)broker.read_bytes(0x32);
  });
  const auto client = later.connect(mqtt311_client());
  ASSERT_TRUE(client->publish({.topic = "t", .payload = "p"}));
  const auto read = client->subscribe("f");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kLost);
  const auto event = client->receive(kPatience);
  ASSERT_TRUE(event && std::holds_alternative<Disconnected>(event->what));
}

}  // namespace
}  // namespace fencepost::endpoint
