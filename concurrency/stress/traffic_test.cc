#include "concurrency/stress/traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/command.h"
#include "codec/topics.h"

namespace fencepost::stress {
namespace {

using namespace std::chrono_literals;
using history::Action;
using history::Operation;
using history::Outcome;
using testing::ElementsAre;
using testing::IsEmpty;

class Notes final : public Journal {
 public:
  void called(std::uint64_t id, const Operation& operation) override {
    open[id] = operation;
    ++calls;
  }
  void returned(std::uint64_t id, const Operation& operation) override {
    EXPECT_EQ(open.erase(id), 1U);
    over.push_back(operation);
  }
  void notified(const history::Notification& notification) override {
    news.push_back(notification);
  }
  void linked(const history::Connection& connection) override { links.push_back(connection.link); }

  std::map<std::uint64_t, Operation> open;
  std::size_t calls = 0;
  std::vector<Operation> over;
  std::vector<history::Notification> news;
  std::vector<history::Link> links;
};

TrafficOptions options_of(std::string_view mix, std::uint32_t clients = 2) {
  return {.script = {.mix = find_mix(mix), .clients = clients, .seed = 1, .prefix = "p/"},
          .client_prefix = "c-"};
}

codec::Message reply_to(const codec::Message& request, std::string payload) {
  codec::Message out{.topic = *request.response_topic, .payload = std::move(payload)};
  out.correlation_data = request.correlation_data;
  return out;
}

TEST(Traffic, EachClientHasOneRequestUnderWayAndItsTimesInTheJournal) {
  Notes notes;
  Traffic traffic(options_of("register"), notes);
  EXPECT_FALSE(traffic.next(0, 1us, 0));  // not connected
  traffic.connected(0, 1us);
  const auto request = traffic.next(0, 5us, 1'000);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->topic, codec::kRequestTopic);
  EXPECT_FALSE(traffic.next(0, 6us, 1'000));
  traffic.received(0, reply_to(*request, "$-1\r\n"), 9us);
  ASSERT_EQ(notes.over.size(), 1U);
  EXPECT_EQ(notes.over[0].called, 5us);
  EXPECT_EQ(notes.over[0].returned, 9us);
  EXPECT_TRUE(traffic.next(0, 10us, 1'000));
}

TEST(Traffic, PipelinedClientsAskSeveralAtOnce) {
  Notes notes;
  Traffic traffic(options_of("pipelined"), notes);
  traffic.connected(1, 0us);
  std::size_t asked = 0;
  while (traffic.next(1, 1us, 0)) ++asked;
  EXPECT_EQ(asked, find_mix("pipelined")->window);
}

TEST(Traffic, TheFirstClientMayAskMoreThanTheOthers) {
  Notes notes;
  TrafficOptions options = options_of("register", 2);
  options.first_window = 5;
  Traffic traffic(options, notes);
  for (const auto& [client, most] : {std::pair{0U, 5U}, {1U, 1U}}) {
    traffic.connected(client, 0us);
    std::size_t asked = 0;
    while (traffic.next(client, 1us, 0)) ++asked;
    EXPECT_EQ(asked, most) << client;
  }
}

TEST(Traffic, CountsTheMessagesOfTheLongestConnection) {
  Notes notes;
  Traffic traffic(options_of("register", 2), notes);
  const auto answer = [&](std::uint32_t client, int times) {
    for (; times > 0; --times) {
      const auto request = traffic.next(client, 1us, 0);
      ASSERT_TRUE(request);
      traffic.received(client, reply_to(*request, "$-1\r\n"), 2us);
    }
  };
  traffic.connected(0, 0us);
  traffic.connected(1, 0us);
  answer(0, 3);
  answer(1, 2);
  EXPECT_EQ(traffic.counts().longest, 3U);
  traffic.disconnected(0, 3us);
  traffic.connected(0, 4us);  // its packet ids begin again
  answer(0, 2);
  EXPECT_EQ(traffic.counts().longest, 3U);
  answer(1, 2);
  EXPECT_EQ(traffic.counts().longest, 4U);
}

TEST(Traffic, AtARateItAsksWhatIsDue) {
  Notes notes;
  TrafficOptions options = options_of("register");
  options.rate = 1'000;
  Traffic traffic(options, notes);
  traffic.connected(0, 0us);
  EXPECT_FALSE(traffic.next(0, 0us, 0));
  std::size_t asked = 0;
  while (traffic.next(0, 10ms, 0)) ++asked;
  EXPECT_EQ(asked, 10U);
}

TEST(Traffic, WhatIsNotAnsweredIsUnknown) {
  Notes notes;
  Traffic traffic(options_of("register", 3), notes);
  for (std::uint32_t client = 0; client < 3; ++client) {
    traffic.connected(client, 0us);
    ASSERT_TRUE(traffic.next(client, 1us, 0));
  }
  traffic.disconnected(0, 2us);
  traffic.not_taken(1, notes.open.begin()->first == 1 ? "0000000000000002" : "", 3us);
  traffic.give_up(6s);
  EXPECT_EQ(traffic.under_way(), 0U);
  ASSERT_EQ(notes.over.size(), 3U);
  std::vector<std::string> reasons;
  for (const Operation& each : notes.over) {
    EXPECT_EQ(each.outcome, Outcome::kUnknown);
    EXPECT_EQ(each.returned, history::kNever);
    reasons.push_back(each.reason);
  }
  EXPECT_THAT(reasons,
              ElementsAre("connection lost", "the broker refused the PUBLISH", "time-out"));
  EXPECT_EQ(traffic.counts().unknown(), 3U);
  EXPECT_FALSE(traffic.next(0, 7s, 0));  // until it is connected again
}

TEST(Traffic, WhatBelongsToNothingIsCountedAndFound) {
  Notes notes;
  Traffic traffic(options_of("register"), notes);
  traffic.connected(0, 0us);
  const auto request = traffic.next(0, 1us, 0);
  ASSERT_TRUE(request);
  codec::Message other = reply_to(*request, "+OK\r\n");
  other.correlation_data = "0000000000000009";
  traffic.received(0, other, 2us);
  other = reply_to(*request, "+OK\r\n");
  other.topic = "elsewhere";
  traffic.received(0, other, 2us);
  const auto key = codec::notification_topic("c-0", "not/ours");
  traffic.received(0, {.topic = *key, .payload = "*2\r\n$6\r\nNOTIFY\r\n$3\r\nDEL\r\n"}, 2us);
  EXPECT_EQ(traffic.counts().unmatched, 3U);
  EXPECT_THAT(notes.over, IsEmpty());
  EXPECT_THAT(notes.news, IsEmpty());
  std::vector<std::string> rules;
  for (const DeliveryFinding& each : traffic.delivery().findings())
    rules.push_back(each.requirement);
  EXPECT_THAT(rules, ElementsAre("ENV-CORRELATION-1", "ENV-RESPONSE-TOPIC-1", "NTF-SEND-3"));
}

// Req: ENV-RESPONSE-1
TEST(Traffic, FindsRepliesThatAreMissingAndThoseThatComeTwice) {
  Notes notes;
  Traffic traffic(options_of("register"), notes);
  traffic.connected(0, 0us);
  traffic.connected(1, 0us);
  const auto lost = traffic.next(0, 1us, 0);
  const auto answered = traffic.next(1, 2us, 0);
  ASSERT_TRUE(lost && answered);
  traffic.received(1, reply_to(*answered, "$-1\r\n"), 3us);
  EXPECT_THAT(traffic.delivery().findings(), IsEmpty());
  traffic.received(1, reply_to(*answered, "$-1\r\n"), 4us);
  traffic.give_up(6s);
  std::vector<std::string> texts;
  for (const DeliveryFinding& each : traffic.delivery().findings()) {
    EXPECT_EQ(each.requirement, "ENV-RESPONSE-1");
    texts.push_back(each.text);
  }
  EXPECT_THAT(texts, ElementsAre(testing::HasSubstr("a second response"),
                                 testing::HasSubstr("no response, though requests")));
}

// A broker that stands still, such as for its disk, and is killed then.
TEST(Traffic, WhatWasGivenUpIsLostWithAConnectionThatWasSilentFromThenOn) {
  for (const bool injected : {false, true}) {
    for (const bool silent : {false, true}) {
      Notes notes;
      TrafficOptions options = options_of("pipelined");
      options.patience = 1s;
      options.ends_are_injected = injected;
      Traffic traffic(options, notes);
      traffic.connected(0, 0us);
      ASSERT_TRUE(traffic.next(0, 0us, 0));
      traffic.give_up(2s);
      const auto later = traffic.next(0, 2s, 0);
      if (!silent) traffic.received(0, reply_to(*later, "$-1\r\n"), 2s);
      traffic.disconnected(0, 3s);
      traffic.connected(0, 4s);
      const auto again = traffic.next(0, 4s, 0);
      traffic.received(0, reply_to(*again, "$-1\r\n"), 4s);
      EXPECT_EQ(traffic.delivery().findings().empty(), injected && silent);
    }
  }
}

TEST(Traffic, TellsWhatABrokerDoesThatMqttForbids) {
  Notes notes;
  Traffic traffic(options_of("register"), notes);
  traffic.broker_is_wrong("4.3.2", "no acknowledgement");
  ASSERT_EQ(traffic.delivery().findings().size(), 1U);
  EXPECT_EQ(traffic.delivery().findings()[0].requirement, "ENV-MQTT5-3");
  EXPECT_EQ(traffic.delivery().findings()[0].text, "MQTT 5, 4.3.2: no acknowledgement");
}

TEST(Traffic, NotificationsAreInTheJournal) {
  Notes notes;
  Traffic traffic(options_of("observers"), notes);
  traffic.connected(0, 0us);
  codec::Message message{.topic = *codec::notification_topic("c-0", "p/g1/0-0"),
                         .payload = "*2\r\n$6\r\nNOTIFY\r\n$3\r\nDEL\r\n",
                         .duplicate = true};
  message.user_properties.emplace_back(codec::kTimestampProperty, "7:1:n");
  traffic.received(0, message, 4us);
  ASSERT_EQ(notes.news.size(), 1U);
  EXPECT_EQ(notes.news[0], (history::Notification{
                               .client = 0,
                               .key = "p/g1/0-0",
                               .operation = codec::Operation::kDelete,
                               .version = hlc::Timestamp{.wall_ms = 7, .counter = 1, .node = "n"},
                               .arrived = 4us,
                               .duplicate = true}));
}

// Req: HLC-CLIENT-2
TEST(Traffic, VersionsThatComeAreTakenIntoTheClock) {
  Notes notes;
  TrafficOptions options = options_of("register", 1);
  const Plan plan(5, Operation{.client = 0, .action = Action::kSet, .key = "p/k", .value = "v"});
  options.plan = &plan;
  Traffic traffic(options, notes);
  traffic.connected(0, 1us);
  const auto stamp_before = [&](std::string_view version) {
    const auto request = traffic.next(0, 2us, 1'000);
    if (!request) return std::string();
    codec::Message reply = reply_to(*request, "+OK\r\n");
    reply.user_properties.emplace_back("__ts", version);
    traffic.received(0, reply, 3us);
    return *request->property("__ts");
  };
  EXPECT_EQ(stamp_before("5000:7:store"), "000000000001000:00000:c-0");
  EXPECT_EQ(stamp_before("4000:9:store"), "000000000005000:00008:c-0");
  // What is lower changes nothing, and what is a minute ahead would be refused.
  EXPECT_EQ(stamp_before("99999:0:store"), "000000000005000:00009:c-0");
  // A counter that not every store can read.
  EXPECT_EQ(stamp_before("5001:4294967296:store"), "000000000005000:00010:c-0");
  EXPECT_EQ(stamp_before("1:0:store"), "000000000005002:00001:c-0");
}

TEST(Traffic, ANotificationMayLeaveOutTheValue) {
  Notes notes;
  Traffic traffic(options_of("observers"), notes);
  traffic.connected(0, 0us);
  traffic.received(0,
                   {.topic = *codec::notification_topic("c-0", "p/g1/0-0"),
                    .payload = "*2\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n"},
                   4us);
  ASSERT_EQ(notes.news.size(), 1U);
  EXPECT_TRUE(notes.news[0].valueless);
  EXPECT_EQ(notes.news[0].operation, codec::Operation::kSet);
}

TEST(Traffic, KeysOfAGenerationAreClosedWhenNothingIsUnderWay) {
  static const Mix short_mix{.name = "short", .text = "", .rows = {{.set = 1}}, .renew_after = 2};
  Notes notes;
  TrafficOptions options = options_of("register", 3);
  options.script.mix = &short_mix;
  Traffic traffic(options, notes);
  std::vector<codec::Message> requests;
  for (std::uint32_t client = 0; client < 3; ++client) {
    traffic.connected(client, 0us);
    requests.push_back(*traffic.next(client, 1us, 0));
  }
  EXPECT_THAT(traffic.closed(), IsEmpty());
  traffic.received(0, reply_to(requests[0], "+OK\r\n"), 2us);
  EXPECT_THAT(traffic.closed(), IsEmpty());
  traffic.received(1, reply_to(requests[1], "+OK\r\n"), 2us);
  EXPECT_THAT(traffic.closed(), ElementsAre(1U));
  EXPECT_THAT(traffic.take_keys(1), ElementsAre("p/g1/0"));
  EXPECT_THAT(traffic.closed(), IsEmpty());
  traffic.received(2, reply_to(requests[2], "+OK\r\n"), 2us);
  EXPECT_THAT(traffic.closed(true), ElementsAre(2U));
}

TEST(ReadReply, SaysWhatBecameOfARequest) {
  const auto read = [](Action action, const std::string& payload) {
    Operation out{.action = action};
    codec::Message reply{.payload = payload};
    reply.user_properties.emplace_back(codec::kTimestampProperty, "5:2:n");
    const bool sensible = read_reply(reply, out);
    EXPECT_EQ(sensible, out.outcome != Outcome::kUnknown);
    EXPECT_EQ(sensible, out.version.has_value());
    return out;
  };
  EXPECT_EQ(read(Action::kSet, "+OK\r\n").outcome, Outcome::kOk);
  EXPECT_EQ(read(Action::kSet, ":-1\r\n").outcome, Outcome::kNotApplied);
  EXPECT_EQ(read(Action::kSet, "-1\r\n").outcome, Outcome::kNotApplied);
  EXPECT_EQ(read(Action::kGet, "$1\r\na\r\n").read, "a");
  EXPECT_EQ(read(Action::kGet, "$-1\r\n").outcome, Outcome::kMissing);
  EXPECT_EQ(read(Action::kDel, ":1\r\n").outcome, Outcome::kDeleted);
  EXPECT_EQ(read(Action::kVdel, ":0\r\n").outcome, Outcome::kMissing);
  EXPECT_EQ(read(Action::kSet, "-ERR a fencing token is required for this request\r\n").outcome,
            Outcome::kTokenRequired);
  EXPECT_EQ(read(Action::kSet, "-ERR the quota has been exceeded\r\n").outcome, Outcome::kRefused);
  EXPECT_EQ(read(Action::kGet, "+OK\r\n").outcome, Outcome::kUnknown);
  EXPECT_EQ(read(Action::kDel, ":7\r\n").outcome, Outcome::kUnknown);
  EXPECT_EQ(read(Action::kDel, "nonsense").outcome, Outcome::kUnknown);
}

}  // namespace
}  // namespace fencepost::stress
