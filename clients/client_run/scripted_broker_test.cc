#include "clients/client_run/scripted_broker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/command.h"
#include "codec/topics.h"
#include "hlc/hlc.h"

namespace fencepost::client_run {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::PropertyId;

constexpr Time kNoon{std::chrono::milliseconds{1'795'435'200'000}};

// A client of a few lines, on connection 1.
class ClientOfBroker {
 public:
  explicit ClientOfBroker(const BrokerOptions& options = {}) : broker(options) {}

  void begin(const wire::Connect& connect = {.client_id = "me"}) {
    broker.opened(1);
    send(connect);
    send(wire::Subscribe{.packet_id = 9, .subscriptions = {{"r", 1}}});
  }
  void send(const wire::Packet& packet) { broker.received(1, *wire::encode(packet), now); }
  void ask(const codec::Command& command, const std::string& correlation = "c") {
    wire::Publish publish{.qos = 1,
                          .packet_id = next_id++,
                          .topic = std::string(codec::kRequestTopic),
                          .payload = codec::encode(command)};
    publish.properties.add(PropertyId::kResponseTopic, std::string("r"));
    publish.properties.add(PropertyId::kCorrelationData, correlation);
    publish.properties.add_user(
        "__ts",
        hlc::format({.wall_ms = static_cast<std::uint64_t>(now.count()) / 1000, .node = "me"}));
    send(publish);
  }
  // What comes by that time: packets by name, of PUBLISHes the payload and the correlation data.
  std::vector<std::string> got(milliseconds later = {}) {
    now += later;
    std::vector<std::string> out;
    for (const Outgoing& each : broker.take_due(now)) {
      if (!each.bytes.empty()) out.push_back(text_of(each.bytes));
      if (each.close) out.emplace_back("cut");
    }
    return out;
  }

  ScriptedBroker broker;
  Time now = kNoon;
  std::uint16_t next_id = 1;

 private:
  static std::string text_of(const std::string& bytes) {
    const auto decoded = wire::decode(bytes, bytes.size());
    const wire::Packet& packet = (*decoded)->packet;
    const auto* publish = std::get_if<wire::Publish>(&packet);
    if (publish == nullptr) return std::string(wire::name(packet));
    const auto* correlation = publish->properties.find(PropertyId::kCorrelationData);
    return publish->payload + (correlation == nullptr ? "" : "/" + correlation->text);
  }
};

Command get(const std::string& key) { return {.kind = CommandKind::kGet, .key = key}; }
codec::Command get_request(std::string_view key) { return {.verb = codec::Verb::kGet, .key = key}; }

Command lock_of(const std::string& holder) {
  return {.kind = CommandKind::kLock,
          .key = "l",
          .value = holder,
          .expires_after = Milliseconds(60'000)};
}
codec::Command lock_request(codec::Condition condition) {
  return {.verb = codec::Verb::kSet,
          .key = "l",
          .value = "me",
          .condition = condition,
          .expires_after = milliseconds(60'000)};
}

TEST(ScriptedBroker, ALockIsTakenWithNexOrNxAndAskedForAgain) {
  using enum codec::Condition;
  for (const codec::Condition condition : {kIfAbsentOrEqual, kIfAbsent}) {
    ClientOfBroker client;
    client.begin();
    (void)client.got();
    client.broker.change({.key = "l", .value = "somebody"}, client.now);
    client.broker.change({.verb = codec::Verb::kDel, .key = "l", .after = Milliseconds(500)},
                         client.now);
    const std::size_t ticket =
        client.broker.expect({.command = lock_of("me"), .answer = right_answer()});
    client.ask(lock_request(condition), "1");
    EXPECT_THAT(client.got(), ElementsAre("PUBACK", ":-1\r\n/1"));
    const Awaited& lock = client.broker.awaited(ticket);
    EXPECT_TRUE(lock.came);
    EXPECT_THAT(lock.replies_again, IsEmpty());
    EXPECT_EQ(client.broker.next_due(), client.now + milliseconds(500));
    EXPECT_THAT(client.got(milliseconds(500)), IsEmpty());
    client.ask(lock_request(condition), "2");
    EXPECT_THAT(client.got(), ElementsAre("PUBACK", "+OK\r\n/2"));
    ASSERT_EQ(lock.replies_again.size(), 1U);
    EXPECT_EQ(lock.replies_again[0].payload, "+OK\r\n");
  }
}

TEST(ScriptedBroker, AHolderThatNamesItselfHasOneName) {
  ClientOfBroker client;
  client.begin();
  Command lock = lock_of("me");
  lock.names_itself = true;
  const std::size_t first = client.broker.expect({.command = lock, .answer = right_answer()});
  codec::Command request = lock_request(codec::Condition::kIfAbsentOrEqual);
  request.value = "client-7";
  client.ask(request, "1");
  EXPECT_TRUE(client.broker.awaited(first).came);
  EXPECT_EQ(client.broker.own_name(), "client-7");
  lock.kind = CommandKind::kUnlock;
  const std::size_t second = client.broker.expect({.command = lock, .answer = right_answer()});
  client.ask({.verb = codec::Verb::kVdel, .key = "l", .value = "client-8"}, "2");
  EXPECT_FALSE(client.broker.awaited(second).came);
  client.ask({.verb = codec::Verb::kVdel, .key = "l", .value = "client-7"}, "3");
  EXPECT_TRUE(client.broker.awaited(second).came);
}

TEST(ScriptedBroker, SaysThatAPacketIsTooLargeBeforeItHasCome) {
  ClientOfBroker client;
  client.begin();
  (void)client.got();
  client.broker.received(1, "\x30\xff\xff\xff\x7f", client.now);
  EXPECT_THAT(client.got(), ElementsAre("DISCONNECT", "cut"));
}

TEST(ScriptedBroker, AnswersAsAConformingStore) {
  ClientOfBroker client;
  client.begin();
  EXPECT_THAT(client.got(), ElementsAre("CONNACK", "SUBACK"));
  client.ask({.verb = codec::Verb::kSet, .key = "k", .value = "v"});
  EXPECT_THAT(client.got(), ElementsAre("PUBACK", "+OK\r\n/c"));
  client.ask(get_request("k"), "d");
  EXPECT_THAT(client.got(), ElementsAre("PUBACK", "$1\r\nv\r\n/d"));
}

TEST(ScriptedBroker, AnswersTheExpectedRequestAsScripted) {
  ClientOfBroker client;
  client.begin();
  (void)client.got();
  const std::size_t ticket =
      client.broker.expect({.command = get("k"),
                            .answer = {ReplyAct{{.payload = "first", .correlation = "x"}},
                                       WaitAct{milliseconds(50)}, PubackAct{}, ReplyAct{},
                                       ReplyAct{{.error = codec::ErrorCode::kSyntax}}, CutAct{}}});
  client.ask(get_request("other"));
  EXPECT_THAT(client.got(), ElementsAre("PUBACK", "$-1\r\n/c"));
  EXPECT_FALSE(client.broker.awaited(ticket).came);
  client.ask(get_request("k"));
  EXPECT_TRUE(client.broker.awaited(ticket).came);
  EXPECT_THAT(client.got(), ElementsAre("first/x"));
  EXPECT_THAT(client.got(milliseconds(49)), IsEmpty());
  EXPECT_THAT(client.got(milliseconds(1)),
              ElementsAre("PUBACK", "$-1\r\n/c", "-ERR syntax error\r\n/c", "cut"));
  EXPECT_FALSE(client.broker.is_connected());
}

TEST(ScriptedBroker, WhatIsOnlyCutIsNotCarriedOut) {
  ClientOfBroker client;
  client.begin();
  (void)client.broker.expect(
      {.command = {.kind = CommandKind::kSet, .key = "k", .value = "v"}, .answer = {CutAct{}}});
  client.ask({.verb = codec::Verb::kSet, .key = "k", .value = "v"});
  (void)client.got();
  client.broker.closed(1);
  client.begin();
  (void)client.got();
  client.ask(get_request("k"));
  EXPECT_THAT(client.got(), ElementsAre("PUBACK", "$-1\r\n/c"));
}

TEST(ScriptedBroker, WhoAsksAgainIsAnsweredRightly) {
  ClientOfBroker client;
  client.begin();
  (void)client.got();
  const std::size_t ticket = client.broker.expect({.command = get("k"), .answer = {PubackAct{}}});
  client.ask(get_request("k"));
  EXPECT_THAT(client.got(), ElementsAre("PUBACK"));
  EXPECT_FALSE(client.broker.awaited(ticket).again);
  client.ask(get_request("k"));
  EXPECT_THAT(client.got(), ElementsAre("PUBACK", "$-1\r\n/c"));
  EXPECT_TRUE(client.broker.awaited(ticket).again);
}

TEST(ScriptedBroker, SendsWithTheQosThatWasGranted) {
  ClientOfBroker client;
  client.broker.opened(1);
  client.send(wire::Connect{.client_id = "me"});
  client.send(wire::Subscribe{.packet_id = 9, .subscriptions = {{"r", 0}}});
  (void)client.got();
  client.ask(get_request("k"));
  (void)client.got();
  EXPECT_THAT(client.broker.trace().back(), ::testing::StartsWith("< PUBLISH, QoS 0"));
}

TEST(ScriptedBroker, HeldRepliesGoOutInTheGivenOrder) {
  ClientOfBroker client;
  client.begin();
  (void)client.got();
  const std::size_t a = client.broker.expect({.command = get("a"), .answer = right_answer()});
  const std::size_t b = client.broker.expect({.command = get("b"), .answer = right_answer()});
  client.broker.hold({b, a});
  client.ask(get_request("a"), "of a");
  EXPECT_THAT(client.got(), ElementsAre("PUBACK"));
  client.ask(get_request("b"), "of b");
  EXPECT_THAT(client.got(), ElementsAre("PUBACK", "$-1\r\n/of b", "$-1\r\n/of a"));
}

TEST(ScriptedBroker, TellsObserversOfOthersAndForgetsThemWithTheConnection) {
  ClientOfBroker client;
  client.begin();
  client.ask({.verb = codec::Verb::kKeynotify, .key = "k"});
  (void)client.got();
  EXPECT_TRUE(client.broker.is_observed("k"));
  client.broker.change({.verb = codec::Verb::kSet, .key = "k", .value = "v"}, client.now);
  EXPECT_THAT(client.got(),
              ElementsAre("*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nv\r\n"));
  client.broker.cut({}, client.now);
  EXPECT_THAT(client.got(), ElementsAre("cut"));
  client.broker.closed(1);
  client.begin();
  (void)client.got();
  EXPECT_FALSE(client.broker.is_observed("k"));
  client.broker.change({.verb = codec::Verb::kDel, .key = "k"}, client.now);
  EXPECT_THAT(client.got(), IsEmpty());
}

TEST(ScriptedBroker, RefusesOneConnectionAndGivesReasons) {
  ClientOfBroker client;
  client.broker.set_limits({.refuses = 0x89});
  client.broker.opened(1);
  client.send(wire::Connect{.client_id = "me"});
  EXPECT_THAT(client.got(), ElementsAre("CONNACK", "cut"));
  EXPECT_EQ(client.broker.accepted(), 0U);
  client.broker.closed(1);
  client.begin();
  EXPECT_THAT(client.got(), ElementsAre("CONNACK", "SUBACK"));
  client.broker.cut({.reason = 0x8b}, client.now);
  EXPECT_THAT(client.got(), ElementsAre("DISCONNECT", "cut"));
}

TEST(ScriptedBroker, AnswersWithNearlyTheCorrelationDataAndThenWithDup) {
  ClientOfBroker client;
  client.begin();
  (void)client.got();
  client.broker.expect(
      {.command = {.kind = CommandKind::kGet, .key = "k"},
       .answer = {ReplyAct{{.near_correlation = true}}, ReplyAct{{.duplicate = true}}}});
  client.ask({.verb = codec::Verb::kGet, .key = "k"}, "ab");
  std::vector<wire::Publish> replies;
  for (const Outgoing& each : client.broker.take_due(client.now)) {
    const auto decoded = wire::decode(each.bytes, each.bytes.size());
    ASSERT_TRUE(decoded && *decoded);
    if (const auto* publish = std::get_if<wire::Publish>(&(*decoded)->packet)) {
      replies.push_back(*publish);
    }
  }
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_EQ(replies[0].properties.find(PropertyId::kCorrelationData)->text, "ac");
  EXPECT_FALSE(replies[0].duplicate);
  EXPECT_EQ(replies[1].properties.find(PropertyId::kCorrelationData)->text, "ab");
  EXPECT_TRUE(replies[1].duplicate);
}

TEST(ScriptedBroker, ASessionThatLastsIsPresent) {
  ClientOfBroker client;
  wire::Connect connect{.clean_start = false, .client_id = "me"};
  connect.properties.add(PropertyId::kSessionExpiry, std::uint32_t{60});
  client.begin(connect);
  client.ask(get_request("k"));
  EXPECT_THAT(client.got(), ElementsAre("CONNACK", "SUBACK", "PUBACK", "$-1\r\n/c"));
  client.broker.closed(1);
  client.broker.opened(1);
  client.send(connect);
  // The reply was not acknowledged: it comes again.
  EXPECT_THAT(client.got(), ElementsAre("CONNACK", "$-1\r\n/c"));
  EXPECT_EQ(client.broker.accepted(), 2U);
  EXPECT_THAT(client.broker.trace().back(), ::testing::StartsWith("< PUBLISH, DUP"));
}

TEST(ScriptedBroker, RefusesWhatIsBeyondItsLimits) {
  ClientOfBroker client;
  client.broker.set_limits({.largest_packet = 200});
  client.begin();
  (void)client.got();
  const std::string large(300, 'v');
  client.ask({.verb = codec::Verb::kSet, .key = "k", .value = large});
  EXPECT_THAT(client.got(), ElementsAre("DISCONNECT", "cut"));
}

TEST(ScriptedBroker, RefusesWhatIsNoMqtt) {
  ClientOfBroker client;
  client.broker.opened(1);
  client.broker.received(1, "GET / HTTP/1.1\r\n\r\n", client.now);
  EXPECT_THAT(client.got(), ElementsAre("DISCONNECT", "cut"));
}

}  // namespace
}  // namespace fencepost::client_run
