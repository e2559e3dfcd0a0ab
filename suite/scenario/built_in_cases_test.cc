// What some of the built-in cases are worth: each passes on the conforming store, and fails on one
// that breaks a rule that it cites, and says so.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/command.h"
#include "hlc/hlc.h"
#include "suite/testing/built_in_library.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::scenario {
namespace {

using codec::Message;
using codec::Verb;
using endpoint::PublishRefused;
using namespace test;  // made for this test
using testing::Contains;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// --- faulty stores

Behaviour deaf() {
  return [](const Published&) { return Effects{}; };
}

Behaviour every_reply(std::function<void(Message&)> change) {
  return on_reply(reference_store(), [change = std::move(change)](
                                         const Published&, Message& message) { change(message); });
}

// Answers, and refuses the packet as well.
Behaviour answering_and_refusing(int reason_code) {
  return changed(reference_store(), [reason_code](const Published& request, Effects& effects) {
    effects.push_back({PublishRefused{reason_code, request.message.correlation_data.value_or("")}});
  });
}

Behaviour never_disconnecting() {
  return changed(reference_store(), [](const Published&, Effects& effects) {
    std::erase_if(effects, [](const Effect& effect) {
      return std::holds_alternative<endpoint::Disconnected>(effect.what);
    });
  });
}

// Answers a request that contains these bytes with a payload of its own.
Behaviour answering_to(std::string part, std::string payload) {
  return on_reply(reference_store(), [part = std::move(part), payload = std::move(payload)](
                                         const Published& request, Message& message) {
    if (contains(request.message.payload, part)) message.payload = payload;
  });
}

// Versions get the node id of the client that sends a timestamp.
Behaviour node_id_of_the_client() {
  return on_reply(reference_store(), [](const Published& request, Message& message) {
    const std::string* sent = request.message.property(codec::kTimestampProperty);
    const std::string* seen = message.property(codec::kTimestampProperty);
    const auto from = hlc::parse(sent == nullptr ? "" : *sent);
    auto version = hlc::parse(seen == nullptr ? "" : *seen);
    if (!from || !version) return;
    version->node = from->node;
    set_property(message, codec::kTimestampProperty, hlc::format(*version));
  });
}

constexpr const char* kOldVersion = "000000000000100:00001:StateStore";

Behaviour old_version_after(Verb verb) {
  return wrong_reply(verb, [](Message& message) {
    set_property(message, codec::kTimestampProperty, kOldVersion);
  });
}

// The store has copied the old timestamp of the request, as far as that key goes.
Behaviour old_timestamp_copied() {
  return on_reply(reference_store(), [](const Published& request, Message& message) {
    const std::string* sent = request.message.property(codec::kTimestampProperty);
    if (sent != nullptr && sent->starts_with("000000000000100:")) {
      set_property(message, codec::kTimestampProperty, kOldVersion);
    }
  });
}

Behaviour response_to_the_usual_topic() {
  return on_reply(reference_store(), [](const Published& request, Message& message) {
    if (verb_of(request) == Verb::kKeynotify) {
      message.topic = codec::recommended_response_topic(request.client_id);
    }
  });
}

Behaviour correlation_cut_at_a_nul() {
  return on_reply(reference_store(), [](const Published& request, Message& message) {
    if (verb_of(request) == Verb::kKeynotify) {
      message.correlation_data = message.correlation_data->substr(0, 4).c_str();
    }
  });
}

Behaviour notifications_below(std::string topic) {
  return wrong_notification(
      [topic = std::move(topic)](Message& message) { message.topic = topic; });
}

Behaviour topic_in_lower_case() {
  return wrong_notification([](Message& message) {
    for (std::size_t i = codec::kStorePrefix.size(); i < message.topic.size(); ++i) {
      if (message.topic[i] >= 'A' && message.topic[i] <= 'F') message.topic[i] += 'a' - 'A';
    }
  });
}

Behaviour notification_with(std::string operation, std::string payload) {
  return wrong_notification(
      [operation = std::move(operation), payload = std::move(payload)](Message& message) {
        if (contains(message.payload, operation)) message.payload = payload;
      });
}

Behaviour without_notifications() {
  return changed(reference_store(), [](const Published&, Effects& effects) {
    std::erase_if(effects, [](const Effect& effect) {
      const auto* received = std::get_if<endpoint::MessageReceived>(&effect.what);
      return received != nullptr && is_notification(received->message);
    });
  });
}

// What changed while the client was away reaches it when it is back, and registers for something.
Behaviour queueing_for_sessions() {
  return changed(reference_store(), [](const Published& request, Effects& effects) {
    const auto command = codec::decode_command(request.message.payload);
    if (verb_of(request) != Verb::kKeynotify || !contains(request.message.payload, "fence-"))
      return;
    const std::string key(command->arguments[1].substr(0, command->arguments[1].rfind('/') + 1));
    effects.insert(effects.begin(), set_notification(request.client_id, key + "k", "while away"));
  });
}

endpoint::Error granted_qos_0() {
  return {endpoint::ErrorKind::kNotAllowed, "the broker granted the subscription with QoS 0", 0};
}

struct Row {
  std::string case_id;
  std::string fault;
  std::string attributed;  // the requirement that the case must name
  Behaviour store;
};

std::vector<Row> envelope_rows() {
  std::vector<Row> out = {
      {"envelope.delivery.requests-are-acknowledged", "refuses what it answers", "ENV-PUBACK-1",
       answering_and_refusing(0x87)},
      {"envelope.delivery.requests-are-acknowledged", "acknowledges with a reason of its own",
       "ENV-PUBACK-1", answering_and_refusing(0x01)},
      {"envelope.delivery.requests-are-acknowledged", "refuses", "ENV-PUBACK-1",
       refusing(Verb::kGet, 0x97)},
      {"envelope.delivery.other-clients-see-a-write", "invents a value", "SET-WRITE-1",
       answering(Verb::kGet, "$1\r\nx\r\n")},
      {"envelope.properties.content-type-of-responses", "text", "ENV-CONTENT-TYPE-1",
       every_reply([](Message& message) { message.content_type = "text/plain"; })},
      {"envelope.properties.content-type-of-responses", "an empty one", "ENV-CONTENT-TYPE-1",
       every_reply([](Message& message) { message.content_type = ""; })},
      {"envelope.response-topic.how-the-connection-ends", "lets it live", "ENV-RESPONSE-TOPIC-4",
       never_disconnecting()},
      {"envelope.clients.id-with-slashes", "an error", "ENV-CLIENT-ID-OPEN-1",
       answering(Verb::kGet, "-ERR syntax error\r\n")},
      {"payload.verbs.scan", "carries it out", "ERR-COMMAND-OPEN-2",
       answering_to("SCAN", "+OK\r\n")},
      {"payload.liveness.errors-with-or-without-detail", "no error", "ERR-DETAIL-OPEN-1",
       answering_to("FLY", "+OK\r\n")},
      {"payload.liveness.errors-with-or-without-detail", "another word", "RESP-ERROR-FORM-1",
       answering_to("FLY", "-WRONG unknown command\r\n")},
  };
  for (const char* version : {"2.0", "0.9", "1", "1.", "1.x", "10.0", ""}) {
    out.push_back({"envelope.properties.protocol-version-of-responses", version, "ENV-PROTVER-1",
                   every_reply([version](Message& message) {
                     message.user_properties.emplace_back("__protVer", version);
                   })});
  }
  for (const Verb verb : codec::kVerbs) {
    out.push_back({"payload.verbs.every-verb-is-known", std::string(codec::name(verb)),
                   "RESP-VERBS-1", answering(verb, "-ERR unknown command\r\n")});
  }
  return out;
}

std::vector<Row> version_rows() {
  return {
      {"version.assign.node-id-is-not-the-clients", "copies the node id", "VER-NODE-1",
       node_id_of_the_client()},
      {"version.read.however-it-is-spelled", "no timestamp", "HLC-FORMAT-1",
       every_reply(
           [](Message& message) { set_property(message, codec::kTimestampProperty, "12:30"); })},
      {"version.read.version-of-a-deletion", "DEL names an older one", "VER-OPEN-4",
       old_version_after(Verb::kDel)},
      {"version.read.version-of-a-deletion", "VDEL names an older one", "VER-OPEN-4",
       old_version_after(Verb::kVdel)},
      {"version.skew.old-timestamp-gets-a-version-of-the-stores-clock", "copies it", "HLC-SKEW-4",
       old_timestamp_copied()},
  };
}

std::vector<Row> notification_rows() {
  const std::string with_value =
      "*4\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n$5\r\nVALUE\r\n$3\r\none\r\n";
  const std::string other_operation =
      "*4\r\n$6\r\nNOTIFY\r\n$6\r\nCHANGE\r\n$5\r\nVALUE\r\n$3\r\none\r\n";
  return {
      {"notify.register.a-request-like-any-other", "no answer", "NTF-REQUEST-1",
       silent_on(Verb::kKeynotify)},
      {"notify.register.sent-as-an-array", "no array", "NTF-REQUEST-2",
       answering(Verb::kKeynotify, "-ERR syntax error\r\n")},
      {"notify.register.response-goes-where-the-request-says", "the usual topic", "NTF-RESPONSE-1",
       response_to_the_usual_topic()},
      {"notify.register.response-goes-where-the-request-says", "cut at a NUL", "NTF-RESPONSE-1",
       correlation_cut_at_a_nul()},
      {"notify.register.response-topic-has-no-say-in-notifications", "the response topic",
       "NTF-TOPIC-4", notifications_below("fencepost/r/1")},
      {"notify.content.topic-of-the-example", "lower case", "NTF-TOPIC-2", topic_in_lower_case()},
      {"notify.content.deletion-has-no-value", "a value", "NTF-VALUE-2",
       notification_with("DELETE", with_value)},
      {"notify.content.deletion-has-no-value", "another operation", "NTF-OPERATION-1",
       notification_with("SET", other_operation)},
      {"notify.content.version-of-a-deletion", "an older version", "NTF-VERSION-OPEN-1",
       wrong_notification([](Message& message) {
         if (contains(message.payload, "DELETE")) {
           set_property(message, codec::kTimestampProperty, kOldVersion);
         }
       })},
      {"notify.deliver.own-notification-and-response", "none", "NTF-SELF-1",
       without_notifications()},
      {"lifecycle.registrations.nothing-is-queued-for-a-session", "queues", "LIFE-OPEN-3",
       queueing_for_sessions()},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> out = envelope_rows();
  for (Row& row : version_rows()) out.push_back(std::move(row));
  for (Row& row : notification_rows()) out.push_back(std::move(row));
  return out;
}

TEST(BuiltInCases, PassOnTheReferenceStore) {
  std::set<std::string> ids = {"version.assign.one-clock-or-one-for-each-key",
                               "version.assign.other-requests-and-the-clock",
                               "envelope.delivery.subscriptions-are-granted"};
  for (const Row& row : all_rows()) ids.insert(row.case_id);
  for (const std::string& id : ids) {
    const run::CaseResult result = run_on(reference_store(), built_in_case(id));
    EXPECT_EQ(result.verdict, run::Verdict::kPassed) << id << ": " << result.failure.message;
  }
}

// Silence of all connections is no proof of a broken rule: there may be nobody to answer.
TEST(BuiltInCases, AreLostWhereNobodyIsServed) {
  const run::CaseResult result =
      run_on(deaf(), built_in_case("envelope.delivery.request-topic-is-served"));
  EXPECT_EQ(result.verdict, run::Verdict::kLost) << result.failure.message;
}

TEST(BuiltInCases, FailOnAStoreThatBreaksTheirRule) {
  for (const Row& row : all_rows()) {
    const Case& test_case = built_in_case(row.case_id);
    const run::CaseResult result = run_on(row.store, test_case);
    EXPECT_EQ(result.verdict, run::Verdict::kFailed)
        << row.case_id << " on a store with: " << row.fault;
    EXPECT_EQ(result.failure.requirement, row.attributed)
        << row.case_id << ", " << row.fault << ", at step " << result.failure.step << ": "
        << result.failure.message;
    EXPECT_THAT(test_case.requirements, Contains(row.attributed));
  }
}

TEST(BuiltInCases, FailWhenASubscriptionIsGrantedLess) {
  for (const std::string notifications_too : {"", "/notify/+"}) {
    FakeEndpoint endpoint(
        {.behaviour = reference_store(),
         .on_subscribe = [&](const std::string& filter) -> std::optional<endpoint::Error> {
           if (filter.ends_with(notifications_too)) return granted_qos_0();
           return std::nullopt;
         }});
    const run::CaseResult result =
        run_on(endpoint, built_in_case("envelope.delivery.subscriptions-are-granted"));
    EXPECT_EQ(result.verdict, run::Verdict::kFailed);
    EXPECT_EQ(result.failure.requirement, "ENV-SUBACK-1");
    EXPECT_EQ(result.failure.actual, "0x00 (granted QoS 0)");
  }
}

// A response may say what is allowed, too.
TEST(BuiltInCases, TakeWhatTheRuleAllows) {
  const auto described = every_reply([](Message& message) {
    message.content_type = codec::kContentType;
    message.user_properties.emplace_back("__protVer", "1.0");
  });
  const auto bare = every_reply([](Message& message) { message.content_type.reset(); });
  for (const std::string id : {"envelope.properties.content-type-of-responses",
                               "envelope.properties.protocol-version-of-responses"}) {
    EXPECT_EQ(run_on(described, built_in_case(id)).verdict, run::Verdict::kPassed) << id;
    EXPECT_EQ(run_on(bare, built_in_case(id)).verdict, run::Verdict::kPassed) << id;
  }
}

}  // namespace
}  // namespace fencepost::scenario
