// One exchange as a step: what is sent, what is expected, which rule it stands for.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traffic/record/capture_judge.h"
#include "traffic/record/capture_reply.h"
#include "traffic/record/capture_request.h"
#include "traffic/record/capture_rules.h"
#include "traffic/record/capture_sample.h"

namespace fencepost::record {
namespace {

using codec::Divergence;
using codec::ErrorCode;
using codec::ReplyKind;
using scenario::CommandBytes;
using scenario::KeyBytes;
using scenario::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Exchange {
 public:
  explicit Exchange(const std::vector<std::string_view>& arguments, const std::string& reply = {}) {
    request() = traffic_.request("c", arguments);
    if (!reply.empty()) traffic_.reply("c", reply);
  }
  [[nodiscard]] codec::Message& request() {
    return std::get<CapturedMessage>(traffic_.capture.events.front()).message;
  }
  // As what was changed has made it.
  [[nodiscard]] const TimelineItem& item() {
    timeline_ = timeline_of(traffic_.capture);
    return timeline_.items.front();
  }
  [[nodiscard]] Capture& capture() { return traffic_.capture; }

 private:
  Traffic traffic_;
  Timeline timeline_;
};

// --- replies

ReplyOutcome outcome_of(const std::vector<std::string_view>& arguments, const std::string& reply) {
  Exchange exchange(arguments, reply);
  const TimelineItem& item = exchange.item();
  return reply_outcome(*item.reply, read(item));
}

TEST(ReplyOutcome, IsWhatTheReplyMeansInAnyDialect) {
  struct Row {
    std::vector<std::string_view> arguments;
    std::string reply;
    Outcome outcome;
    std::set<Divergence> divergences{};
  };
  const std::vector<Row> rows = {
      {{"SET", "k", "v"}, "+OK\r\n", {scenario::PlainReply{ReplyKind::kOk}}},
      {{"GET", "k"}, "$-1\r\n", {scenario::PlainReply{ReplyKind::kMissing}}},
      {{"GET", "k"}, "$1\r\nv\r\n", {scenario::ValueReply{bytes_of("v")}}},
      {{"DEL", "k"}, ":1\r\n", {scenario::CountReply{1}}},
      {{"SET", "k", "v", "NX"},
       ":-1\r\n",
       {scenario::PlainReply{ReplyKind::kNotApplied}},
       {Divergence::kSetNotApplied}},
      {{"VDEL", "k", "v"},
       ":-1\r\n",
       {scenario::PlainReply{ReplyKind::kNotApplied}},
       {Divergence::kVdelMismatch}},
      {{"SET", "k"},
       "-ERR wrong number of arguments\r\n",
       {scenario::ErrorReply{ErrorCode::kWrongArgumentCount}}},
      {{"KEYNOTIFY", "k"},
       "-ERR syntax error\r\n",
       {scenario::ErrorReply{ErrorCode::kSyntax}},
       {Divergence::kKeynotifyError}}};
  for (const Row& row : rows) {
    const ReplyOutcome outcome = outcome_of(row.arguments, row.reply);
    EXPECT_EQ(outcome.outcome, row.outcome) << row.reply;
    EXPECT_EQ(outcome.divergences, row.divergences) << row.reply;
  }
  const std::string lower =
      "-ERR " +
      std::string(codec::text(ErrorCode::kTokenLower, codec::dialect(codec::DialectId::kDeployed)));
  EXPECT_THAT(outcome_of({"DEL", "k"}, lower + "\r\n").divergences,
              ElementsAre(Divergence::kLowerTokenText));
}

TEST(ReplyOutcome, IsTheBytesWhereNoDialectSpellsItSo) {
  for (const std::string& reply :
       {std::string("?"), std::string("-ERR something new\r\n"), std::string("$01\r\nv\r\n"),
        std::string("-ERR: missing timestamp\r\n")}) {
    const ReplyOutcome outcome = outcome_of({"GET", "k"}, reply);
    EXPECT_EQ(outcome.outcome, Outcome{scenario::ExactBytes{bytes_of(reply)}}) << reply;
    EXPECT_THAT(outcome.divergences, IsEmpty());
  }
}

// --- requests

scenario::RequestStep step_of(Exchange& exchange, bool sees_packets = true) {
  const TimelineItem& item = exchange.item();
  return request_step(*item.message, read(item), {{"k", "name"}, {"\xff", "k2"}}, sees_packets);
}

std::vector<scenario::BytesSpec> words(const scenario::RequestStep& step) {
  return std::get<CommandBytes>(step.payload.what).arguments;
}

const scenario::BytesSpec kName{KeyBytes{"name", {}}};

TEST(RequestStep, HasTheKeyOfTheCase) {
  Exchange set({"SET", "k", "v", "NX"});
  const scenario::RequestStep step = step_of(set);
  EXPECT_THAT(words(step), ElementsAre(bytes_of("SET"), kName, bytes_of("v"), bytes_of("NX")));
  EXPECT_THAT(step.written_keys, ElementsAre(kName));
}

TEST(RequestStep, SaysWhichKeyMayBeWritten) {
  const auto written = [](const std::vector<std::string_view>& arguments) {
    Exchange exchange(arguments);
    return step_of(exchange).written_keys;
  };
  EXPECT_THAT(written({"GET", "k"}), IsEmpty());
  EXPECT_THAT(written({"VDEL", "k", "v"}), IsEmpty());
  EXPECT_THAT(written({"SET", "k", "v"}), ElementsAre(kName));
  EXPECT_THAT(written({"FROB", "k"}), ElementsAre(kName));  // an unknown command
  EXPECT_THAT(written({"SET", "k"}), ElementsAre(kName));   // a faulty store may take it
  EXPECT_THAT(written({"GET", "k", "\n"}), ElementsAre(kName));
  EXPECT_THAT(written({"FROB"}), IsEmpty());
  EXPECT_THAT(written({"GET", ""}), IsEmpty());
}

TEST(RequestStep, KeepsAPayloadThatIsNoCommand) {
  Exchange exchange({"GET", "k"});
  exchange.request().payload = "hello";
  EXPECT_EQ(step_of(exchange).payload, bytes_of("hello"));
  EXPECT_THAT(step_of(exchange).written_keys, IsEmpty());
}

TEST(RequestStep, KeepsWhatIsUnusualOfThePacket) {
  Exchange usual({"GET", "k"});
  const scenario::RequestStep plain = step_of(usual);
  EXPECT_EQ(plain.qos, 1);
  EXPECT_FALSE(plain.no_response_topic);
  EXPECT_FALSE(plain.response_topic);
  EXPECT_FALSE(plain.no_correlation);
  EXPECT_FALSE(plain.correlation);
  Exchange odd({"GET", "k"});
  odd.request().qos = 2;
  odd.request().retain = true;
  odd.request().response_topic = "not/a/response/topic/#";
  odd.request().correlation_data = "";
  odd.request().content_type = "text";
  odd.request().payload_format = 1;
  odd.request().expiry_seconds = 60;
  const scenario::RequestStep step = step_of(odd);
  EXPECT_EQ(step.qos, 2);
  EXPECT_TRUE(step.retain);
  EXPECT_EQ(step.response_topic, bytes_of("not/a/response/topic/#"));
  EXPECT_EQ(step.correlation, bytes_of(""));
  EXPECT_EQ(step.content_type, "text");
  EXPECT_EQ(step.payload_format, 1);
  EXPECT_EQ(step.expiry_seconds, 60U);
  // A subscriber sees the QoS and flags of its own subscription.
  EXPECT_EQ(step_of(odd, false).qos, 1);
  EXPECT_FALSE(step_of(odd, false).retain);
  odd.request().response_topic.reset();
  odd.request().correlation_data.reset();
  EXPECT_TRUE(step_of(odd).no_response_topic);
  EXPECT_TRUE(step_of(odd).no_correlation);
}

TEST(RequestStep, KeepsPropertiesOfTheProtocolAlone) {
  Exchange exchange({"GET", "k"});
  exchange.request().user_properties = {{"__ts", "first"}, {"session-cookie", "secret"},
                                        {"__srcId", "me"}, {"aio-persistence", "true"},
                                        {"__ts", "last"},  {"__ft", "token"}};
  using Property = std::pair<std::string, std::string>;
  // The last timestamp and token have members of their own.
  EXPECT_THAT(step_of(exchange).user_properties,
              ElementsAre(Property("__ts", "first"), Property("__srcId", "me"),
                          Property("aio-persistence", "true")));
}

// --- rules

// Each call of item() makes a new timeline, so that it is called once.
std::string_view rule_of(Exchange& exchange, const KeyNow& key) {
  const TimelineItem& item = exchange.item();
  return requirement_of(item, read(item), key);
}

TEST(CaptureRules, NameWhatAReplyStandsFor) {
  Exchange set({"SET", "k", "v", "NX"}, "+OK\r\n");
  EXPECT_EQ(rule_of(set, {}), "SET-NX-1");
  EXPECT_EQ(rule_of(set, {.expired = true}), "SET-NX-3");
  Exchange get({"GET", "k"}, "$0\r\n\r\n");
  EXPECT_EQ(rule_of(get, {.exists = true}), "GET-HIT-4");
  Exchange timed({"GET", "k"}, "$1\r\nv\r\n");
  EXPECT_EQ(rule_of(timed, {.exists = true, .expires_after = milliseconds{1}}), "SET-PX-2");
  Exchange removed({"DEL", "k"}, ":1\r\n");
  EXPECT_EQ(rule_of(removed, {.exists = true, .fenced = true}), "FT-ACCEPT-2");
  Exchange nothing({"DEL", "k"}, ":0\r\n");
  EXPECT_EQ(rule_of(nothing, {}), "DEL-MISS-1");
  Exchange stop({"KEYNOTIFY", "k", "STOP"}, "+OK\r\n");
  EXPECT_EQ(rule_of(stop, {}), "NTF-STOP-1");
  Exchange fenced({"SET", "k", "v"}, "+OK\r\n");
  fenced.request().user_properties.emplace_back("__ft", "1:0:c");
  EXPECT_EQ(rule_of(fenced, {}), "FT-STORE-1");
  Exchange garbage({"GET", "k"}, "?");
  EXPECT_EQ(rule_of(garbage, {}), "GET-HIT-3");
}

TEST(CaptureRules, KnowWhichTimestampWasMalformed) {
  const auto rule = [](const std::string& timestamp, const std::string& token) {
    Exchange exchange({"SET", "k", "v"}, "-ERR malformed timestamp\r\n");
    exchange.request().user_properties = {{"__ts", timestamp}, {"__ft", token}};
    const TimelineItem& item = exchange.item();
    EXPECT_TRUE(read(item).refused(ErrorCode::kMalformedTimestamp));
    return requirement_of(item, read(item), {});
  };
  EXPECT_EQ(rule("1:0:c", "bad"), "FT-MALFORMED-1");
  EXPECT_EQ(rule("bad", "1:0:c"), "HLC-PARSE-1");
  EXPECT_EQ(rule("bad", "bad"), "HLC-PARSE-1");
}

TEST(CaptureRules, NameWhyThereIsNoReply) {
  Exchange exchange({"GET", "k"});
  const auto rule = [&](bool unknown) {
    TimelineItem item = exchange.item();
    item.reply_unknown = unknown;
    return requirement_of(item, read(item), {});
  };
  EXPECT_EQ(rule(false), "ENV-RESPONSE-1");
  exchange.request().response_topic = "not/a/response/topic/#";
  EXPECT_EQ(rule(false), "ENV-RESPONSE-TOPIC-4");
  EXPECT_EQ(rule(true), "ENV-RESPONSE-1");  // perhaps it was not seen
  exchange.request().response_topic.reset();
  EXPECT_EQ(rule(false), "ENV-RESPONSE-TOPIC-5");
}

// --- judgements

using judge::Answer;

// Each reply with the status that a conforming store gives it.
std::vector<judge::Judgement> judged(Capture capture) {
  for (CapturedEvent& event : capture.events) {
    auto* message = std::get_if<CapturedMessage>(&event);
    if (message == nullptr || message->direction == CaptureDirection::kToStore) continue;
    message->message.user_properties.emplace_back(codec::kStatusProperty, "200");
  }
  return judge(capture, timeline_of(capture));
}

Traffic wrong_read() {
  Traffic traffic;
  traffic.capture.from_start = true;
  const std::string version = traffic.set("c", {"SET", "k", "v"});
  traffic.get("d", "k", "$1\r\nw\r\n", version);
  return traffic;
}

TEST(CaptureJudge, RejectsWhatNoConformingStoreAnswers) {
  const auto judgements = judged(wrong_read().capture);
  ASSERT_THAT(judgements, SizeIs(2));
  EXPECT_EQ(judgements[0].answer, Answer::kAccepted);
  EXPECT_EQ(judgements[1].answer, Answer::kRejected);
}

TEST(CaptureJudge, AcceptsWhatIsNotKnown) {
  Traffic before = wrong_read();
  before.capture.from_start = false;
  before.capture.events.erase(before.capture.events.begin(), before.capture.events.begin() + 2);
  EXPECT_EQ(judged(before.capture)[0].answer, Answer::kAccepted);
  Traffic unanswered;
  unanswered.request("c", {"GET", "k"});  // the capture ends
  EXPECT_EQ(judged(unanswered.capture)[0].answer, Answer::kAccepted);
}

TEST(CaptureJudge, DoesNotDecideWhatTheOrderDecides) {
  Traffic traffic;
  traffic.capture.from_start = true;
  traffic.capture.in_order = false;
  const auto reply_to = [&](const std::string& correlation, const std::string& client,
                            const std::string& payload, const std::string& version = {}) {
    traffic.reply(client, payload, version);
    std::get<CapturedMessage>(traffic.capture.events.back()).message.correlation_data = correlation;
  };
  const std::string before = traffic.set("c", {"SET", "k", "v"});
  const std::string first = *traffic.request("c", {"SET", "k", "w"}).correlation_data;
  const std::string second = *traffic.request("d", {"GET", "k"}).correlation_data;
  reply_to(first, "c", "+OK\r\n", stamp(traffic.now, "store"));
  reply_to(second, "d", "$1\r\nv\r\n", before);
  const auto judgements = judged(traffic.capture);
  ASSERT_THAT(judgements, SizeIs(3));
  EXPECT_EQ(judgements[2].answer, Answer::kUndecidable);
  EXPECT_THAT(judgements[2].because, HasSubstr("possibly only because of the order"));
}

TEST(CaptureJudge, MissesANotificationOnlyWhereTheyAreSeen) {
  Traffic traffic;
  traffic.capture.from_start = true;
  traffic.request("o", {"KEYNOTIFY", "k"});
  traffic.reply("o", "+OK\r\n");
  traffic.set("c", {"SET", "k", "v"});
  traffic.now += std::chrono::seconds{30};
  traffic.get("o", "k", "$1\r\nv\r\n", stamp(kBegin + milliseconds{3}, "store"));
  const auto judgements = judged(traffic.capture);
  EXPECT_EQ(judgements.back().answer, Answer::kRejected);
  EXPECT_THAT(judgements.back().requirement, HasSubstr("NTF-"));
  Traffic unseen = traffic;
  unseen.capture.sees_notifications = false;
  EXPECT_NE(judged(unseen.capture).back().answer, Answer::kRejected);
  // Another client's exchange at the same time: its place is not sure.
  traffic.capture.in_order = false;
  auto& last = std::get<CapturedMessage>(traffic.capture.events.back());
  const std::string correlation = *last.message.correlation_data;
  traffic.get("c", "other", "$-1\r\n");
  traffic.reply("o", "$1\r\nv\r\n", stamp(kBegin + milliseconds{3}, "store"));
  std::get<CapturedMessage>(traffic.capture.events.back()).message.correlation_data = correlation;
  traffic.capture.events.erase(traffic.capture.events.end() - 4);
  EXPECT_NE(judged(traffic.capture).back().answer, Answer::kRejected);
}

TEST(CaptureJudge, ForgetsRegistrationsOfAConnectionThatHasEnded) {
  Traffic traffic;
  traffic.capture.from_start = true;
  traffic.request("o", {"KEYNOTIFY", "k"});
  traffic.reply("o", "+OK\r\n");
  traffic.capture.events.emplace_back(CapturedConnection{.client_id = "o", .time = traffic.now});
  traffic.now += std::chrono::seconds{30};
  const std::string version = traffic.set("c", {"SET", "k", "v"});
  traffic.now += std::chrono::seconds{30};
  traffic.get("o", "k", "$1\r\nv\r\n", version);
  for (const judge::Judgement& each : judged(traffic.capture)) {
    EXPECT_NE(each.answer, Answer::kRejected) << each.requirement << each.because;
  }
}

TEST(CaptureJudge, DescribesItemsForPeople) {
  Traffic traffic;
  traffic.request("c\n", {"SET", "k\xff", "v"});
  traffic.request("c", {"FROB"});
  traffic.request("c", {"GET", "k"}).payload = "bytes\n";
  traffic.notification("o", "k", "?", stamp(kBegin));
  traffic.capture.events.emplace_back(CapturedConnection{.client_id = "o"});
  std::vector<std::string> texts;
  for (const TimelineItem& item : timeline_of(traffic.capture).items) {
    texts.push_back(describe(item));
  }
  EXPECT_THAT(texts, ElementsAre("client c\\n, SET k\\xff", "client c, FROB", "client c, bytes\\n",
                                 "client o, notification of k", "client o, disconnected"));
}

}  // namespace
}  // namespace fencepost::record
