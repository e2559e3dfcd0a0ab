#include "clients/judge.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/play_fixture.h"

namespace fencepost::clients {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct WrongClient {
  std::string name;
  std::string rule;
  std::function<void(Play&)> does;
};

// Asks this, when all that a client has to do first is done.
std::function<void(Play&)> asks(const Ask& ask) {
  return [ask](Play& play) { play.begin().ask(ask); };
}
std::function<void(Play&)> asks_in(std::vector<std::string_view> words) {
  return asks(Ask{.words = std::move(words)});
}

const std::string kPrefix{codec::kStorePrefix};
const std::string kVersion = std::to_string(kNoonMs + 5000) + ":1:StateStore";

const std::vector<WrongClient> kWrongRequests = {
    {"qos_0", "ENV-QOS-2", asks({.qos = 0})},
    {"qos_2", "ENV-QOS-2", asks({.qos = 2})},
    {"no_response_topic", "ENV-RESPONSE-TOPIC-5", asks({.response_topic = ""})},
    {"request_topic_as_response_topic", "ENV-RESPONSE-TOPIC-2",
     asks({.response_topic = std::string(codec::kRequestTopic)})},
    {"response_topic_of_the_store", "ENV-RESPONSE-TOPIC-3",
     asks({.response_topic = kPrefix + "/me"})},
    {"wildcard_in_response_topic", "MQTT-3.3.2-14", asks({.response_topic = "clients/me/#"})},
    {"no_correlation_data", "ENV-CORRELATION-2", asks({.with_correlation = false})},
    {"reused_correlation_data", "ENV-CORRELATION-3",
     [](Play& play) {
       play.begin().ask({}).ask({.words = {"GET", "key"}});
     }},
    {"inline_command", "RESP-ARRAY-1", asks({.payload = "GET key\r\n"})},
    {"characters_for_length", "RESP-INVALID-4",
     asks({.payload = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\xc3\xa9\xc3\xa9\r\n"})},
    {"cut_payload", "RESP-INVALID-4", asks({.payload = "*2\r\n$3\r\nGET\r\n$9\r\nkey\r\n"})},
    {"no_last_line_end", "RESP-INVALID-4", asks({.payload = "*2\r\n$3\r\nGET\r\n$3\r\nkey"})},
    {"lower_case_verb", "CASE-VERB-1", asks_in({"get", "key"})},
    {"mixed_case_verb", "CASE-VERB-1", asks_in({"KeyNotify", "key"})},
    {"unknown_verb", "RESP-INVALID-3", asks_in({"EXISTS", "key"})},
    {"lower_case_option", "CASE-OPTION-1", asks_in({"SET", "key", "value", "nx"})},
    {"lower_case_expiry", "CASE-OPTION-1", asks_in({"SET", "key", "value", "px", "100"})},
    {"lower_case_stop", "CASE-OPTION-1", asks_in({"KEYNOTIFY", "key", "stop"})},
    {"unknown_option", "ERR-SYNTAX-1", asks_in({"SET", "key", "value", "XX"})},
    {"seconds_option", "ERR-SYNTAX-1", asks_in({"SET", "key", "value", "EX", "10"})},
    {"unknown_option_of_keynotify", "ERR-SYNTAX-1", asks_in({"KEYNOTIFY", "key", "START"})},
    {"expiry_without_a_number", "SET-PX-1", asks_in({"SET", "key", "value", "PX"})},
    {"expiry_that_is_no_number", "SET-PX-1", asks_in({"SET", "key", "value", "PX", "soon"})},
    {"set_without_a_value", "ERR-ARITY-1", asks_in({"SET", "key"})},
    {"get_of_two_keys", "ERR-ARITY-1", asks_in({"GET", "key", "other"})},
    {"vdel_without_a_value", "ERR-ARITY-1", asks_in({"VDEL", "key"})},
    {"empty_key", "KEY-EMPTY-1", asks_in({"GET", ""})},
    {"no_timestamp", "HLC-REQUIRED-2", asks({.ts = ""})},
    {"timestamp_of_seconds", "HLC-REQUIRED-2", asks({.ts = "2026-11-23T12:00:00Z"})},
    {"timestamp_without_a_node", "HLC-REQUIRED-2", asks({.ts = "1795435200000:0"})},
    {"malformed_token", "FT-FORMAT-1", asks({.ft = "the token"})},
};

const std::vector<WrongClient> kWrongClocks = {
    {"clock_ahead", "ENV-CLOCK-1",
     [](Play& play) { play.begin().ask({.ts = play.stamp(61'001)}); }},
    {"clock_behind", "ENV-CLOCK-1",
     [](Play& play) { play.begin().wait(1s).ask({.ts = play.stamp(-61'001)}); }},
    {"timestamp_of_the_article", "ENV-CLOCK-1",
     [](Play& play) { play.begin().wait(1s).ask({.ts = "1696374425000:0:CLIENT"}); }},
    {"clock_goes_back", "HLC-CLIENT-1",
     [](Play& play) { play.begin().whole({}).wait(2s).ask({.ts = play.stamp(-5'000)}); }},
    {"clock_not_merged", "HLC-CLIENT-2",
     [](Play& play) { play.begin().whole({}, kVersion).wait(2s).ask({}); }},
    {"clock_behind_its_token", "HLC-CLIENT-2",
     [](Play& play) { play.begin().whole({}, kVersion).ask({.ft = kVersion}); }},
    {"token_edited", "LOCK-TOKEN-2",
     [](Play& play) {
       const std::string edited = std::to_string(kNoonMs + 5000) + ":2:StateStore";
       play.begin().whole({}, kVersion).ask({.ts = play.stamp(6'000), .ft = edited});
     }},
};

const std::vector<WrongClient> kWrongPackets = {
    {"sent_again_on_the_same_connection", "MQTT-4.4.0-1",
     [](Play& play) { play.begin().ask({.id = 7}).ask({.dup = true, .id = 7}); }},
    {"sent_again_after_its_puback", "MQTT-4.4.0-1",
     [](Play& play) { play.begin().ask({.id = 7}).puback().ask({.dup = true, .id = 7}); }},
    {"sent_again_with_other_bytes", "MQTT-4.4.0-1",
     [](Play& play) {
       play.begin().ask({.id = 7}).close().connect({.session_present = true});
       play.ask({.words = {"GET", "key"}, .dup = true, .id = 7});
     }},
    {"sent_again_without_dup", "MQTT-3.3.1-1",
     [](Play& play) {
       play.begin().ask({.id = 7}).close().connect({.session_present = true}).ask({.id = 7});
     }},
    {"identifier_in_use", "MQTT-2.2.1-3",
     [](Play& play) { play.begin().ask({.id = 7}).ask({.correlation = "d", .id = 7}); }},
    {"puback_of_nothing", "MQTT-2.2.1-5", [](Play& play) { play.begin().whole({}).ack(99); }},
    {"pubacks_out_of_order", "MQTT-4.6.0-2",
     [](Play& play) { play.begin().note(1).note(2).ack(2).ack(1); }},
    {"never_a_puback", "MQTT-4.3.2-4",
     [](Play& play) { play.begin().note(1).wait(31s).sent(wire::Pingreq{}); }},
    {"more_than_the_receive_maximum", "MQTT-3.3.4-7",
     [](Play& play) {
       wire::Connack connack;
       connack.properties.add(wire::PropertyId::kReceiveMaximum, 1);
       play.connect(connack).subscribe(play.own_topic());
       play.ask({}).ask({.correlation = "d"});
     }},
    {"larger_than_the_broker_takes", "MQTT-3.2.2-15",
     [](Play& play) {
       wire::Connack connack;
       connack.properties.add(wire::PropertyId::kMaximumPacketSize, 200);
       play.connect(connack).subscribe(play.own_topic());
       play.ask({.words = {"SET", "key", std::string_view(kPrefix)}});
     }},
    {"subscription_identifier_in_a_publish", "MQTT-3.3.4-6",
     [](Play& play) {
       wire::Publish publish{.topic = "other"};
       publish.properties.add(wire::PropertyId::kSubscriptionId, 1);
       play.begin().sent(publish);
     }},
    {"no_local_of_shared", "MQTT-3.8.3-4",
     [](Play& play) { play.connect().subscribe("$share/group/topic", 1, 5); }},
    {"no_connect", "MQTT-3.1.0-1", [](Play& play) { play.open().sent(wire::Pingreq{}); }},
    {"two_connects", "MQTT-3.1.0-2",
     [](Play& play) { play.connect().sent(wire::Connect{.client_id = "me"}); }},
    {"two_response_topics", "MQTT-4.13.1-1",
     [](Play& play) {
       wire::Publish publish = play.publish_of({});
       publish.properties.add(wire::PropertyId::kResponseTopic, "second");
       play.begin().sent(publish);
     }},
    {"older_mqtt", "ENV-MQTT5-1",
     [](Play& play) {
       const std::string topic(codec::kRequestTopic);
       play.open().sent_bytes("\x10\x0e\0\4MQTT\4\2\0\x3c\0\2me"s);
       play.sent_bytes("\x30\x43\0\x41"s + topic);
     }},
};

// Registers for a key, and subscribes to its topic again after a reconnect.
Play& reconnects(Play& play) {
  const std::string topic = *codec::notification_topic("me", "key");
  play.connect().subscribe(play.own_topic()).subscribe(topic);
  play.whole({.words = {"KEYNOTIFY", "key"}}).close();
  return play.connect().subscribe(play.own_topic()).subscribe(topic);
}

const std::vector<WrongClient> kWrongReconnects = {
    {"keynotify_only_once", "LIFE-RECONNECT-1",
     [](Play& play) {
       reconnects(play).wait(6s).whole({.words = {"GET", "key"}}).close();
     }},
};

// Advice, which does not fail a client.
const std::vector<WrongClient> kCareless = {
    {"response_topic_of_its_own", "ENV-RESPONSE-TOPIC-6",
     [](Play& play) { play.connect().subscribe("me/#").ask({.response_topic = "me/r"}); }},
    {"not_subscribed", "MQTT-4.10", [](Play& play) { play.connect().ask({}); }},
    {"subscribes_too_late", "MQTT-4.10",
     [](Play& play) { play.connect().ask({}).subscribe(play.own_topic()); }},
    {"subscription_refused", "MQTT-4.10",
     [](Play& play) { play.connect().subscribe(play.own_topic(), 0x87).ask({}); }},
    {"unsubscribed", "MQTT-4.10",
     [](Play& play) {
       play.connect().subscribe(play.own_topic());
       play.sent(wire::Unsubscribe{.packet_id = 5, .filters = {play.own_topic()}});
       play.told(wire::Unsuback{.packet_id = 5, .reasons = {0}}).ask({});
     }},
    {"keynotify_before_subscribing", "NTF-SUBSCRIBE-1",
     [](Play& play) {
       play.connect().subscribe(play.own_topic()).ask({.words = {"KEYNOTIFY", "key"}});
     }},
};

class EachWrongClient : public ::testing::TestWithParam<WrongClient> {};

TEST_P(EachWrongClient, IsAccusedOfThatAndOfNothingElse) {
  Play play;
  GetParam().does(play);
  EXPECT_THAT(play.broken(), ElementsAre(GetParam().rule));
  ASSERT_FALSE(play.findings().empty());
  EXPECT_FALSE(play.findings()[0].because.empty());
  EXPECT_EQ(play.judge().tally().broken.count(GetParam().rule), 1U);
}

std::string name_of(const ::testing::TestParamInfo<WrongClient>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Request, EachWrongClient, ::testing::ValuesIn(kWrongRequests), name_of);
INSTANTIATE_TEST_SUITE_P(Clock, EachWrongClient, ::testing::ValuesIn(kWrongClocks), name_of);
INSTANTIATE_TEST_SUITE_P(Packet, EachWrongClient, ::testing::ValuesIn(kWrongPackets), name_of);
INSTANTIATE_TEST_SUITE_P(Reconnect, EachWrongClient, ::testing::ValuesIn(kWrongReconnects),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Careless, EachWrongClient, ::testing::ValuesIn(kCareless), name_of);

struct RightClient {
  std::string name;
  std::function<void(Play&)> does;
};

const std::vector<RightClient> kRight = {
    // Nothing keeps a client from it: the documents have no such sentence.
    {"publishes_where_the_store_tells_of_changes",
     [](Play& play) { play.begin().ask({.topic = kPrefix + "/6D65/command/notify/6B6579"}); }},
    {"plain",
     [](Play& play) {
       play.begin().whole({}).whole({.words = {"GET", "key"}, .ts = ""});
       play.whole({.words = {"DEL", "key"}, .ts = ""}).sent(wire::Disconnect{}).close();
     }},
    {"every_verb_and_option",
     [](Play& play) {
       play.begin().whole({.words = {"SET", "k", "", "NX"}});
       play.whole({.words = {"SET", "k", "v", "NEX", "PX", "10000"}});
       play.whole({.words = {"SET", "k", "v", "PX", "10", "NX"}});
       play.whole({.words = {"SET", "k", "v", "NEX", "v"}});  // as the article's table has it
       play.whole({.words = {"VDEL", "k", ""}}).whole({.words = {"KEYNOTIFY", "*"}});
       play.whole({.words = {"KEYNOTIFY", "*", "STOP"}}).whole({.words = {"SCAN", "k*"}});
     }},
    {"binary_keys_and_values",
     [](Play& play) {
       play.begin().whole({.words = {"SET", "\r\n$3\r\n", "*1\r\n"}});
     }},
    {"correlation_data_free_again",
     [](Play& play) {
       play.begin().whole({}).whole({.words = {"GET", "key"}});
     }},
    {"correlation_data_free_when_given_up",
     [](Play& play) {
       play.begin().ask({}).puback().wait(6s).ask({.words = {"GET", "key"}});
     }},
    {"tries_again_with_a_new_stamp",
     [](Play& play) { play.begin().ask({}).puback().wait(1s).ask({}); }},
    {"gave_up_before_the_response_came",
     [](Play& play) {
       play.begin().ask({}).puback().wait(800ms).answer(kVersion).ack().wait(2s).ask({});
     }},
    {"same_request_again",
     [](Play& play) { play.begin().ask({.ts = play.stamp()}).ask({.ts = play.stamp()}); }},
    {"same_correlation_data_as_another_client",
     [](Play& play) {
       play.begin().ask({});
       play.become("you");
       play.connect().subscribe(play.own_topic()).ask({});
     }},
    {"sent_again_after_the_connection_ended",
     [](Play& play) {
       const std::string stamp = play.stamp();
       play.begin().ask({.ts = stamp, .id = 7}).close().wait(3s);
       play.connect({.session_present = true}).ask({.ts = stamp, .dup = true, .id = 7});
     }},
    {"sent_again_as_the_puback_was_lost",
     [](Play& play) {
       const std::string stamp = play.stamp();
       play.begin().ask({.ts = stamp, .id = 7}).puback().close();
       play.connect({.session_present = true}).ask({.ts = stamp, .dup = true, .id = 7});
     }},
    {"sent_again_though_the_session_is_gone",
     [](Play& play) {
       const std::string stamp = play.stamp();
       play.begin().ask({.ts = stamp, .id = 7}).close();
       play.begin().ask({.ts = stamp, .dup = true, .id = 7});
     }},
    {"restarted_and_counting_from_one_again",
     [](Play& play) {
       play.begin().ask({.id = 1}).close().connect({.session_present = true});
       play.ask({.words = {"GET", "key"}, .correlation = "d", .id = 1});
     }},
    {"threads_that_send_in_another_order",
     [](Play& play) {
       play.begin().ask({.ts = play.stamp(3)}).ask({.correlation = "d", .ts = play.stamp(2)});
     }},
    {"stamped_before_the_response_came",
     [](Play& play) { play.begin().whole({}, kVersion).ask({.ts = play.stamp()}); }},
    {"queued_while_it_was_offline",
     [](Play& play) {
       const std::string stamp = play.stamp();
       play.wait(10min).begin().ask({.ts = stamp});
     }},
    {"merged_clock",
     [](Play& play) {
       const std::string merged = std::to_string(kNoonMs + 5000) + ":2:me";
       play.begin().whole({}, kVersion).wait(2s).ask({.ts = merged, .ft = kVersion});
     }},
    {"refuses_a_version_far_ahead",
     [](Play& play) {
       play.begin().whole({}, std::to_string(kNoonMs + 90'000) + ":1:StateStore");
       play.wait(2s).ask({});
     }},
    {"clock_a_minute_ahead", [](Play& play) { play.begin().ask({.ts = play.stamp(60'000)}); }},
    {"token_from_elsewhere",
     [](Play& play) { play.begin().whole({}, kVersion).ask({.ft = "1:0:StateStore"}); }},
    {"token_spelled_without_zeros",
     [](Play& play) {
       play.begin().whole({}, "00" + std::to_string(kNoonMs + 5000) + ":00001:StateStore");
       play.ask({.ts = play.stamp(6'000), .ft = kVersion});
     }},
    {"subscribed_in_a_session_that_was_kept",
     [](Play& play) { play.begin().close().connect({.session_present = true}).whole({}); }},
    {"asks_before_the_suback",
     [](Play& play) {
       play.connect().sent(
           wire::Subscribe{.packet_id = 9, .subscriptions = {{play.own_topic(), 1}}});
       play.ask({});
     }},
    {"asks_before_the_connack",
     [](Play& play) {
       play.open().sent(wire::Connect{.client_id = "me"});
       play.sent(wire::Subscribe{.packet_id = 9, .subscriptions = {{play.own_topic(), 1}}});
       play.ask({}).told(wire::Connack{});
     }},
    {"shared_subscription_for_its_responses",
     [](Play& play) { play.connect().subscribe("$share/g/" + play.own_topic()).ask({}); }},
    {"named_by_the_broker",
     [](Play& play) {
       wire::Connack connack;
       play.become("given");
       connack.properties.add(wire::PropertyId::kAssignedClientId, "given");
       play.open().sent(wire::Connect{}).told(connack).subscribe(play.own_topic()).whole({});
     }},
    {"topic_alias",
     [](Play& play) {
       wire::Publish publish = play.publish_of({});
       publish.properties.add(wire::PropertyId::kTopicAlias, 1);
       play.begin().sent(publish).puback().answer().ack();
       wire::Publish next = play.publish_of({.topic = ""});
       next.properties.add(wire::PropertyId::kTopicAlias, 1);
       play.sent(next);
     }},
    {"slow_to_acknowledge_and_silent", [](Play& play) { play.begin().note(1).wait(60s).close(); }},
    {"keynotify_again_after_a_reconnect",
     [](Play& play) {
       reconnects(play).wait(6s).whole({.words = {"GET", "key"}});
       play.whole({.words = {"KEYNOTIFY", "key"}}).close();
     }},
    {"loses_the_connection_again_at_once",
     [](Play& play) {
       reconnects(play).wait(1s).whole({.words = {"GET", "key"}}).close();
     }},
    {"needs_no_key_after_a_reconnect",
     [](Play& play) {
       reconnects(play).whole({.words = {"KEYNOTIFY", "key", "STOP"}}).wait(6s).whole({}).close();
     }},
    {"acknowledges_twice", [](Play& play) { play.begin().note(1).ack(1).ack(1); }},
    {"older_mqtt_beside_the_store",
     [](Play& play) {
       play.open().sent_bytes("\x10\x0e\0\4MQTT\4\2\0\x3c\0\2me"s).sent_bytes("\x30\x05\0\1tab"s);
     }},
    {"other_topics",
     [](Play& play) { play.begin().sent(wire::Publish{.qos = 0, .topic = "a/b"}); }},
};

class EachRightClient : public ::testing::TestWithParam<RightClient> {};

TEST_P(EachRightClient, IsAccusedOfNothing) {
  Play play;
  GetParam().does(play);
  EXPECT_THAT(play.broken(), IsEmpty());
  for (const Finding& finding : play.findings()) ADD_FAILURE() << finding.because;
}

std::string name_of_right(const ::testing::TestParamInfo<RightClient>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Judge, EachRightClient, ::testing::ValuesIn(kRight), name_of_right);

TEST(Judge, AccusesNobodyOfAClockThatIsRightWhereTheStoresIsNot) {
  for (const auto offset : {-10min, 10min}) {
    Play play(offset);
    const std::string version =
        play.stamp(std::chrono::milliseconds(offset).count(), ":1:StateStore");
    play.begin().wait(1s).whole({}, version).wait(2s).whole({.ft = version});
    EXPECT_THAT(play.broken(), IsEmpty());
    play.wait(1s).ask({.ts = "1696374425000:0:me"});
    EXPECT_THAT(play.broken(), ElementsAre("ENV-CLOCK-1", "HLC-CLIENT-1"));
  }
}

TEST(Judge, TellsTheFirstTenOfThoseWhoNeverConnect) {
  Play play;
  for (int i = 0; i < 25; ++i) play.open().sent(wire::Pingreq{}).close();
  EXPECT_EQ(play.judge().take_findings().size(), Judge::kMostOfARule);
  EXPECT_EQ(play.judge().tally().broken.at("MQTT-3.1.0-1"), 25U);
  EXPECT_EQ(play.judge().tally().not_judged, 25U);
}

TEST(Judge, SaysNothingOfWhatFollowsThePacketWithWhichItEnds) {
  Play play;
  const std::string ping = *wire::encode(wire::Pingreq{});
  play.open().sent_bytes(ping + std::string("\0\0", 2));
  EXPECT_THAT(play.broken(), ElementsAre("MQTT-3.1.0-1"));
}

TEST(Judge, ReadsPacketsThatAreCutAnywhere) {
  Play play;
  play.begin();
  const std::string bytes = *wire::encode(play.publish_of({.ts = ""}));
  for (const char c : bytes) {
    EXPECT_THAT(play.broken(), IsEmpty());
    play.sent_bytes({&c, 1});
  }
  EXPECT_THAT(play.broken(), ElementsAre("HLC-REQUIRED-2"));
}

TEST(Judge, SaysWhoWhenAndWhichPacket) {
  Play play;
  play.begin().wait(7ms);
  const std::string bytes = *wire::encode(play.publish_of({.ts = ""}));
  play.sent_bytes(bytes);
  ASSERT_THAT(play.broken(), ElementsAre("HLC-REQUIRED-2"));
  const Finding& finding = play.findings()[0];
  EXPECT_EQ(finding.client_id, "me");
  EXPECT_EQ(finding.connection, 1U);
  EXPECT_EQ(finding.at, std::chrono::milliseconds(kNoonMs + 7));
  EXPECT_EQ(finding.packet, bytes);
  EXPECT_EQ(finding.packet_bytes, bytes.size());
  EXPECT_THAT(finding.because, HasSubstr("no __ts"));
}

TEST(Judge, CountsAllAndTellsTheFirstTenOfARule) {
  Play play;
  play.begin();
  for (int i = 0; i < 25; ++i) play.whole({.ts = ""});
  EXPECT_EQ(play.judge().take_findings().size(), Judge::kMostOfARule);
  EXPECT_EQ(play.judge().tally().broken.at("HLC-REQUIRED-2"), 25U);
  EXPECT_EQ(play.judge().tally().requests, 25U);
  EXPECT_EQ(play.judge().tally().clients, 1U);
}

TEST(Judge, GivesUpAConnectionWhosePacketsAreTooLarge) {
  Judge judge({.store_node = {}, .most_packet_bytes = 100});
  judge.opened(1, Time{0});
  judge.sent(1, *wire::encode(wire::Connect{.client_id = std::string(200, 'x')}), Time{0});
  judge.sent(1, "no packet", Time{0});
  judge.closed(1, Time{0});
  EXPECT_THAT(judge.take_findings(), IsEmpty());
  EXPECT_EQ(judge.tally().not_judged, 1U);
}

TEST(Judge, TakesAnyBytes) {
  for (unsigned first = 0; first < 256; ++first) {
    Judge judge({});
    judge.opened(1, Time{0});
    const std::string bytes = {static_cast<char>(first), '\2', '\0', '\0'};
    judge.sent(1, bytes, Time{0});
    judge.delivered(1, bytes, Time{0});
    judge.closed(1, Time{0});
    EXPECT_EQ(judge.tally().connections, 1U);
  }
}

TEST(Rules, EachIsBrokenByAWrongClient) {
  std::set<std::string> shown;
  for (const auto* table :
       {&kWrongRequests, &kWrongClocks, &kWrongPackets, &kWrongReconnects, &kCareless}) {
    for (const WrongClient& each : *table) shown.insert(each.rule);
  }
  for (const Rule& each : rules()) EXPECT_TRUE(shown.contains(std::string(each.id))) << each.id;
}

}  // namespace
}  // namespace fencepost::clients
