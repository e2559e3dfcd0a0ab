#include "conformance/record/capture_scenario.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/resp3.h"
#include "codec/topics.h"
#include "conformance/record/capture_log.h"
#include "conformance/record/capture_pcap.h"
#include "conformance/record/capture_timeline.h"
#include "conformance/scenario/library.h"
#include "conformance/scenario/scenario_loader.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr milliseconds kBegin{1'767'225'600'000};

std::string stamp(milliseconds time, std::string_view node = "client") {
  return std::to_string(time.count()) + ":0:" + std::string(node);
}

const std::set<std::string>& requirement_ids() {
  static const std::set<std::string> ids = [] {
    std::vector<scenario::LoadError> errors;
    return load_library({}, errors).catalogue.ids();
  }();
  return ids;
}

// Makes captures: each message a millisecond after the one before.
class Traffic {
 public:
  Traffic() {
    capture.in_order = true;
    capture.sees_replies = true;
    capture.sees_notifications = true;
    capture.sees_packets = true;
  }

  codec::Message& request(const std::string& client,
                          const std::vector<std::string_view>& arguments) {
    codec::Message message;
    message.topic = codec::kRequestTopic;
    message.payload = codec::encode_command(arguments);
    message.response_topic = codec::recommended_response_topic(client);
    message.correlation_data = std::to_string(++number_);
    if (arguments.front() == "SET") message.user_properties = {{"__ts", stamp(now)}};
    return add(Direction::kToStore, client, std::move(message));
  }

  // To the last request of the client.
  void reply(const std::string& client, std::string payload, const std::string& version = {}) {
    codec::Message message;
    message.topic = codec::recommended_response_topic(client);
    message.payload = std::move(payload);
    message.correlation_data = std::to_string(number_);
    if (!version.empty()) message.user_properties = {{"__ts", version}};
    add(Direction::kToClient, "", std::move(message));
  }

  void notification(const std::string& client, const std::string& key, std::string payload,
                    const std::string& version) {
    codec::Message message;
    message.topic = *codec::notification_topic(client, key);
    message.payload = std::move(payload);
    message.user_properties = {{"__ts", version}};
    add(Direction::kToClient, client, std::move(message));
  }

  // A SET that is carried out; its version.
  std::string set(const std::string& client, const std::vector<std::string_view>& arguments) {
    request(client, arguments);
    const std::string version = stamp(now, "store");
    reply(client, "+OK\r\n", version);
    return version;
  }

  void get(const std::string& client, std::string_view key, std::string reply_payload,
           const std::string& version = {}) {
    request(client, {"GET", key});
    reply(client, std::move(reply_payload), version);
  }

  // What is made of it, which the loader must take.
  CaptureScenario made(const CaptureOptions& options = {}) {
    CaptureScenario out = capture_scenario(capture, options);
    std::vector<scenario::LoadError> errors;
    (void)load_scenario({"recorded.yaml", out.text()}, requirement_ids(), errors);
    for (const scenario::LoadError& error : errors)
      ADD_FAILURE() << describe(error) << "\n" << out.text();
    return out;
  }

  Capture capture;
  milliseconds now = kBegin;

 private:
  using Direction = CaptureDirection;

  codec::Message& add(Direction direction, const std::string& client, codec::Message message) {
    now += milliseconds{1};
    capture.events.emplace_back(CapturedMessage{.direction = direction,
                                                .client_id = client,
                                                .client_known = true,
                                                .time = now,
                                                .message = std::move(message)});
    return std::get<CapturedMessage>(capture.events.back()).message;
  }

  int number_ = 0;
};

TEST(CaptureScenario, TitlesAndIdsSayWhatHappens) {
  Traffic traffic;
  traffic.set("a", {"SET", "lock", "a", "NX", "PX", "5000"});
  traffic.request("b", {"SET", "lock", "b", "NX", "PX", "5000"});
  traffic.reply("b", ":-1\r\n");
  traffic.get("a", "lock", "$1\r\na\r\n");
  for (const std::string client : {"c", "d"}) {
    traffic.get(client, "\xff " + client, "$-1\r\n");
    traffic.set(client, {"SET", "\xff " + client, "v"});
  }
  traffic.request("e", {"KEYNOTIFY", "e", "STOP"});
  traffic.reply("e", ":0\r\n");
  traffic.set("e", {"SET", "e", "v"});
  const CaptureScenario made = traffic.made();
  ASSERT_THAT(made.cases, SizeIs(4));
  EXPECT_EQ(made.cases[0].title, "SET NX PX, SET NX PX (not applied) and GET: one key, 2 clients");
  EXPECT_THAT(made.cases[0].id, testing::StartsWith("record.set-nx-px.get."));
  const std::string of_c = "GET (no such key) and SET: a key of other than plain text, one client";
  EXPECT_EQ(made.cases[1].title, of_c);
  EXPECT_EQ(made.cases[2].title, of_c + " (2)");
  EXPECT_EQ(made.cases[3].title, "KEYNOTIFY STOP (was not observed) and SET: one key, one client");
}

TEST(CaptureScenario, WritesVersionsRelativeToEachOther) {
  Traffic traffic;
  traffic.set("c", {"SET", "k", "v"});
  const std::string second = traffic.set("c", {"SET", "k", "w"});
  traffic.get("c", "k", "$1\r\nw\r\n", second);
  const std::string text = traffic.made().text();
  EXPECT_THAT(text, HasSubstr("- set: {key: k, value: v}\n        expect: {reply: ok, ts: "
                              "{save: v1, greater_than: [sent]}, cites: SET-OK-1}"));
  EXPECT_THAT(text, HasSubstr("{save: v2, greater_than: [sent, v1]}, cites: SET-WRITE-2"));
  EXPECT_THAT(text, HasSubstr("{reply: {value: w}, ts: {equals: v2}"));
}

TEST(CaptureScenario, SetsWhatWasThereBefore) {
  Traffic traffic;
  traffic.get("c", "k", "$3\r\nold\r\n", stamp(kBegin, "store"));
  traffic.get("c", "none", "$-1\r\n");
  const CaptureScenario made = traffic.made();
  EXPECT_THAT(made.text(), HasSubstr("- set: {key: k, value: old}\n        expect: {reply: "
                                     "ok, ts: {save: b1}"));
  EXPECT_THAT(made.text(), HasSubstr("{reply: {value: old}, ts: {equals: b1}"));
  EXPECT_THAT(made.text(), Not(HasSubstr("set: {key: none")));
}

TEST(CaptureScenario, ExpectsNothingFromBeforeWhenItSawTheStart) {
  Traffic traffic;
  traffic.capture.from_start = true;
  traffic.get("c", "k", "$3\r\nold\r\n", stamp(kBegin, "store"));
  EXPECT_THAT(traffic.made().text(), Not(HasSubstr("- set:")));
}

TEST(CaptureScenario, KeepsTheOrderOfTokens) {
  Traffic traffic;
  const std::string lock = traffic.set("c", {"SET", "lock", "me"});
  traffic.request("c", {"SET", "k", "v"})
      .user_properties.emplace_back("__ft", stamp(kBegin - milliseconds{500}));
  traffic.reply("c", "+OK\r\n", stamp(traffic.now, "store"));
  traffic.request("c", {"DEL", "k"}).user_properties.emplace_back("__ft", lock);
  traffic.reply("c", ":1\r\n");
  const std::string text = traffic.made().text();
  EXPECT_THAT(text, HasSubstr("- set: {key: start, value: start}"));
  EXPECT_THAT(text, HasSubstr("ft: t0 - "));
  EXPECT_THAT(text, HasSubstr("- del: {key: k, ft: v1}"));
}

TEST(CaptureScenario, WritesTimestampsAsFarAsTheyWere) {
  Traffic traffic;
  const std::vector<std::pair<std::string, std::string>> table = {
      {stamp(kBegin - milliseconds{600'000}), "ts: now - 10m"},
      {stamp(kBegin + milliseconds{60'500}), "ts: skew-limit - "},
      {"1:2:n", "ts: {text: 1:2:n}"},
      {"nonsense", "ts: {text: nonsense}"},
      {stamp(kBegin).replace(14, 1, "7"), "ts: now counter = 7"}};
  for (const auto& [sent, written] : table) {
    traffic.now = kBegin;
    traffic.request("c", {"SET", "k", "v"}).user_properties = {{"__ts", sent}};
    traffic.reply("c", "+OK\r\n", stamp(kBegin, "store of " + sent));
  }
  const std::string text = traffic.made().text();
  for (const auto& [sent, written] : table) EXPECT_THAT(text, HasSubstr(written));
}

TEST(CaptureScenario, WaitsOnlyWhereTimeRunsOut) {
  Traffic traffic;
  const std::string version = traffic.set("c", {"SET", "k", "v", "PX", "1000"});
  traffic.now += milliseconds{500};
  traffic.get("c", "k", "$1\r\nv\r\n", version);
  traffic.now += milliseconds{5'000};
  traffic.get("c", "k", "$-1\r\n");
  traffic.now += milliseconds{60'000};
  traffic.get("c", "k", "$-1\r\n");
  const std::string text = traffic.made().text();
  EXPECT_THAT(text, HasSubstr("options: [PX, \"1000\"], mark: m1"));
  EXPECT_THAT(text, HasSubstr("before: m1 + 1s"));
  const std::string wait = "- wait: {until: m1.reply + 1250ms}";
  EXPECT_THAT(text, HasSubstr(wait));
  EXPECT_EQ(text.find("- wait:"), text.rfind("- wait:"));
}

// A store that lets the old time of a key run on is seen only by a reader who waits.
TEST(CaptureScenario, WaitsAsLongAsTheClientsDidWhereWaitsAreKept) {
  Traffic traffic;
  traffic.set("c", {"SET", "k", "v", "PX", "100"});
  const std::string version = traffic.set("c", {"SET", "k", "v"});
  traffic.now += milliseconds{400};
  traffic.get("c", "k", "$1\r\nv\r\n", version);
  EXPECT_THAT(traffic.made().text(), Not(HasSubstr("- wait:")));
  EXPECT_THAT(traffic.made({.keeps_waits = true}).text(),
              HasSubstr("- wait: 401ms\n      - get: k\n"));
}

TEST(CaptureScenario, PutsAnEarlyNotificationBehindItsCause) {
  Traffic traffic;
  traffic.capture.in_order = false;
  traffic.capture.from_start = true;
  traffic.request("o", {"KEYNOTIFY", "k"});
  traffic.reply("o", "+OK\r\n");
  traffic.request("c", {"SET", "k", "v"});
  const std::string version = stamp(traffic.now, "store");
  traffic.notification("o", "k", "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nv\r\n",
                       version);
  traffic.reply("c", "+OK\r\n", version);
  const std::string text = traffic.made().text();
  EXPECT_LT(text.find("- set:"), text.find("- notification: {key: k, operation: set"));
  EXPECT_THAT(text, HasSubstr("clients: {a: {observes: true}, b: {}}"));
}

TEST(CaptureScenario, PairsAReplyThatWasSeenBeforeItsRequest) {
  Traffic traffic;
  traffic.capture.in_order = false;
  traffic.set("c", {"SET", "k", "v"});
  std::swap(traffic.capture.events[0], traffic.capture.events[1]);
  const CaptureScenario made = traffic.made();
  EXPECT_THAT(made.text(), HasSubstr("expect: {reply: ok"));
  EXPECT_EQ(made.requests, 1U);
}

TEST(CaptureScenario, TellsNoReplyFromOneThatWasNotSeen) {
  Traffic traffic;
  traffic.request("c", {"GET", "k"});
  traffic.get("c", "k", "$-1\r\n");
  EXPECT_THAT(traffic.made().text(), HasSubstr("reply: none, cites: ENV-RESPONSE-1"));
  traffic.capture.sees_replies = false;
  const CaptureScenario made = traffic.made();
  EXPECT_THAT(made.text(), Not(HasSubstr("reply: none")));
  EXPECT_THAT(made.notes, testing::Contains(HasSubstr("the reply was not seen")));
}

TEST(CaptureScenario, SeparatesClientsThatShareNothing) {
  Traffic traffic;
  traffic.set("c", {"SET", "k", "v"});
  traffic.set("d", {"SET", "other", "v"});
  EXPECT_THAT(traffic.made().cases, SizeIs(2));
  traffic.get("d", "k", "$-1\r\n");
  EXPECT_THAT(traffic.made().cases, SizeIs(1));
}

TEST(CaptureScenario, LeavesOutWhatIsNotOfTheProtocol) {
  Traffic traffic;
  codec::Message& request = traffic.request("c", {"SET", "k", "v"});
  request.user_properties.emplace_back("authorization", "secret");
  request.user_properties.emplace_back("__srcId", "me");
  traffic.reply("c", "+OK\r\n", stamp(traffic.now, "store"));
  const std::string text = traffic.made().text();
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  EXPECT_THAT(text, HasSubstr("properties: [[__srcId, me]]"));
}

TEST(CaptureScenario, WritesAnyBytes) {
  Traffic traffic;
  const std::string value("a\0'\n\xff", 5);
  traffic.set("c", {"SET", "key with \"quotes\"", value});
  traffic.request("c", {"FROB", std::string_view("\0", 1), "x"});
  traffic.reply("c", "-ERR unknown command\r\n");
  codec::Message& odd = traffic.request("c", {"GET", "x"});
  odd.payload = "*1\r\n";
  traffic.reply("c", "-ERR something new\r\n");
  const std::string text = traffic.made().text();
  EXPECT_THAT(text, HasSubstr("{key: k1, value: {escaped: 'a\\x00''\\n\\xff'}}"));
  EXPECT_THAT(text, HasSubstr("send: {command: [FROB, {key: k2}, x]"));
  EXPECT_THAT(text, HasSubstr("send: {payload: {escaped: '*1\\r\\n'}"));
  EXPECT_THAT(text, HasSubstr("{bytes: {escaped: '-ERR something new\\r\\n'}}"));
}

TEST(CaptureScenario, FlagsWhatNoRightStoreDoes) {
  Traffic traffic;
  traffic.capture.from_start = true;
  traffic.request("c", {"SET", "k", "v"});
  traffic.reply("c", "+WRONG\r\n");
  const CaptureScenario made = traffic.made();
  ASSERT_THAT(made.flagged, SizeIs(1));
  EXPECT_THAT(made.flagged[0], testing::StartsWith("client c, SET k: broke "));
  EXPECT_THAT(made.text(), HasSubstr("note: \"broke "));
  EXPECT_EQ(flagged(traffic.capture), made.flagged);
}

TEST(CaptureScenario, MakesNothingOfNothing) {
  EXPECT_THAT(capture_scenario({}, {}).text(), IsEmpty());
}

TEST(CaptureTimeline, AnExpiryIsNotTakenForALaterRemoval) {
  Traffic traffic;
  traffic.set("c", {"SET", "k", "v"});
  traffic.request("c", {"DEL", "k"});
  traffic.reply("c", ":1\r\n");
  traffic.notification("o", "k", "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n", stamp(kBegin));
  traffic.set("c", {"SET", "k", "v"});
  traffic.request("c", {"DEL", "k"});
  traffic.reply("c", ":1\r\n");
  const Timeline timeline = timeline_of(traffic.capture);
  ASSERT_THAT(timeline.items, SizeIs(5));
  EXPECT_EQ(timeline.items[2].kind, TimelineItem::Kind::kNotification);
}

TEST(CaptureLog, ReadsWhatThePluginWrites) {
  const std::string start = R"({"event":"start","time_us":1,"version":2,"clock_offset_ms":-1000})";
  const std::string request =
      R"({"event":"request","time_us":2,"client":"c","message":{"topic":"t",)"
      R"("payload":"\\x00\\xff","qos":2,"retain":false,"correlation_data":"",)"
      R"("user_properties":[["a","b"],["a","c"]]}})";
  const auto capture = read_capture_log(start + "\n" + request + "\n" + R"({"event":"requ)");
  ASSERT_TRUE(capture.has_value()) << capture.error();
  ASSERT_THAT(capture->events, SizeIs(1));
  const auto& message = std::get<CapturedMessage>(capture->events[0]);
  EXPECT_EQ(message.message.payload, std::string("\0\xff", 2));
  EXPECT_EQ(message.message.qos, 2);
  EXPECT_EQ(message.message.correlation_data, "");
  EXPECT_THAT(message.message.user_properties, SizeIs(2));
  EXPECT_LT(capture->clock->high_ms, 0);
}

TEST(CaptureLog, SaysWhichLineIsWrongAndWhere) {
  const std::string message = R"({"topic":"t","payload":"","qos":1,"retain":false})";
  const std::pair<std::string, std::string> rows[] = {
      {"", "it is no JSON"},
      {"{", "it is no JSON"},
      {"[]", "/: must be an object, not an array"},
      {R"({"event":"dance","time_us":1})", "an unknown event: dance"},
      {R"({"event":"start","version":1,"clock_offset_ms":0})", "a log of another version"},
      {R"({"event":"start","version":2})", "/: has no member \"clock_offset_ms\""},
      {R"({"event":"request","time_us":1,"client":"c"})", "/: has no member \"message\""},
      {R"({"event":"request","time_us":1,"client":"c","message":)" + message + "}",
       "/message: has no member \"user_properties\""},
      {R"({"event":"disconnect","time_us":"1","client":"c"})",
       "/time_us: must be a whole number from 0 on, not \"1\""}};
  for (const auto& [wrong, why] : rows) {
    const auto capture = read_capture_log(wrong + "\n");
    ASSERT_FALSE(capture.has_value()) << wrong;
    EXPECT_THAT(capture.error(), HasSubstr("line 1: ")) << wrong;
    EXPECT_THAT(capture.error(), HasSubstr(why)) << wrong;
  }
}

std::string packet(const std::string& mqtt) {
  return R"(<packet><proto name="geninfo"><field name="timestamp" value="10.5"/></proto>)"
         R"(<proto name="tcp"><field name="tcp.srcport" show="5000"/>)"
         R"(<field name="tcp.dstport" show="1883"/><field name="tcp.stream" show="0"/></proto>)" +
         mqtt + "</packet>";
}

std::string publish(const std::string& topic, int alias) {
  std::string hex;
  for (const char c : topic) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(c) >> 4U];
    hex += kDigits[static_cast<unsigned char>(c) & 0xfU];
  }
  return R"(<proto name="mqtt"><field name="mqtt.hdrflags"><field name="mqtt.msgtype" show="3"/>)"
         R"(<field name="mqtt.qos" show="1"/></field><field name="mqtt.topic" value=")" +
         hex + R"("/><field name="mqtt.properties"><field name="mqtt.property_id" value="23"/>)" +
         R"(<field name="mqtt.prop_number" value="000)" + std::to_string(alias) +
         R"("/></field><field name="mqtt.msg" value="2a00"/></proto>)";
}

TEST(PdmlReader, ReadsPacketsAndTopicAliases) {
  PdmlReader reader(1883);
  const std::string topic(codec::kRequestTopic);
  ASSERT_TRUE(reader.add_packet(packet(publish(topic, 1) + publish("", 1))).has_value());
  ASSERT_TRUE(reader.add_packet(packet(publish("", 2))).has_value());
  const Capture capture = reader.finish();
  ASSERT_THAT(capture.events, SizeIs(2));
  const auto& message = std::get<CapturedMessage>(capture.events[1]);
  EXPECT_EQ(message.message.topic, topic);
  EXPECT_EQ(message.message.payload, std::string("*\0", 2));
  EXPECT_EQ(message.time, microseconds{10'500'000});
}

TEST(PdmlReader, RefusesWhatIsNoXml) {
  PdmlReader reader(1883);
  EXPECT_FALSE(reader.add_packet("<packet><proto>").has_value());
}

}  // namespace
}  // namespace fencepost::record
