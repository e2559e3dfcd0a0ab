#include "traffic/record/capture_timeline.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traffic/record/capture.h"
#include "traffic/record/capture_sample.h"

namespace fencepost::record {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = TimelineItem::Kind;

const std::string kSetTo = "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\n";
const std::string kDeleted = "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n";

TEST(Capture, KnowsTheClientOfAResponseTopic) {
  EXPECT_EQ(client_of_response_topic("clients/me/services/x"), "me");
  for (const char* other : {"clients/me", "clients//x", "clients/", "me/x", ""}) {
    EXPECT_EQ(client_of_response_topic(other), other);
  }
}

TEST(Capture, HasTheTimeOfAnyEvent) {
  EXPECT_EQ(time_of(CapturedMessage{.time = microseconds{3}}), microseconds{3});
  EXPECT_EQ(time_of(CapturedConnection{.time = microseconds{4}}), microseconds{4});
}

// "c SET", "c notified", "c ended", in their order.
std::vector<std::string> shown(const Timeline& timeline) {
  std::vector<std::string> out;
  for (const TimelineItem& item : timeline.items) {
    if (item.kind == Kind::kNotification) {
      out.push_back(item.client_id + " notified");
    } else if (item.kind == Kind::kDisconnection) {
      out.push_back(item.client_id + " ended");
    } else {
      const auto frame = codec::decode_command(item.message->payload);
      out.push_back(item.client_id + " " +
                    std::string(frame ? frame->arguments[0] : std::string_view("?")));
    }
  }
  return out;
}

CapturedConnection ended(const std::string& client, milliseconds time, bool by_store = false) {
  return {.client_id = client, .time = time, .by_store = by_store};
}

TEST(CaptureTimeline, PairsRequestsWithReplies) {
  Traffic traffic;
  traffic.set("c", {"SET", "k", "v"});
  traffic.get("d", "k", "$1\r\nv\r\n");
  const Timeline timeline = timeline_of(traffic.capture);
  ASSERT_THAT(shown(timeline), ElementsAre("c SET", "d GET"));
  const TimelineItem& set = timeline.items[0];
  EXPECT_EQ(set.reply->payload, "+OK\r\n");
  EXPECT_EQ(set.sent, kBegin + milliseconds{1});
  EXPECT_EQ(set.received, kBegin + milliseconds{2});
  EXPECT_TRUE(set.client_known);
  EXPECT_FALSE(set.reply_unknown);
  EXPECT_FALSE(set.overlaps);
  EXPECT_EQ(timeline.strange_messages, 0U);
}

TEST(CaptureTimeline, PairsTheSameNameInTheOrderOfTheRequests) {
  Traffic traffic;
  traffic.request("c", {"GET", "a"}).correlation_data = "1";
  traffic.request("c", {"GET", "b"}).correlation_data = "1";
  traffic.reply("c", "first");
  std::get<CapturedMessage>(traffic.capture.events.back()).message.correlation_data = "1";
  traffic.reply("c", "second");
  std::get<CapturedMessage>(traffic.capture.events.back()).message.correlation_data = "1";
  const Timeline timeline = timeline_of(traffic.capture);
  ASSERT_THAT(timeline.items, SizeIs(2));
  EXPECT_EQ(timeline.items[0].reply->payload, "first");
  EXPECT_EQ(timeline.items[1].reply->payload, "second");
}

TEST(CaptureTimeline, CountsMessagesThatAnswerNothing) {
  Traffic traffic;
  traffic.request("c", {"GET", "k"});
  traffic.reply("d", "$-1\r\n");  // another topic
  traffic.reply("c", "$-1\r\n");
  traffic.reply("c", "$-1\r\n");  // one too many
  std::get<CapturedMessage>(traffic.capture.events[1]).message.correlation_data.reset();
  const Timeline timeline = timeline_of(traffic.capture);
  EXPECT_EQ(timeline.strange_messages, 1U);
  EXPECT_EQ(timeline.items.front().more_replies, 1U);
  // Where a broker may have sent it again, nothing is reported.
  traffic.capture.in_order = false;
  const Timeline of_packets = timeline_of(traffic.capture);
  EXPECT_EQ(of_packets.strange_messages, 2U);
  EXPECT_EQ(of_packets.items.front().more_replies, 0U);
}

TEST(CaptureTimeline, DerivesTheClientOfARequest) {
  Traffic traffic;
  traffic.request("", {"GET", "k"}).response_topic = "clients/me/r";
  traffic.request("", {"GET", "k"}).response_topic.reset();
  traffic.request("known", {"GET", "k"});
  const Timeline timeline = timeline_of(traffic.capture);
  EXPECT_THAT(shown(timeline), ElementsAre("me GET", " GET", "known GET"));
  EXPECT_FALSE(timeline.items[0].client_known);
  EXPECT_FALSE(timeline.items[1].client_known);
  EXPECT_TRUE(timeline.items[2].client_known);
}

TEST(CaptureTimeline, StandsInTheOrderOfRepliesWhereThatOfHandlingIsNotKnown) {
  Traffic traffic;
  codec::Message slow = traffic.request("c", {"SET", "k", "v"});
  traffic.get("d", "k", "$-1\r\n");
  traffic.reply("c", "+OK\r\n");
  std::get<CapturedMessage>(traffic.capture.events.back()).message.correlation_data =
      slow.correlation_data;
  EXPECT_THAT(shown(timeline_of(traffic.capture)), ElementsAre("c SET", "d GET"));
  EXPECT_FALSE(timeline_of(traffic.capture).items[0].overlaps);
  traffic.capture.in_order = false;
  const Timeline timeline = timeline_of(traffic.capture);
  EXPECT_THAT(shown(timeline), ElementsAre("d GET", "c SET"));
  EXPECT_TRUE(timeline.items[0].overlaps);
  EXPECT_TRUE(timeline.items[1].overlaps);
}

// The requests of one client are in the order in which it was answered.
TEST(CaptureTimeline, RequestsOfOneClientDoNotOverlap) {
  Traffic traffic;
  traffic.capture.in_order = false;
  const codec::Message first = traffic.request("c", {"SET", "k", "v"});
  traffic.get("c", "k", "$-1\r\n");
  traffic.reply("c", "+OK\r\n");
  std::get<CapturedMessage>(traffic.capture.events.back()).message.correlation_data =
      first.correlation_data;
  for (const TimelineItem& item : timeline_of(traffic.capture).items) EXPECT_FALSE(item.overlaps);
}

TEST(CaptureTimeline, KnowsWhetherThereWasNoReply) {
  Traffic traffic;
  traffic.request("c", {"GET", "k"});
  traffic.get("c", "k", "$-1\r\n");
  traffic.request("c", {"GET", "last"});
  Timeline timeline = timeline_of(traffic.capture);
  EXPECT_FALSE(timeline.items[0].reply_unknown);  // another one was answered behind it
  EXPECT_TRUE(timeline.items[2].reply_unknown);   // the capture may have ended too early
  EXPECT_EQ(timeline.items[0].received, traffic.now);
  traffic.capture.sees_replies = false;
  timeline = timeline_of(traffic.capture);
  EXPECT_TRUE(timeline.items[0].reply_unknown);
}

// Packets of several queues may be in another order than that of their times.
TEST(CaptureTimeline, ARequestWithoutReplyEndsNotBeforeItBegan) {
  Traffic traffic;
  traffic.request("c", {"GET", "k"});
  const milliseconds late = traffic.now;
  traffic.now -= milliseconds{500};
  traffic.request("d", {"GET", "k"});
  EXPECT_EQ(timeline_of(traffic.capture).items[0].received, late);
}

TEST(CaptureTimeline, HasEndsOfConnectionsAndNotTheirBegins) {
  Traffic traffic;
  traffic.capture.events.emplace_back(CapturedConnection{.client_id = "c", .begins = true});
  traffic.request("c", {"GET", "k"});
  traffic.capture.events.emplace_back(ended("d", traffic.now));
  traffic.capture.events.emplace_back(ended("c", traffic.now, true));
  const Timeline timeline = timeline_of(traffic.capture);
  ASSERT_THAT(shown(timeline), ElementsAre("c GET", "d ended", "c ended"));
  EXPECT_FALSE(timeline.items[1].by_store);
  EXPECT_TRUE(timeline.items[2].by_store);
  const auto items = pointers_to(timeline);
  EXPECT_TRUE(ends_connection(items, 0));   // d's is not its own
  EXPECT_FALSE(ends_connection(items, 2));  // nothing follows
}

TEST(CaptureTimeline, AnEndByTheClientIsNotOneByTheStore) {
  Traffic traffic;
  traffic.request("c", {"GET", "k"});
  traffic.capture.events.emplace_back(ended("c", traffic.now));
  traffic.request("d", {"GET", "k"});
  traffic.request("d", {"GET", "k"});
  traffic.capture.events.emplace_back(ended("d", traffic.now, true));
  const Timeline timeline = timeline_of(traffic.capture);
  EXPECT_FALSE(ends_connection(pointers_to(timeline), 0));
  EXPECT_FALSE(ends_connection(pointers_to(timeline), 2));  // it has sent a request again before
  EXPECT_TRUE(ends_connection(pointers_to(timeline), 3));
}

TEST(CaptureTimeline, OfNothingIsEmpty) { EXPECT_THAT(timeline_of({}).items, IsEmpty()); }

// --- notifications that were seen too early

// An observer is notified of a SET before its reply, or before it was even seen.
struct EarlyNotification {
  milliseconds lead{1};
  bool before_request = false;
  std::string value = "v";
  std::string version{};  // empty: that of the SET
  std::string key = "k";
  bool sees_packets = true;
};

std::vector<std::string> order_of(const EarlyNotification& early) {
  Traffic traffic;
  traffic.capture.in_order = false;
  traffic.capture.sees_packets = early.sees_packets;
  const std::string version = stamp(kBegin, "store");
  const auto notify = [&] {
    traffic.notification("o", early.key, kSetTo + early.value + "\r\n",
                         early.version.empty() ? version : early.version);
    traffic.now += early.lead;
  };
  if (early.before_request) notify();
  traffic.request("c", {"SET", "k", "v"});
  if (!early.before_request) notify();
  traffic.reply("c", "+OK\r\n", version);
  return shown(timeline_of(traffic.capture));
}

TEST(CaptureTimeline, PutsANotificationBehindTheSetThatCausedIt) {
  EXPECT_THAT(order_of({}), ElementsAre("c SET", "o notified"));
  // What was seen before the request was not caused by it, if packets were seen.
  EXPECT_THAT(order_of({.before_request = true}), ElementsAre("o notified", "c SET"));
  EXPECT_THAT(order_of({.before_request = true, .sees_packets = false}),
              ElementsAre("c SET", "o notified"));
  EXPECT_THAT(order_of({.lead = milliseconds{99}, .before_request = true, .sees_packets = false}),
              ElementsAre("c SET", "o notified"));
  EXPECT_THAT(order_of({.lead = milliseconds{100}, .before_request = true, .sees_packets = false}),
              ElementsAre("o notified", "c SET"));
}

TEST(CaptureTimeline, LeavesANotificationWhereItWasThatSomethingElseHasCaused) {
  for (const EarlyNotification& other :
       {EarlyNotification{.value = "w"}, EarlyNotification{.version = stamp(kBegin, "other")},
        EarlyNotification{.key = "other"}}) {
    EXPECT_THAT(order_of(other), ElementsAre("o notified", "c SET"));
  }
}

TEST(CaptureTimeline, PutsANotificationBehindTheRemovalThatCausedIt) {
  for (const std::string& reply : {std::string(":1\r\n"), std::string(":0\r\n")}) {
    Traffic traffic;
    traffic.capture.in_order = false;
    traffic.request("c", {"VDEL", "k", "v"});
    traffic.notification("o", "k", kDeleted, stamp(kBegin));
    traffic.reply("c", reply);
    const bool removed = reply == ":1\r\n";
    EXPECT_THAT(shown(timeline_of(traffic.capture)), removed ? ElementsAre("c VDEL", "o notified")
                                                             : ElementsAre("o notified", "c VDEL"));
  }
}

// Two removals, two notifications: each stands for the one before it.
TEST(CaptureTimeline, ARemovalCausesOneNotificationOfEachObserver) {
  Traffic traffic;
  traffic.capture.in_order = false;
  const auto remove = [&](bool early) {
    traffic.set("c", {"SET", "k", "v"});
    traffic.request("c", {"DEL", "k"});
    if (early) traffic.notification("o", "k", kDeleted, stamp(kBegin));
    traffic.reply("c", ":1\r\n");
    if (!early) traffic.notification("o", "k", kDeleted, stamp(kBegin));
  };
  remove(false);
  remove(true);
  EXPECT_THAT(shown(timeline_of(traffic.capture)),
              ElementsAre("c SET", "c DEL", "o notified", "c SET", "c DEL", "o notified"));
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

}  // namespace
}  // namespace fencepost::record
