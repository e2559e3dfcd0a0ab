// What cases of captures have beside the exchanges themselves: what was there before, waits,
// connections, notifications, notes.
#include "traffic/record/capture_case.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/error_code.h"
#include "traffic/record/capture_sample.h"

namespace fencepost::record {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string kDeleted = "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n";
const std::string kSetToV = "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nv\r\n";

std::string refusal(codec::ErrorCode code) {
  return "-ERR " + std::string(codec::text(code, codec::dialect(codec::DialectId::kDeployed))) +
         "\r\n";
}

// How often it is in the text.
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++out;
  }
  return out;
}

// --- what was there before

TEST(CaptureCase, MakesAKeyWhoseValueNobodyHasSeen) {
  Traffic traffic;
  traffic.request("c", {"SET", "k", "v", "NX"});
  traffic.reply("c", ":-1\r\n", stamp(kBegin, "store"));
  const CaptureScenario made = traffic.made();
  EXPECT_THAT(made.text(), HasSubstr("set: {key: k, value: from before the recording}"));
  EXPECT_THAT(
      made.notes,
      Contains(
          "key k existed before the recording: the first steps create it, with another value"));
}

TEST(CaptureCase, MakesAKeyWithATokenThatIsLowOrHighEnough) {
  Traffic required;
  required.request("c", {"DEL", "k"});
  required.reply("c", refusal(codec::ErrorCode::kTokenRequired));
  EXPECT_THAT(required.made().text(), HasSubstr("ft: now - 240h"));
  Traffic lower;
  lower.request("c", {"DEL", "k"}).user_properties.emplace_back("__ft", stamp(kBegin - 5s));
  lower.reply("c", refusal(codec::ErrorCode::kTokenLower));
  const std::string text = lower.made().text();
  EXPECT_THAT(text, HasSubstr("ft: now"));
  EXPECT_THAT(text, Not(HasSubstr("ft: now - 240h")));
  EXPECT_THAT(text, HasSubstr("divergence: [lower-token-text]"));
}

TEST(CaptureCase, RegistersWhoHasObservedAKeyBefore) {
  Traffic traffic;
  traffic.set("o", {"SET", "other", "x"});
  const std::string version = traffic.set("c", {"SET", "k", "v"});
  traffic.notification("o", "k", kSetToV, version);
  const std::string text = traffic.made().text();
  EXPECT_LT(text.find("keynotify: k"), text.find("notification: {key: k"));
  EXPECT_THAT(text, HasSubstr("NTF-RESPONSE-2"));
  traffic.capture.from_start = true;
  EXPECT_THAT(traffic.made().text(), Not(HasSubstr("keynotify: k")));
}

TEST(CaptureCase, NamesTheStartApartFromTheKeys) {
  Traffic traffic;
  traffic.request("c", {"SET", "start", "v"})
      .user_properties.emplace_back("__ft", stamp(kBegin - 500ms));
  traffic.reply("c", "+OK\r\n", stamp(traffic.now, "store"));
  const std::string text = traffic.made().text();
  EXPECT_THAT(text, HasSubstr("- set: {key: start-, value: start}"));
  EXPECT_LT(text.find("key: start-"), text.find("key: start,"));
}

// --- time

TEST(CaptureCase, DoesNotWaitLongerThanAnHour) {
  Traffic traffic;
  traffic.set("c", {"SET", "k", "v", "PX", "3700000"});
  traffic.now += 2h;
  traffic.get("c", "k", "$-1\r\n");
  const CaptureScenario made = traffic.made();
  EXPECT_THAT(made.text(), Not(HasSubstr("- wait:")));
  EXPECT_THAT(made.notes,
              Contains("a key expired after more than an hour: this case does not wait that long"));
}

TEST(CaptureCase, KeepsNoWaitThatIsOnlyWhatRequestsTake) {
  Traffic traffic;
  traffic.set("c", {"SET", "k", "v"});
  traffic.now += 8ms;  // and one until it is sent
  traffic.get("c", "k", "$1\r\nv\r\n");
  EXPECT_THAT(traffic.made({.keeps_waits = true}).text(), Not(HasSubstr("- wait:")));
  traffic.now += 2h;
  traffic.get("c", "k", "$1\r\nv\r\n");
  EXPECT_THAT(traffic.made({.keeps_waits = true}).text(), HasSubstr("- wait: 1h"));
}

TEST(CaptureCase, CountsAKeyAsExpiredOnlyAfterTheSlack) {
  // A condition that fails or a value tell nothing: the time alone decides.
  const auto waits = [](milliseconds later) {
    Traffic traffic;
    traffic.capture.from_start = true;
    traffic.set("c", {"SET", "k", "v", "PX", "1000"});
    traffic.now += later;
    traffic.set("c", {"SET", "k", "w"});
    return count(traffic.made().text(), "- wait:");
  };
  EXPECT_EQ(waits(1249ms - 1ms), 0U);
  EXPECT_EQ(waits(1250ms), 1U);
}

// --- connections

TEST(CaptureCase, DisconnectsAClientThatHasDoneSo) {
  Traffic traffic;
  traffic.request("o", {"KEYNOTIFY", "k"});
  traffic.reply("o", "+OK\r\n");
  traffic.capture.events.emplace_back(CapturedConnection{.client_id = "o", .time = traffic.now});
  traffic.capture.events.emplace_back(CapturedConnection{.client_id = "o", .time = traffic.now});
  traffic.set("c", {"SET", "k", "v"});
  const std::string text = traffic.made().text();
  EXPECT_EQ(count(text, "- disconnect: a"), 1U);
  // Nobody does anything afterwards.
  Traffic last;
  last.set("c", {"SET", "k", "v"});
  last.capture.events.emplace_back(CapturedConnection{.client_id = "c", .time = last.now});
  EXPECT_THAT(last.made().text(), Not(HasSubstr("- disconnect:")));
}

TEST(CaptureCase, ExpectsTheEndOfAConnectionThatTheStoreEnds) {
  Traffic traffic;
  traffic.capture.from_start = true;
  traffic.request("c", {"GET", "k"}).response_topic = std::string(codec::kStorePrefix) + "/x";
  traffic.capture.events.emplace_back(
      CapturedConnection{.client_id = "c", .time = traffic.now, .by_store = true});
  traffic.get("c", "k", "$-1\r\n");
  const std::string text = traffic.made().text();
  EXPECT_THAT(text, HasSubstr("reply: disconnect"));
  EXPECT_THAT(text, HasSubstr("ENV-RESPONSE-TOPIC-4"));
  EXPECT_THAT(text, HasSubstr("requires: [transport]"));
  EXPECT_LT(text.find("reply: disconnect"), text.find("- connect: a"));
}

TEST(CaptureCase, NeedsATransportForWhatOnlyPacketsShow) {
  Traffic traffic;
  traffic.set("c", {"SET", "k", "v"});
  EXPECT_THAT(traffic.made().text(), Not(HasSubstr("requires:")));
  traffic.request("c", {"GET", "k"}).qos = 0;
  traffic.get("c", "k", "$1\r\nv\r\n");
  EXPECT_THAT(traffic.made().text(), HasSubstr("requires: [transport]"));
}

// --- notifications

TEST(CaptureCase, LeavesOutNotificationsThatItCannotExplain) {
  Traffic traffic;
  traffic.capture.from_start = true;
  traffic.request("o", {"KEYNOTIFY", "k"});
  traffic.reply("o", "+OK\r\n");
  traffic.notification("o", "k", "?", stamp(kBegin));
  traffic.notification("o", "k", kSetToV, stamp(kBegin));
  const CaptureScenario made = traffic.made();
  EXPECT_THAT(made.text(), Not(HasSubstr("- notification:")));
  const std::string begin = "a notification of key k to client a was left out: ";
  EXPECT_THAT(made.notes, Contains(begin + "it is malformed"));
  EXPECT_THAT(made.notes, Contains(begin + "no request in this recording caused it"));
}

TEST(CaptureCase, TellsADeletionFromAnExpiry) {
  const auto text = [](bool expires) {
    Traffic traffic;
    traffic.capture.from_start = true;
    traffic.request("o", {"KEYNOTIFY", "k"});
    traffic.reply("o", "+OK\r\n");
    const std::string version = expires ? traffic.set("c", {"SET", "k", "v", "PX", "1000"})
                                        : traffic.set("c", {"SET", "k", "v"});
    traffic.notification("o", "k", kSetToV, version);
    if (expires) {
      traffic.now += 2s;
    } else {
      traffic.request("c", {"DEL", "k"});
      traffic.reply("c", ":1\r\n");
    }
    traffic.notification("o", "k", kDeleted, stamp(traffic.now, "store"));
    return traffic.made().text();
  };
  EXPECT_THAT(text(true), HasSubstr("NTF-EXPIRY-1"));
  EXPECT_THAT(text(true), HasSubstr("- wait: {until: m2.reply + 1250ms}"));
  EXPECT_THAT(text(false), HasSubstr("NTF-SEND-2"));
  EXPECT_THAT(text(false), Not(HasSubstr("NTF-EXPIRY-1")));
  EXPECT_THAT(text(false), HasSubstr("delete-operation"));
}

TEST(CaptureCase, LeavesOutRegistrationsWhereNotificationsWereNotSeen) {
  Traffic traffic;
  traffic.capture.sees_notifications = false;
  traffic.request("o", {"KEYNOTIFY", "k"});
  traffic.reply("o", "+OK\r\n");
  traffic.set("o", {"SET", "k", "v"});
  const CaptureScenario made = traffic.made();
  EXPECT_THAT(made.text(), Not(HasSubstr("- keynotify:")));
  EXPECT_THAT(made.notes,
              Contains("client a observed key k: left out, because notifications were not seen"));
}

// --- the whole

TEST(CaptureCase, IsNoneWhereNothingCanFail) {
  Traffic traffic;
  traffic.capture.sees_replies = false;
  traffic.request("c", {"GET", "k"});
  const CaptureScenario made = traffic.made();
  EXPECT_THAT(made.cases, IsEmpty());
  EXPECT_THAT(made.text(), IsEmpty());
  EXPECT_EQ(made.requests, 1U);
  EXPECT_THAT(made.notes, Contains("no case is made of c: nothing there distinguishes a conforming "
                                   "store from one that does nothing"));
  // A client that has sent no request cannot be replayed.
  Traffic notified;
  notified.notification("o", "k", kDeleted, stamp(kBegin));
  EXPECT_THAT(notified.made().notes, IsEmpty());
}

TEST(CaptureCase, SaysWhoAndWhatWasWhat) {
  Traffic traffic;
  traffic.capture.unknown = {"what is not known"};
  traffic.capture.from_start = true;
  traffic.set("me", {"SET", "\xff", "v"});
  traffic.reply("you", "+OK\r\n");  // to nothing that was seen
  const CaptureScenario made = traffic.made({.title = "my title"});
  EXPECT_EQ(made.cases.at(0).title, "my title");
  EXPECT_EQ(made.cases.at(0).area, kRecordArea);
  EXPECT_THAT(made.comments.cases.at(made.cases[0].id),
              ElementsAre("client a: me", "key k1: \\xff"));
  EXPECT_THAT(
      made.comments.file,
      ElementsAre("what is not known", "1 response to requests that were not seen: left out"));
}

TEST(CaptureCase, SaysHowManyRequestsWereInFlightTogether) {
  Traffic traffic;
  traffic.capture.in_order = false;
  const std::string first = *traffic.request("c", {"GET", "k"}).correlation_data;
  traffic.get("d", "k", "$-1\r\n");
  traffic.reply("c", "$-1\r\n");
  std::get<CapturedMessage>(traffic.capture.events.back()).message.correlation_data = first;
  EXPECT_THAT(traffic.made().notes, Contains(HasSubstr("2 requests in flight together")));
}

// The clock of the store shows in the versions that it makes.
TEST(CaptureCase, FindsTheClockOfTheStore) {
  const auto text = [](milliseconds ahead, bool known) {
    Traffic traffic;
    if (known) traffic.capture.clock = judge::ClockBounds{ahead.count() - 1, ahead.count() + 1};
    traffic.request("c", {"SET", "k", "v"}).user_properties = {
        {"__ts", stamp(traffic.now + ahead)}};
    traffic.reply("c", "+OK\r\n", stamp(traffic.now + (known ? 0ms : ahead), "store"));
    return traffic.made().text();
  };
  EXPECT_THAT(text(10min, false), Not(HasSubstr("ts: now")));  // its own clock, as usual
  EXPECT_THAT(text(10min, true), Not(HasSubstr("ts: now")));
  EXPECT_THAT(text(900ms, false), Not(HasSubstr("ts: now")));
  EXPECT_THAT(text(-10min, false), Not(HasSubstr("ts: now")));
}

TEST(CaptureCase, HasTheSameIdForTheSame) {
  const auto id = [](const std::string& value) {
    Traffic traffic;
    traffic.set("c", {"SET", "k", value});
    return traffic.made().cases.at(0).id;
  };
  EXPECT_EQ(id("v"), id("v"));
  EXPECT_NE(id("v"), id("w"));
  EXPECT_THAT(id("v"), testing::MatchesRegex("record\\.set\\.[0-9a-f]{8}-1"));
}

TEST(CaptureCase, GroupsWhoSharesATokenWithAKey) {
  Traffic traffic;
  const std::string lock = traffic.set("a", {"SET", "lock", "a"});
  traffic.request("b", {"SET", "guarded", "v"}).user_properties.emplace_back("__ft", lock);
  traffic.reply("b", "+OK\r\n", stamp(traffic.now, "store"));
  traffic.set("c", {"SET", "alone", "v"});
  EXPECT_THAT(traffic.made().cases, SizeIs(2));
}

}  // namespace
}  // namespace fencepost::record
