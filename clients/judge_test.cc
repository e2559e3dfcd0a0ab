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
using ::testing::SizeIs;

struct WrongClient {
  std::string name;
  std::string rule;
  std::function<void(Play&)> does;
};

// Sends this request, when all that a client has to do first is done.
std::function<void(Play&)> asks(const Ask& ask) {
  return [ask](Play& play) { play.begin().ask(ask); };
}
std::function<void(Play&)> asks_in(std::vector<std::string_view> words) {
  return asks(Ask{.words = std::move(words)});
}

// Sends this when all that a client has to do first is done.
std::function<void(Play&)> sends(wire::Packet packet) {
  return [packet = std::move(packet)](Play& play) { play.begin().sent(packet); };
}
std::function<void(Play&)> sends_bytes(std::string bytes) {
  return [bytes = std::move(bytes)](Play& play) { play.begin().sent_bytes(bytes); };
}
const std::string kRefusal = "-ERR syntax error\r\n";
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
    {"topic_without_its_version", "ENV-TOPIC-1",
     asks({.topic = "statestore/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"})},
    {"topic_in_another_case", "ENV-TOPIC-1",
     asks({.topic = "statestore/v1/fa9ae35f-2f64-47cd-9bff-08e2b32a0fe8/command/invoke"})},
    {"slash_behind_the_topic", "ENV-TOPIC-1",
     asks({.topic = std::string(codec::kRequestTopic) + "/"})},
    {"level_behind_the_topic", "ENV-TOPIC-1",
     asks({.topic = std::string(codec::kRequestTopic) + "/set"})},
    {"empty_response_topic", "MQTT-4.7.3-1",
     [](Play& play) {
       wire::Publish publish = play.publish_of({.response_topic = ""});
       publish.properties.add(wire::PropertyId::kResponseTopic, "");
       play.begin().sent(publish);
     }},
    {"zero_byte_in_response_topic", "MQTT-1.5.4-2", asks({.response_topic = "a\0b"s})},
    {"text_that_is_none", "MQTT-3.3.2.3.2",
     [](Play& play) {
       wire::Publish publish = play.publish_of({.words = {"SET", "key", "\xff"}});
       publish.properties.add(wire::PropertyId::kPayloadFormat, 1);
       play.begin().sent(publish);
     }},
};

// What the documents leave to stores, and this one refuses.
std::function<void(Play&)> refused(const Ask& ask, std::string error = kRefusal) {
  return [ask, error = std::move(error)](Play& play) { play.begin().whole(ask, {}, error); };
}
const std::vector<WrongClient> kRefused = {
    {"expiry_with_a_unit", "SET-PX-1", refused({.words = {"SET", "k", "v", "PX", "60s"}})},
    {"expiry_of_more_than_64_bits", "SET-PX-1",
     refused({.words = {"SET", "k", "v", "PX", "18446744073709551616"}})},
    {"stamp_of_more_than_64_bits", "HLC-REQUIRED-2",
     refused({.ts = "99999999999999999999:0:me"}, "-ERR malformed timestamp\r\n")},
    {"negative_expiry", "SET-PX-1", refused({.words = {"SET", "k", "v", "PX", "-1"}})},
    {"two_conditions", "ERR-SYNTAX-1", refused({.words = {"SET", "k", "v", "NX", "NEX"}})},
    {"two_expiries", "ERR-SYNTAX-1", refused({.words = {"SET", "k", "v", "PX", "1", "PX", "2"}})},
    {"get_of_keynotify", "ERR-SYNTAX-1", refused({.words = {"KEYNOTIFY", "key", "GET"}})},
    {"lines_without_cr", "RESP-ARRAY-1", refused({.payload = "*2\n$3\nGET\n$3\nkey\n"})},
    {"option_in_lower_case_behind_nex", "CASE-OPTION-1",
     refused({.words = {"SET", "k", "v", "NEX", "Px", "10"}})},
    {"length_of_more_than_64_bits", "RESP-INVALID-4",
     refused({.payload = "*2\r\n$3\r\nGET\r\n$99999999999999999999\r\nk\r\n"})},
    {"integers", "RESP-ARRAY-1", refused({.payload = "*2\r\n$3\r\nGET\r\n:1\r\n"})},
    {"bytes_behind_the_payload", "RESP-ARRAY-1",
     refused({.payload = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n\r\n"})},
    {"blanks_in_a_stamp", "HLC-REQUIRED-2",
     [](Play& play) {
       const std::string stamp = ' ' + play.stamp();
       play.begin().whole({.ts = stamp}, {}, "-ERR malformed timestamp\r\n");
     }},
    {"nothing_behind_its_own_token", "FT-REQUIRED-1",
     [](Play& play) {
       play.begin().whole({.ft = play.stamp(0, ":0:lock")}).wait(1ms);
       play.whole({}, {}, "-ERR a fencing token is required for this request\r\n");
     }},
};

const std::string kLock = std::to_string(kNoonMs) + ":1:StateStore";
Play& gets_lock(Play& play) {
  return play.begin().whole({.words = {"SET", "lock", "me", "NX"}}, kLock).wait(1ms);
}
// With that lock, as the client takes it.
Play& uses_lock(Play& play) {
  return play.wait(2ms).ask({.words = {"SET", "key", "value"}, .ft = kLock});
}
const std::vector<WrongClient> kWrongHolders = {
    {"lock_given_back", "FT-CLIENT-1",
     [](Play& play) {
       gets_lock(play).whole({.words = {"VDEL", "lock", "me"}}, {}, ":1\r\n");
       uses_lock(play);
     }},
    {"lock_of_another", "FT-CLIENT-1",
     [](Play& play) {
       play.become("you");
       play.begin().whole({.words = {"SET", "lock", "you", "NX"}}, kLock).become("me");
       play.begin().whole({.words = {"SET", "lock", "me", "NX"}}, kLock, ":-1\r\n");
       uses_lock(play);
     }},
    {"lock_over", "FT-CLIENT-1",
     [](Play& play) {
       play.begin().whole({.words = {"SET", "lock", "me", "NX", "PX", "500"}}, kLock).wait(800ms);
       uses_lock(play);
     }},
    {"lock_lost", "FT-CLIENT-1",
     [](Play& play) {
       const std::string later = std::to_string(kNoonMs + 1) + ":1:StateStore";
       gets_lock(play).become("you");
       play.begin().whole({.words = {"SET", "lock", "you", "NX"}}, later).become("me");
       play.begin().whole({.words = {"GET", "lock"}}, later, "$3\r\nyou\r\n");
       uses_lock(play);
     }},
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
    {"clock_of_seconds", "ENV-CLOCK-1",
     [](Play& play) { play.begin().ask({.ts = std::to_string(kNoonMs / 1000) + ":0:me"}); }},
    {"clock_that_stands", "HLC-CLIENT-1",
     [](Play& play) {
       const std::string stamp = play.stamp();
       play.begin().whole({.ts = stamp}).wait(5ms);
       play.whole({.words = {"SET", "other", "value"}, .ts = stamp});
     }},
    {"clock_goes_back_in_quick_requests", "HLC-CLIENT-1",
     [](Play& play) {
       play.begin();
       for (int i = 0; i < 10; ++i) play.wait(2ms).whole({.ts = play.stamp(-20 * i)});
     }},
    {"clock_goes_back_in_requests_with_short_rests", "HLC-CLIENT-1",
     [](Play& play) {
       play.begin();
       for (int i = 0; i < 40; ++i) {
         play.wait(100ms).whole({.ts = play.stamp(i % 2 == 0 ? 0 : -5'000)});
       }
     }},
    {"clock_behind_in_requests_with_short_rests", "ENV-CLOCK-1",
     [](Play& play) {
       play.begin();
       for (int i = 0; i < 20; ++i) play.wait(100ms).whole({.ts = play.stamp(-90'000)});
     }},
    {"clock_not_merged_in_requests_with_short_rests", "HLC-CLIENT-2",
     [](Play& play) {
       play.begin();
       for (int i = 0; i < 30; ++i) {
         const std::string ahead = play.stamp(30'000, ":" + std::to_string(i) + ":StateStore");
         play.wait(100ms).whole({}, ahead);
       }
     }},
    {"clock_not_merged_behind_reads_without_a_stamp", "HLC-CLIENT-2",
     [](Play& play) {
       play.begin();
       for (int i = 0; i < 30; ++i) {
         play.wait(100ms).whole({.words = {"GET", "other"}, .ts = ""},
                                play.stamp(30'000, ":1:StateStore"));
         play.whole({});
       }
     }},
    {"clock_goes_back_after_a_rest", "HLC-CLIENT-1",
     [](Play& play) {
       play.begin().whole({}).wait(2s).whole({}).wait(2ms);
       play.whole({.ts = play.stamp(-5'000)});
     }},
    {"token_of_the_future", "HLC-SKEW-2",
     [](Play& play) { play.begin().ask({.ft = play.stamp(62'000, ":0:lock")}); }},
    {"token_rounded", "LOCK-TOKEN-2",
     [](Play& play) {
       const std::string version = std::to_string(kNoonMs + 5123) + ":1:StateStore";
       const std::string rounded = std::to_string(kNoonMs + 5000) + ":0:StateStore";
       play.begin().whole({}, version).wait(6s).ask({.ts = play.stamp(), .ft = rounded});
     }},
    {"stamp_of_the_store", "VER-UPDATE-2",
     [](Play& play) {
       const std::string version = std::to_string(kNoonMs) + ":1:StateStore";
       play.begin().whole({}, version).whole({.ts = version});
     }},
    {"token_in_seconds", "LOCK-TOKEN-2",
     [](Play& play) {
       const std::string seconds = std::to_string((kNoonMs + 5000) / 1000) + ":1:StateStore";
       play.begin().whole({}, kVersion).wait(6s).ask({.ts = play.stamp(), .ft = seconds});
     }},
    {"token_with_its_own_node", "LOCK-TOKEN-2",
     [](Play& play) {
       const std::string other = std::to_string(kNoonMs + 5000) + ":1:me";
       play.begin().whole({}, kVersion).wait(6s).ask({.ts = play.stamp(), .ft = other});
     }},
    {"token_with_another_node", "LOCK-TOKEN-2",
     [](Play& play) {
       const std::string other = std::to_string(kNoonMs + 5000) + ":1:lock-holder";
       play.begin().whole({}, kVersion).wait(6s).ask({.ts = play.stamp(), .ft = other});
     }},
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
    {"packet_of_brokers", "MQTT-2.1.2", sends(wire::Pingresp{})},
    {"another_protocol", "MQTT-3.1.2-1",
     [](Play& play) { play.open().sent_bytes("\x10\x0f\0\4HTTP\5\2\0\x3c\0\0\2me"s); }},
    {"version_6", "MQTT-3.1.2-2",
     [](Play& play) { play.open().sent_bytes("\x10\x0f\0\4MQTT\6\2\0\x3c\0\0\2me"s); }},
    {"pubrec_of_qos_1", "MQTT-3.3.4-1",
     [](Play& play) {
       play.begin().note(1).sent(wire::Ack{.kind = wire::AckKind::kPubrec, .packet_id = 1});
     }},
    {"puback_of_qos_2", "MQTT-3.3.4-1",
     [](Play& play) {
       play.begin().received(wire::Publish{.qos = 2, .packet_id = 3, .topic = "b"}).ack(3);
     }},
    {"pubrel_before_its_pubrec", "MQTT-4.3.3-4",
     [](Play& play) {
       play.begin().sent(wire::Publish{.qos = 2, .packet_id = 5, .topic = "a"});
       play.sent(wire::Ack{.kind = wire::AckKind::kPubrel, .packet_id = 5});
     }},
    {"no_pubrec", "MQTT-4.3.3-8",
     [](Play& play) {
       play.begin().received(wire::Publish{.qos = 2, .packet_id = 3, .topic = "b"}).wait(2s);
       play.sent(wire::Disconnect{});
     }},
    {"no_pubcomp", "MQTT-4.3.3-11",
     [](Play& play) {
       play.begin().received(wire::Publish{.qos = 2, .packet_id = 3, .topic = "b"});
       play.sent(wire::Ack{.kind = wire::AckKind::kPubrec, .packet_id = 3});
       play.received(wire::Ack{.kind = wire::AckKind::kPubrel, .packet_id = 3}).wait(2s);
       play.sent(wire::Disconnect{});
     }},
    {"pubrel_of_nothing", "MQTT-2.2.1-5",
     sends(wire::Ack{.kind = wire::AckKind::kPubrel, .packet_id = 9})},
    {"pubcomp_of_nothing", "MQTT-2.2.1-5",
     sends(wire::Ack{.kind = wire::AckKind::kPubcomp, .packet_id = 9})},
    {"no_pubrel", "MQTT-4.3.3-4",
     [](Play& play) {
       play.begin().sent(wire::Publish{.qos = 2, .packet_id = 5, .topic = "a"});
       play.received(wire::Ack{.kind = wire::AckKind::kPubrec, .packet_id = 5}).wait(2s);
       play.sent(wire::Disconnect{});
     }},
    {"topic_that_is_no_text", "MQTT-1.5.4-1", sends(wire::Publish{.topic = "a\xff"})},
    {"will_topic_with_a_zero_byte", "MQTT-1.5.4-2",
     [](Play& play) { play.connect({}, with_will("a\0b"s)); }},
    {"will_topic_with_a_wildcard", "MQTT-4.7.0-1",
     [](Play& play) { play.connect({}, with_will("a/#")); }},
    {"length_with_a_byte_too_many", "MQTT-1.5.5-1", sends_bytes("\xc0\x80\0"s)},
    {"reserved_flags", "MQTT-2.1.3-1", sends_bytes("\xc1\0"s)},
    {"identifier_0", "MQTT-2.2.1-3", sends_bytes("\x32\6\0\1a\0\0\0"s)},
    {"identifier_in_use_by_a_subscribe", "MQTT-2.2.1-3",
     [](Play& play) { play.begin().ask({.id = 7}).sent(subscription("a")); }},
    {"reserved_flag_of_connect", "MQTT-3.1.2-3",
     [](Play& play) { play.open().sent_bytes("\x10\x0f\0\4MQTT\5\3\0\x3c\0\0\2me"s); }},
    {"qos_of_no_will", "MQTT-3.1.2-11",
     [](Play& play) { play.open().sent_bytes("\x10\x0f\0\4MQTT\5\x0a\0\x3c\0\0\2me"s); }},
    {"retain_of_no_will", "MQTT-3.1.2-13",
     [](Play& play) { play.open().sent_bytes("\x10\x0f\0\4MQTT\5\x22\0\x3c\0\0\2me"s); }},
    {"will_of_qos_3", "MQTT-3.1.2-12",
     [](Play& play) {
       play.open().sent_bytes("\x10\x15\0\4MQTT\5\x1e\0\x3c\0\0\2me\0\0\1a\0\0"s);
     }},
    {"nothing_within_the_keep_alive", "MQTT-3.1.2-20",
     [](Play& play) { play.connect({}, {.keep_alive_s = 10}).wait(17s).sent(wire::Pingreq{}); }},
    {"broker_has_waited_too_long", "MQTT-3.1.2-20",
     [](Play& play) {
       play.connect({}, {.keep_alive_s = 10}).wait(15s).received(wire::Disconnect{.reason = 0x8d});
       play.close();
     }},
    {"nothing_within_the_keep_alive_of_the_broker", "MQTT-3.2.2-21",
     [](Play& play) {
       play.connect(with(wire::PropertyId::kServerKeepAlive, 5), {.keep_alive_s = 60});
       play.wait(9s).close();
     }},
    {"authentication_data_alone", "MQTT-3.1.2.11.10",
     [](Play& play) {
       wire::Connect connect;
       connect.properties.add(wire::PropertyId::kAuthenticationData, "secret");
       play.connect({}, connect);
     }},
    {"qos_above_the_maximum", "MQTT-3.2.2-11",
     [](Play& play) {
       play.begin(with(wire::PropertyId::kMaximumQos, 1));
       play.sent(wire::Publish{.qos = 2, .packet_id = 1, .topic = "a"});
     }},
    {"retain_where_there_is_none", "MQTT-3.2.2-14",
     [](Play& play) {
       play.begin(with(wire::PropertyId::kRetainAvailable, 0));
       play.sent(wire::Publish{.retain = true, .topic = "a"});
     }},
    {"alias_above_the_maximum", "MQTT-3.2.2-17",
     [](Play& play) {
       play.begin(with(wire::PropertyId::kTopicAliasMaximum, 3));
       play.sent(message("a", wire::PropertyId::kTopicAlias, 4));
     }},
    {"alias_where_there_are_none", "MQTT-3.2.2-18",
     sends(message("a", wire::PropertyId::kTopicAlias, 1))},
    {"dup_of_qos_0", "MQTT-3.3.1-2", sends(wire::Publish{.duplicate = true, .topic = "a"})},
    {"qos_3", "MQTT-3.3.1-4", sends(wire::Publish{.qos = 3, .packet_id = 1, .topic = "a"})},
    {"wildcard_in_a_topic", "MQTT-3.3.2-2", sends(wire::Publish{.topic = "a/+"})},
    {"alias_of_the_connection_before", "MQTT-3.3.2-7",
     [](Play& play) {
       const auto connack = with(wire::PropertyId::kTopicAliasMaximum, 3);
       play.begin(connack).sent(message("a", wire::PropertyId::kTopicAlias, 1)).close();
       play.begin(connack).sent(message("", wire::PropertyId::kTopicAlias, 1));
     }},
    {"alias_0", "MQTT-3.3.2-8", sends(message("a", wire::PropertyId::kTopicAlias, 0))},
    {"alias_of_nothing", "MQTT-3.3.2.3.4",
     [](Play& play) {
       play.begin(with(wire::PropertyId::kTopicAliasMaximum, 3));
       play.sent(message("", wire::PropertyId::kTopicAlias, 1));
     }},
    {"puback_with_another_reason", "MQTT-3.4.2-1",
     [](Play& play) { play.begin().note(1).sent(wire::Ack{.packet_id = 1, .reason = 0x77}); }},
    {"pubrec_with_another_reason", "MQTT-3.5.2-1",
     [](Play& play) {
       play.begin().received(wire::Publish{.qos = 2, .packet_id = 3, .topic = "b"});
       play.sent(wire::Ack{.kind = wire::AckKind::kPubrec, .packet_id = 3, .reason = 1});
     }},
    {"pubrel_with_another_reason", "MQTT-3.6.2-1",
     [](Play& play) {
       play.begin().sent(wire::Publish{.qos = 2, .packet_id = 5, .topic = "a"});
       play.received(wire::Ack{.kind = wire::AckKind::kPubrec, .packet_id = 5});
       play.sent(wire::Ack{.kind = wire::AckKind::kPubrel, .packet_id = 5, .reason = 1});
     }},
    {"pubcomp_with_another_reason", "MQTT-3.7.2-1",
     [](Play& play) {
       play.begin().received(wire::Publish{.qos = 2, .packet_id = 3, .topic = "b"});
       play.sent(wire::Ack{.kind = wire::AckKind::kPubcomp, .packet_id = 3, .reason = 1});
     }},
    {"subscribe_to_nothing", "MQTT-3.8.3-2", sends(wire::Subscribe{.packet_id = 7})},
    {"reserved_options", "MQTT-3.8.3-5",
     sends(wire::Subscribe{.packet_id = 7, .subscriptions = {{"a", 0xc1}}})},
    {"subscription_of_qos_3", "MQTT-3.8.3.1",
     sends(wire::Subscribe{.packet_id = 7, .subscriptions = {{"a", 3}}})},
    {"puback_with_identifier_0", "MQTT-2.2.1-5", sends_bytes("\x40\2\0\0"s)},
    {"unsubscribe_from_nothing", "MQTT-3.10.3-2", sends(wire::Unsubscribe{.packet_id = 7})},
    {"disconnect_with_a_reason_of_brokers", "MQTT-3.14.2-1",
     sends(wire::Disconnect{.reason = 0x8e})},
    {"expiry_at_the_end_alone", "MQTT-3.14.2.2.2",
     [](Play& play) {
       wire::Disconnect last;
       last.properties.add(wire::PropertyId::kSessionExpiry, 60);
       play.begin().sent(last);
     }},
    {"goes_on_behind_its_disconnect", "MQTT-3.14.4-1",
     [](Play& play) { play.begin().sent(wire::Disconnect{}).sent(wire::Pingreq{}); }},
    {"dup_at_first", "MQTT-4.3.2-2", asks({.dup = true})},
    {"dup_at_first_in_a_new_session", "MQTT-4.3.2-2",
     [](Play& play) {
       play.begin().whole({}).close();
       play.begin().ask({.words = {"GET", "other"}, .dup = true});
     }},
    {"no_puback_until_the_end", "MQTT-4.3.2-4",
     [](Play& play) { play.begin().note(1).wait(2s).sent(wire::Disconnect{}); }},
    {"no_puback_at_all", "MQTT-4.3.2-4",
     [](Play& play) {
       play.begin().note(1).note(2).note(3);
       for (int i = 0; i < 5; ++i) play.wait(300ms).sent(wire::Pingreq{});
       play.sent(wire::Disconnect{});
     }},
    {"not_sent_again", "MQTT-4.4.0-1",
     [](Play& play) {
       play.begin().ask({.id = 7}).close().connect({.session_present = true});
       play.ask({.words = {"GET", "key"}, .correlation = "d", .id = 8}).wait(6s).close();
     }},
    {"one_of_two_sent_again", "MQTT-4.4.0-1",
     [](Play& play) {
       const Ask first{.words = {"GET", "key"}, .ts = "", .id = 1};
       const Ask second{.words = {"GET", "k2"}, .correlation = "d", .ts = "", .id = 2};
       play.begin().ask(first).ask(second).close().connect({.session_present = true});
       Ask again = second;
       again.dup = true;
       play.ask(again).puback().sent(wire::Disconnect{});
     }},
    {"sent_again_in_another_order", "MQTT-4.6.0-1",
     [](Play& play) {
       Ask first{.words = {"GET", "key"}, .ts = "", .id = 1};
       Ask second{.words = {"GET", "k2"}, .correlation = "d", .ts = "", .id = 2};
       play.begin().ask(first).ask(second).close().connect({.session_present = true});
       first.dup = second.dup = true;
       play.ask(second).ask(first);
     }},
    {"characters_behind_the_last_level", "MQTT-4.7.1-1", sends(subscription("a/#/b"))},
    {"half_a_level", "MQTT-4.7.1-2", sends(subscription("a/b+"))},
    {"empty_topic", "MQTT-4.7.3-1", sends(wire::Publish{})},
    {"empty_filter", "MQTT-4.7.3-1", sends(subscription(""))},
    {"share_without_a_name", "MQTT-4.8.2-1", sends(subscription("$share//a"))},
    {"share_of_a_wildcard", "MQTT-4.8.2-2", sends(subscription("$share/+/a"))},
    {"share_without_a_filter", "MQTT-4.8.2-2", sends(subscription("$share/g"))},
    {"auth_without_a_method", "MQTT-4.12.0-7", sends(wire::Auth{.reason = 0x19})},
    {"ended_by_the_broker", "MQTT-4.13",
     [](Play& play) { play.begin().received(wire::Disconnect{.reason = 0x82}).close(); }},
    {"refused_by_the_broker", "MQTT-4.13",
     [](Play& play) {
       play.begin().sent(wire::Publish{.qos = 1, .packet_id = 5, .topic = "a"});
       play.received(wire::Ack{.packet_id = 5, .reason = 0x90});
     }},
    {"filter_refused_by_the_broker", "MQTT-4.13",
     [](Play& play) { play.connect().subscribe("a", 0x8f); }},
    {"connection_refused_by_the_broker", "MQTT-4.13",
     [](Play& play) { play.connect({.reason = 0x82}); }},
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
    {"stop_without_keynotify", "LIFE-RECONNECT-1",
     [](Play& play) {
       play.begin().whole({.words = {"KEYNOTIFY", "key"}}).close().begin();
       play.whole({.words = {"GET", "key"}}, {}, "$-1\r\n");
       play.whole({.words = {"KEYNOTIFY", "key", "STOP"}}, {}, ":0\r\n");
     }},
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
       play.received(wire::Unsuback{.packet_id = 5, .reasons = {0}}).ask({});
     }},
    {"keynotify_before_subscribing", "NTF-SUBSCRIBE-1",
     [](Play& play) {
       play.connect().subscribe(play.own_topic()).ask({.words = {"KEYNOTIFY", "key"}});
     }},
};

class EachWrongClient : public ::testing::TestWithParam<WrongClient> {};

TEST_P(EachWrongClient, HasThatFindingOnly) {
  Play play;
  GetParam().does(play);
  EXPECT_THAT(play.broken(), ElementsAre(GetParam().rule));
  ASSERT_FALSE(play.findings().empty());
  EXPECT_FALSE(play.findings()[0].because.empty());
  EXPECT_EQ(play.judge().tally().broken.count(GetParam().rule), 1U);
}

std::string name_of(const ::testing::TestParamInfo<WrongClient>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Request, EachWrongClient, ::testing::ValuesIn(kWrongRequests), name_of);
INSTANTIATE_TEST_SUITE_P(Refused, EachWrongClient, ::testing::ValuesIn(kRefused), name_of);
INSTANTIATE_TEST_SUITE_P(Holder, EachWrongClient, ::testing::ValuesIn(kWrongHolders), name_of);
INSTANTIATE_TEST_SUITE_P(Clock, EachWrongClient, ::testing::ValuesIn(kWrongClocks), name_of);
INSTANTIATE_TEST_SUITE_P(Packet, EachWrongClient, ::testing::ValuesIn(kWrongPackets), name_of);
INSTANTIATE_TEST_SUITE_P(Reconnect, EachWrongClient, ::testing::ValuesIn(kWrongReconnects),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Careless, EachWrongClient, ::testing::ValuesIn(kCareless), name_of);

struct ConformingClient {
  std::string name;
  std::function<void(Play&)> does;
};

const std::vector<ConformingClient> kRight = {
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
       play.begin().whole({.words = {"SET", "k", "", "NX"}}).wait(1ms);
       play.whole({.words = {"SET", "k", "v", "NEX", "PX", "10000"}}).wait(1ms);
       play.whole({.words = {"SET", "k", "v", "PX", "10", "NX"}}).wait(1ms);
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
    // Stamped together, and sent one by one: each is behind the version that came meanwhile.
    {"queue_that_is_let_out_at_its_own_pace",
     [](Play& play) {
       std::vector<std::string> stamps;
       play.begin();
       for (int i = 0; i < 30; ++i) stamps.push_back(play.stamp(i));
       for (const std::string& each : stamps) {
         const std::string version = play.stamp(0, ":1:StateStore");
         play.wait(100ms).whole({.ts = each}, version);
       }
     }},
    {"one_request_that_was_held_up",
     [](Play& play) {
       play.begin();
       const std::string held_up = play.stamp();
       for (int i = 0; i < 30; ++i) play.wait(100ms).whole({});
       play.whole({.words = {"SET", "other", "value"}, .ts = held_up});
     }},
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
       play.ask({}).received(wire::Connack{});
     }},
    {"shared_subscription_for_its_responses",
     [](Play& play) { play.connect().subscribe("$share/g/" + play.own_topic()).ask({}); }},
    {"named_by_the_broker",
     [](Play& play) {
       wire::Connack connack;
       play.become("given");
       connack.properties.add(wire::PropertyId::kAssignedClientId, "given");
       play.open().sent(wire::Connect{}).received(connack).subscribe(play.own_topic()).whole({});
     }},
    {"topic_alias",
     [](Play& play) {
       wire::Publish publish = play.publish_of({});
       publish.properties.add(wire::PropertyId::kTopicAlias, 1);
       play.begin(with(wire::PropertyId::kTopicAliasMaximum, 1));
       play.sent(publish).puback().answer().ack();
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
    {"refused_though_it_asks_as_the_documents_do",
     [](Play& play) {
       play.begin().whole({.words = {"SET", "k", "v", "NEX", "PX", "10"}}, {}, kRefusal).wait(1ms);
       play.whole({.words = {"SET", "k", "v", "NEX", "v"}}, {}, kRefusal).wait(1ms);
       play.whole({.words = {"KEYNOTIFY", "k", "STOP"}}, {}, kRefusal);
       play.whole({.words = {"SCAN", "k*"}}, {}, "-ERR unknown command\r\n");
     }},
    {"refused_for_what_is_nobodys_mistake",
     [](Play& play) {
       play.begin().whole({}, {}, "-ERR not authorized\r\n").wait(1ms);
       play.whole({}, {}, "-ERR a fencing token is required for this request\r\n");
       play.sent(wire::Publish{.qos = 1, .packet_id = 5, .topic = "a"});
       play.received(wire::Ack{.packet_id = 5, .reason = 0x97})
           .received(wire::Disconnect{.reason = 0x8e});
     }},
    {"lock_renewed_and_used_with_its_first_token",
     [](Play& play) {
       const std::string renewed = std::to_string(kNoonMs + 3) + ":1:StateStore";
       play.begin().whole({.words = {"SET", "lock", "me", "NX", "PX", "500"}}, kLock).wait(400ms);
       play.whole({.words = {"SET", "lock", "me", "NEX", "PX", "500"}}, renewed).wait(400ms);
       uses_lock(play);
     }},
    {"messages_of_qos_2",
     [](Play& play) {
       play.begin().sent(wire::Publish{.qos = 2, .packet_id = 5, .topic = "a"});
       play.received(wire::Ack{.kind = wire::AckKind::kPubrec, .packet_id = 5});
       play.sent(wire::Ack{.kind = wire::AckKind::kPubrel, .packet_id = 5});
       play.received(wire::Ack{.kind = wire::AckKind::kPubcomp, .packet_id = 5});
       play.received(wire::Publish{.qos = 2, .packet_id = 3, .topic = "b"});
       play.sent(wire::Ack{.kind = wire::AckKind::kPubrec, .packet_id = 3});
       play.received(wire::Ack{.kind = wire::AckKind::kPubrel, .packet_id = 3});
       play.sent(wire::Ack{.kind = wire::AckKind::kPubcomp, .packet_id = 3});
       play.wait(2s).sent(wire::Disconnect{});
     }},
    {"pubrel_in_the_resumed_session",
     [](Play& play) {
       play.begin().sent(wire::Publish{.qos = 2, .packet_id = 5, .topic = "a"});
       play.received(wire::Ack{.kind = wire::AckKind::kPubrec, .packet_id = 5}).close();
       play.connect({.session_present = true});
       play.sent(wire::Ack{.kind = wire::AckKind::kPubrel, .packet_id = 5});
       play.sent(wire::Publish{.qos = 1, .packet_id = 6, .topic = "a"}).wait(6s).close();
     }},
    {"lock_that_is_used_renewed_and_given_back",
     [](Play& play) {
       const std::string renewed = std::to_string(kNoonMs + 3) + ":1:StateStore";
       gets_lock(play);
       uses_lock(play).puback().answer().ack().wait(1ms);
       play.whole({.words = {"SET", "lock", "me", "NEX", "PX", "1000"}}, renewed).wait(1ms);
       play.whole({.words = {"SET", "key", "v2"}, .ft = renewed}).wait(1ms);
       play.whole({.words = {"VDEL", "lock", "me"}}, {}, ":1\r\n");
     }},
    {"lock_of_the_same_holder",
     [](Play& play) {
       play.become("you");
       play.begin().whole({.words = {"SET", "lock", "us", "NX"}}, kLock).become("me");
       play.begin().whole({.words = {"SET", "lock", "us", "NX"}}, kLock, ":-1\r\n");
       uses_lock(play);
     }},
    // A store with a clock for each key.
    {"lock_whose_version_another_key_has_too",
     [](Play& play) {
       gets_lock(play).whole({.words = {"SET", "other", "me"}}, kLock).wait(1ms);
       play.whole({.words = {"DEL", "other"}}, {}, ":1\r\n");
       uses_lock(play);
     }},
    {"without_a_token_before_it_knows_of_one",
     [](Play& play) {
       play.begin().ask({.correlation = "a", .ft = play.stamp(0, ":0:lock")}).puback();
       play.ask({.words = {"DEL", "key"}, .ts = ""}).puback().answer({}, 1, "a").ack(1);
       play.answer({}, 2, "c", "-ERR a fencing token is required for this request\r\n").ack(2);
     }},
    {"token_that_went_with_the_expiry_of_another",
     [](Play& play) {
       play.begin().whole({.ft = play.stamp(0, ":0:lock")}).become("you");
       play.begin().wait(1ms).whole(
           {.words = {"SET", "key", "v", "PX", "9"}, .ft = play.stamp(0, ":1:lock")});
       play.become("me");
       play.begin().wait(1s).whole({.words = {"DEL", "key"}, .ts = ""}, {},
                                   "-ERR a fencing token is required for this request\r\n");
     }},
    {"token_that_goes_with_its_key",
     [](Play& play) {
       play.begin().whole({.ft = play.stamp(0, ":0:lock")}).wait(1ms);
       play.whole({.words = {"DEL", "key"}, .ft = play.stamp(0, ":0:lock")}, {}, ":1\r\n");
       play.whole({}, {}, "-ERR a fencing token is required for this request\r\n");
     }},
    {"will_and_filters",
     [](Play& play) {
       play.connect({}, with_will("a/b")).subscribe("#").subscribe("+/a/+").subscribe("/");
       play.subscribe("$share/g/#").subscribe("a/+/#");
     }},
    {"pings_within_the_keep_alive",
     [](Play& play) {
       play.connect({}, {.keep_alive_s = 10});
       for (int i = 0; i < 5; ++i) play.wait(14s).sent(wire::Pingreq{});
       play.close();
     }},
    {"no_keep_alive", [](Play& play) { play.connect().wait(1h).sent(wire::Pingreq{}); }},
    {"gathers_its_pubacks_and_leaves",
     [](Play& play) {
       play.begin();
       for (std::uint16_t i = 1; i < 20; ++i) {
         play.ask({.words = {"GET", "key"}, .ts = ""}).puback().answer({}, i).wait(10ms);
       }
       play.sent(wire::Disconnect{}).close();
     }},
    {"leaves_without_reading_the_last_response",
     [](Play& play) { play.begin().ask({}).puback().answer().sent(wire::Disconnect{}).close(); }},
    {"all_sent_again_in_order",
     [](Play& play) {
       Ask first{.words = {"GET", "key"}, .ts = "", .id = 1};
       Ask second{.words = {"GET", "k2"}, .correlation = "d", .ts = "", .id = 2};
       play.begin().ask(first).ask(second).close().connect({.session_present = true});
       first.dup = second.dup = true;
       play.ask(first).ask(second).wait(6s).close();
     }},
    {"a_service_of_another_topic",
     [](Play& play) { play.begin().ask({.topic = "statestore/v1/mine/command/invoke"}); }},
    {"stop_for_the_sake_of_order_after_a_reconnect",
     [](Play& play) {
       play.begin().whole({.words = {"KEYNOTIFY", "key"}}).close().begin();
       play.whole({.words = {"KEYNOTIFY", "key", "STOP"}}, {}, ":0\r\n");
     }},
    {"other_topics",
     [](Play& play) { play.begin().sent(wire::Publish{.qos = 0, .topic = "a/b"}); }},
};

class EachConformingClient : public ::testing::TestWithParam<ConformingClient> {};

TEST_P(EachConformingClient, HasNoFinding) {
  Play play;
  GetParam().does(play);
  EXPECT_THAT(play.broken(), IsEmpty());
  for (const Finding& finding : play.findings()) ADD_FAILURE() << finding.because;
}

std::string name_of_right(const ::testing::TestParamInfo<ConformingClient>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Judge, EachConformingClient, ::testing::ValuesIn(kRight), name_of_right);

TEST(Judge, CountsWhatMayBeRightOrWrong) {
  Play play;
  play.begin().whole({.ts = play.stamp(3)}).wait(1ms).whole({.ts = play.stamp(-2)});
  play.whole({.ts = play.stamp(-65'000)});
  EXPECT_THAT(play.broken(), IsEmpty());
  const auto& undecided = play.judge().tally().undecided;
  ASSERT_THAT(undecided, SizeIs(2));
  EXPECT_EQ(undecided.at("HLC-CLIENT-1").times, 2U);
  EXPECT_EQ(undecided.at("ENV-CLOCK-1").times, 1U);
  EXPECT_THAT(undecided.at("HLC-CLIENT-1").because, HasSubstr("behind the client's own"));
}

TEST(Judge, FindsNothingWhereOnlyTheClockOfTheStoreIsWrong) {
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
  EXPECT_EQ(play.judge().take_findings().size(), Judge::kMaxOfARule);
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
  EXPECT_EQ(play.judge().take_findings().size(), Judge::kMaxOfARule);
  EXPECT_EQ(play.judge().tally().broken.at("HLC-REQUIRED-2"), 25U);
  EXPECT_EQ(play.judge().tally().requests, 25U);
  EXPECT_EQ(play.judge().tally().clients, 1U);
}

TEST(Rules, EachIsBrokenByAWrongClient) {
  std::set<std::string> shown;
  for (const auto* table : {&kWrongRequests, &kRefused, &kWrongHolders, &kWrongClocks,
                            &kWrongPackets, &kWrongReconnects, &kCareless}) {
    for (const WrongClient& each : *table) shown.insert(each.rule);
  }
  for (const Rule& each : rules()) EXPECT_TRUE(shown.contains(std::string(each.id))) << each.id;
}

}  // namespace
}  // namespace fencepost::clients
