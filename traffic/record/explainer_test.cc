#include "traffic/record/explainer.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/resp3.h"
#include "codec/topics.h"

namespace fencepost::record {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using testing::ElementsAre;
using testing::IsEmpty;

// A store that says what the test says, a millisecond later.
struct Talk {
  Explainer explainer{[](std::string_view id) { return "what " + std::string(id) + " says"; }};
  std::vector<std::string> lines{};
  microseconds now{1s};

  CapturedMessage request(const std::vector<std::string_view>& arguments) {
    CapturedMessage out{.client_id = "me", .time = now += 1ms};
    out.message.topic = codec::kRequestTopic;
    out.message.payload = codec::encode_command(arguments);
    out.message.response_topic = "clients/me/r";
    out.message.correlation_data = std::to_string(now.count());
    return out;
  }
  void reply(const CapturedMessage& request, const std::string& payload) {
    CapturedMessage out{.direction = CaptureDirection::kToClient, .time = now += 1ms};
    out.message.topic = *request.message.response_topic;
    out.message.correlation_data = request.message.correlation_data;
    out.message.payload = payload;
    explainer.see(out, lines);
  }
  void ask(const std::vector<std::string_view>& arguments, const std::string& payload) {
    const CapturedMessage message = request(arguments);
    explainer.see(message, lines);
    reply(message, payload);
  }
};

TEST(Explainer, NamesTheRuleThatEachAnswerFollows) {
  Talk talk;
  talk.ask({"SET", "k", "one", "NX", "PX", "100"}, "+OK\r\n");
  talk.ask({"SET", "k", "two", "NX"}, ":-1\r\n");
  talk.ask({"GET", "k"}, "$3\r\none\r\n");
  talk.now += 200ms;
  talk.ask({"GET", "k"}, "$-1\r\n");
  talk.ask({"DEL", "k"}, ":0\r\n");
  talk.ask({"SET", "a key", "v"}, "-ERR missing timestamp\r\n");
  EXPECT_THAT(
      talk.lines,
      ElementsAre("me: SET k \"one\" NX PX 100: +OK, SET-NX-1",
                  "me: SET k \"two\" NX: :-1 (not applied), SET-NX-2",
                  "me: GET k: $3 \"one\", SET-PX-2", "me: GET k: $-1 (no such key), SET-PX-1",
                  "me: DEL k: :0 (0 deleted), SET-PX-4",
                  "me: SET \"a key\" \"v\": -ERR missing timestamp, HLC-REQUIRED-1: what "
                  "HLC-REQUIRED-1 says"));
}

TEST(Explainer, TellsOfRequestsThatTheStoreIgnores) {
  Talk talk;
  CapturedMessage at_qos_0 = talk.request({"GET", "k"});
  at_qos_0.message.qos = 0;
  CapturedMessage without_topic = talk.request({"GET", "k"});
  without_topic.message.response_topic.reset();
  CapturedMessage without_data = talk.request({"GET", "k"});
  without_data.message.correlation_data.reset();
  CapturedMessage no_command = talk.request({"GET", "k"});
  no_command.message.payload = "hello";
  for (const auto& message : {at_qos_0, without_topic, without_data, no_command}) {
    talk.explainer.see(message, talk.lines);
  }
  talk.explainer.settle(talk.now, talk.lines);
  talk.explainer.settle(talk.now + Explainer::kGrace, talk.lines);
  EXPECT_THAT(talk.lines,
              ElementsAre("me: GET k at QoS 0: ignored, ENV-QOS-1: what ENV-QOS-1 says",
                          "me: GET k: ignored, without a response topic (MQTT 3.1.1 has none), "
                          "ENV-RESPONSE-TOPIC-5: what ENV-RESPONSE-TOPIC-5 says",
                          "me: GET k: ignored, without correlation data, ENV-CORRELATION-2: what "
                          "ENV-CORRELATION-2 says"));
  talk.lines.clear();
  talk.explainer.settle(talk.now + Explainer::kPatience, talk.lines);
  EXPECT_THAT(
      talk.lines,
      ElementsAre(
          "me: the payload \"hello\": no response within 5 s, but a conforming store sends one"));
}

TEST(Explainer, TellsWhyAConnectionWasEndedAndWhatEndsWithIt) {
  Talk talk;
  talk.ask({"KEYNOTIFY", "k"}, "+OK\r\n");
  CapturedMessage message = talk.request({"GET", "k"});
  message.message.response_topic = std::string(codec::kStorePrefix) + "/x";
  talk.explainer.see(message, talk.lines);
  talk.lines.clear();
  talk.explainer.see(CapturedConnection{.client_id = "me", .time = talk.now, .by_store = true},
                     talk.lines);
  EXPECT_THAT(talk.lines,
              ElementsAre("me: GET k: disconnected for its response topic "
                          "\"clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/x\", "
                          "ENV-RESPONSE-TOPIC-4: what ENV-RESPONSE-TOPIC-4 says",
                          "me: its connection ended, and with it 1 registration, "
                          "LIFE-DISCONNECT-1"));
}

TEST(Explainer, TellsOfNotificationsAndOfWhatNobodyAskedFor) {
  Talk talk;
  CapturedMessage notified{.direction = CaptureDirection::kToClient, .client_id = "watcher"};
  notified.message.topic = *codec::notification_topic("watcher", "k");
  notified.message.payload = codec::encode_command({"NOTIFY", "SET", "VALUE", "one"});
  talk.explainer.see(notified, talk.lines);
  notified.message.payload = codec::encode_command({"NOTIFY", "DELETE"});
  talk.explainer.see(notified, talk.lines);
  notified.message.payload = "?";
  talk.explainer.see(notified, talk.lines);
  talk.reply(talk.request({"GET", "k"}), "+OK\r\n");
  EXPECT_THAT(talk.lines,
              ElementsAre("watcher: receives NOTIFY SET k \"one\", NTF-SEND-1",
                          "watcher: receives NOTIFY DELETE k, NTF-SEND-2",
                          "watcher: receives \"?\", which is not a notification of the protocol",
                          "a message on \"clients/me/r\" that matches no request: \"+OK\\r\\n\""));
}

TEST(Explainer, ShowsWhatARequestMeantAndWhatIsNoReply) {
  Talk talk;
  talk.ask({"SET", "k", "v"}, "+OK\r\n");
  talk.ask({"VDEL", "k", "w"}, ":-1\r\n");
  talk.ask({"VDEL", "k", "v"}, ":1\r\n");
  talk.ask({"KEYNOTIFY", "k"}, "+OK\r\n");
  talk.ask({"KEYNOTIFY", "k", "STOP"}, ":0\r\n");
  talk.ask({"GET", std::string(61, 'x')}, "?\r\nmore");
  EXPECT_THAT(
      talk.lines,
      ElementsAre("me: SET k \"v\": +OK, SET-OK-1",
                  "me: VDEL k \"w\": :-1 (not applied), VDEL-MISMATCH-1",
                  "me: VDEL k \"v\": :1 (1 deleted), VDEL-MATCH-1",
                  "me: KEYNOTIFY k: +OK, NTF-ABSENT-1", "me: KEYNOTIFY k STOP: :0, NTF-STOP-3",
                  testing::MatchesRegex("me: GET \".*\": \\?, which is not a response of the "
                                        "protocol, GET-HIT-3: what GET-HIT-3 says")));
}

TEST(Explainer, ReportsAnEndThatNoConformingStoreMakes) {
  Talk talk;
  talk.explainer.see(talk.request({"GET", "k"}), talk.lines);
  talk.explainer.see(CapturedConnection{.client_id = "other", .by_store = true}, talk.lines);
  talk.explainer.see(CapturedConnection{.client_id = "me", .begins = true}, talk.lines);
  EXPECT_THAT(talk.lines, IsEmpty());
  talk.explainer.see(CapturedConnection{.client_id = "me", .by_store = true}, talk.lines);
  EXPECT_THAT(talk.lines, ElementsAre("me: GET k: disconnected, which no conforming store does"));
  // It is not waited for any more.
  talk.explainer.settle(talk.now + Explainer::kPatience, talk.lines);
  EXPECT_EQ(talk.lines.size(), 1U);
}

TEST(Explainer, CountsTheRegistrationsThatEndWithAConnection) {
  Talk talk;
  talk.ask({"KEYNOTIFY", "k"}, "+OK\r\n");
  talk.ask({"KEYNOTIFY", "l"}, "+OK\r\n");
  talk.ask({"KEYNOTIFY", "m"}, "+OK\r\n");
  talk.ask({"KEYNOTIFY", "m", "STOP"}, "+OK\r\n");
  talk.lines.clear();
  talk.explainer.see(CapturedConnection{.client_id = "me"}, talk.lines);
  talk.explainer.see(CapturedConnection{.client_id = "me"}, talk.lines);  // it has none any more
  EXPECT_THAT(
      talk.lines,
      ElementsAre("me: its connection ended, and with it 2 registrations, LIFE-DISCONNECT-1"));
}

TEST(Explainer, TellsOfAnIgnoredRequestWhenTheNextOneComes) {
  Talk talk;
  CapturedMessage ignored = talk.request({"GET", "k"});
  ignored.message.qos = 2;
  talk.explainer.see(ignored, talk.lines);
  EXPECT_THAT(talk.lines, IsEmpty());
  talk.explainer.see(talk.request({"GET", "k"}), talk.lines);
  EXPECT_THAT(talk.lines,
              ElementsAre("me: GET k at QoS 2: ignored, ENV-QOS-1: what ENV-QOS-1 says"));
}

// The end of its connection is reported, or that there was none.
TEST(Explainer, DoesNotTellOfARequestThatEndsItsConnectionAsIgnored) {
  Talk talk;
  CapturedMessage wrong = talk.request({"GET", "k"});
  wrong.message.response_topic = std::string(codec::kStorePrefix) + "/x";
  talk.explainer.see(wrong, talk.lines);
  talk.explainer.settle(talk.now + Explainer::kGrace, talk.lines);
  EXPECT_THAT(talk.lines, IsEmpty());
  talk.explainer.settle(talk.now + Explainer::kPatience, talk.lines);
  EXPECT_THAT(talk.lines,
              ElementsAre("me: GET k: no response within 5 s, but a conforming store sends one"));
}

TEST(Explainer, FindsTheAnswerThatAFaultyStoreGivesAllTheSame) {
  Talk talk;
  CapturedMessage at_qos_0 = talk.request({"GET", "k"});
  at_qos_0.message.qos = 0;
  talk.explainer.see(at_qos_0, talk.lines);
  talk.reply(at_qos_0, "$-1\r\n");
  talk.explainer.settle(talk.now + Explainer::kPatience, talk.lines);
  EXPECT_THAT(talk.lines, ElementsAre("me: GET k at QoS 0: $-1 (no such key), GET-MISS-1"));
}

}  // namespace
}  // namespace fencepost::record
