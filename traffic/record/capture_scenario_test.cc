#include "traffic/record/capture_scenario.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traffic/record/capture_sample.h"

namespace fencepost::record {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Req: ENV-RESPONSE-1
TEST(CaptureScenario, FlagsRequestsThatAreAnsweredTwiceOrNotAtAll) {
  Traffic traffic;
  traffic.request("c", {"GET", "k"});
  traffic.reply("c", "$-1\r\n");
  traffic.reply("c", "$-1\r\n");
  traffic.request("c", {"GET", "l"});
  traffic.request("c", {"GET", "k"});
  traffic.reply("c", "$-1\r\n");
  for (CapturedEvent& event : traffic.capture.events) {
    codec::Message& message = std::get<CapturedMessage>(event).message;
    if (!message.response_topic) message.user_properties = {{"__stat", "200"}};
  }
  EXPECT_THAT(flagged(traffic.capture),
              testing::UnorderedElementsAre(
                  "client c, GET k: broke ENV-RESPONSE-1: it was answered 2 times",
                  "client c, GET l: broke ENV-RESPONSE-1: no response came"));
}

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
  const std::string of_c = "GET (no such key) and SET: a key that is not plain text, one client";
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
  EXPECT_THAT(made.notes, testing::Contains(HasSubstr("the response was not seen")));
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

TEST(CaptureScenario, FlagsWhatNoConformingStoreDoes) {
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

}  // namespace
}  // namespace fencepost::record
