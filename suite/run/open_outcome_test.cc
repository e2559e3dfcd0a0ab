// What a case expects after a request that might be refused or taken.
#include <chrono>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/topics.h"
#include "suite/run/case_runner.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using codec::Message;
using codec::Verb;
using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

// Answers requests of that verb, and carries none of them out.
Behaviour idle_for(Verb verb, std::string payload) {
  return [verb, payload = std::move(payload), store = reference_store()](const Published& request) {
    return verb_of(request) == verb ? Effects{reply(request, payload)} : store(request);
  };
}

TEST(CaseRunnerUnspecified, TiesTheEffectToTheReply) {
  const scenario::Case test_case = case_of({.steps = R"(
- set: {key: k, value: "v", mark: m}
  expect: {reply: {open: {refused: error, done: ok}}, cites: R-MUST-2}
- get: k
  expect: {reply: {by: {m: {refused: missing, done: {value: "v"}}}}}
)"});
  EXPECT_EQ(outcome_text(reference_store(), test_case), "passed");
  EXPECT_EQ(outcome_text(idle_for(Verb::kSet, "-ERR x\r\n"), test_case), "passed");
  EXPECT_EQ(outcome_text(idle_for(Verb::kSet, "+OK\r\n"), test_case),
            "failed 2 R-MUST-1: the reply is not the expected one | "
            R"($1\r\nv\r\n | $-1\r\n (no such key))");
  const auto refuse = [](Message& message) { message.payload = "-ERR x\r\n"; };
  EXPECT_EQ(outcome_text(wrong_reply(Verb::kSet, refuse), test_case),
            "failed 2 ERR-STATE-1: the reply is not the expected one | "
            R"($-1\r\n (no such key) | $1\r\nv\r\n)");
}

// A store may answer a later request first. (Req: ENV-ORDER-OPEN-1)
TEST(CaseRunnerUnspecified, TakesAReplyThatALaterRequestHasOvertaken) {
  const scenario::Case test_case = case_of({.steps = R"(
- set: {key: k, value: v, qos: 0}
  expect: {reply: {open: {served: ok, ignored: none}}, cites: R-MUST-1}
- {get: j, expect: missing}
)"});
  EXPECT_EQ(
      outcome_text(answering(Verb::kSet, "+OK\r\n", std::chrono::milliseconds{300}), test_case),
      "passed");
}

TEST(CaseRunnerNoReply, FailsAReplyThatALaterRequestHasOvertaken) {
  const scenario::Case test_case = case_of({.steps = R"(
- {set: {key: k, value: "v", qos: 0}, expect: {reply: none, cites: R-MUST-2}}
- {get: k, expect: missing}
- wait: 1s
)"});
  const auto replied_after = [&](std::chrono::milliseconds time) {
    return outcome_text(answering(Verb::kSet, "+OK\r\n", time), test_case);
  };
  EXPECT_THAT(replied_after(std::chrono::milliseconds{100}),
              StartsWith("failed 1 R-MUST-2: the reply is not the expected one"));
  EXPECT_THAT(replied_after(std::chrono::milliseconds{700}),
              StartsWith("failed 3 R-MUST-1: client a received a message that nobody asked for"));
}

TEST(CaseRunnerUnspecified, AwaitsANotificationWhereTheRequestWasTaken) {
  const scenario::Case test_case = case_of({.steps = R"(
- keynotify: {key: k, mark: m}
  expect: {reply: {open: {refused: error, done: ok}}, cites: R-MUST-2}
- set: {key: k, value: "v"}
  expect: ok
- notification: {key: k, operation: set, value: "v", when: {m: [done]}}
- silence: a
)"});
  EXPECT_EQ(outcome_text(reference_store(), test_case), "passed");
  const auto refuse = [](Message& message) { message.payload = "-ERR x\r\n"; };
  EXPECT_THAT(outcome_text(wrong_reply(Verb::kKeynotify, refuse), test_case),
              StartsWith("failed "));
  EXPECT_THAT(outcome_text(idle_for(Verb::kKeynotify, "+OK\r\n"), test_case),
              StartsWith("failed 3 "));
}

Message* message_of(Effect& effect) {
  auto* received = std::get_if<endpoint::MessageReceived>(&effect.what);
  return received == nullptr ? nullptr : &received->message;
}

bool is_notification(Effect effect) {
  const Message* message = message_of(effect);
  return message != nullptr && codec::parse_notification_topic(message->topic).has_value();
}

// A store that does not tell of a SET of the same value, or tells of it with another version.
Behaviour telling(bool tells, std::string version = {}) {
  return [=, store = reference_store()](const Published& request) {
    Effects out = store(request);
    const bool again = request.message.payload.find("again") != std::string::npos;
    if (!again) return out;
    for (Effect& effect : out) {
      if (!version.empty() && is_notification(effect)) {
        message_of(effect)->user_properties = {{"__ts", version}};
      }
    }
    if (!tells) std::erase_if(out, is_notification);
    return out;
  };
}

TEST(CaseRunnerUnspecified, SeesWhetherANotificationComesThatNeedNot) {
  const scenario::Case test_case = case_of({.more = "clients: {a: {}, b: {}}", .steps = R"(
- keynotify: {key: k, client: b}
  expect: ok
- set: {key: k, value: "again"}
  expect: {reply: ok, ts: {save: v}}
- notification:
    client: b
    key: k
    operation: set
    value: "again"
    ts: {equals: v}
    optional: {writer: a, point: R-MUST-2, came: notified, missing: not-notified}
    cites: R-MUST-1
- silence: {client: b, writer: a, shows: {R-MUST-2: silent}}
)"});
  const auto seen = [&](const Behaviour& behaviour) {
    FakeEndpoint endpoint({.behaviour = behaviour});
    const CaseResult result = run_on(endpoint, test_case);
    return std::pair(result.verdict, result.unspecified_points);
  };
  using Points = decltype(CaseResult::unspecified_points);
  EXPECT_EQ(seen(telling(true)),
            std::pair(Verdict::kPassed, Points{{"R-MUST-2", "notified"}, {"R-MUST-2", "silent"}}));
  EXPECT_EQ(seen(telling(false)), std::pair(Verdict::kPassed, Points{{"R-MUST-2", "not-notified"},
                                                                     {"R-MUST-2", "silent"}}));
  EXPECT_THAT(outcome_text(telling(true, "1:1:x"), test_case),
              StartsWith("failed 3 NTF-VERSION-3"));
}

TEST(CaseRunnerUnspecified, ComparesTheVersionWithThatOfTheValueSeen) {
  const scenario::Case test_case = case_of({.steps = R"(
- set: {key: k, value: "one"}
  expect: {reply: ok, ts: {save: v1}}
- set: {key: k, value: "two"}
  expect: {reply: ok, ts: {save: v2}}
- get: k
  expect: {reply: {any_of: [{value: "one"}, {value: "two"}]}, ts: {of_value: {one: v1, two: v2}}}
)"});
  EXPECT_EQ(outcome_text(reference_store(), test_case), "passed");
  const auto older = [](Message& message) { message.payload = "$3\r\none\r\n"; };
  EXPECT_THAT(outcome_text(wrong_reply(Verb::kGet, older), test_case), StartsWith("failed 3 "));
}

TEST(CaseRunnerNotification, UnsubscribesFromThemAndFromNothingElse) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const scenario::Case test_case = case_of({.steps = R"(
- get: k
  expect: missing
- unsubscribe: a
- get: k
  expect: missing
)"});
  EXPECT_EQ(outcome_text(run_on(endpoint, test_case)), "passed");
  const std::string id = endpoint.connected().at(0).client_id;
  EXPECT_THAT(endpoint.filters(), ElementsAre(codec::recommended_response_topic(id)));
}

// The earlier deletion is notified to nobody: it is not what this notification is taken for.
TEST(CaseRunnerNotification, JudgesTheFormOfADeletionBehindAnother) {
  const scenario::Case test_case = case_of({.more = "divergence: [delete-operation]", .steps = R"(
- {set: {key: k, value: "v"}, expect: ok}
- {del: k, expect: {reply: {count: 1}}}
- {set: {key: k, value: "v"}, expect: ok}
- {keynotify: k, expect: ok}
- {del: k, expect: {reply: {count: 1}}}
- notification: {key: k, operation: delete}
)"});
  EXPECT_THAT(outcome_text(reference_store({.dialect = codec::DialectId::kDocumented}), test_case,
                           settings(codec::Profile::kDeployed)),
              StartsWith("failed 6 NTF-DEL-1: the notification has the form of the documented "));
}

TEST(CaseRunnerIsolation, ConnectsClientsWithTheirLimitsAndWill) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const scenario::Case test_case = case_of({.more = R"(
requires: [transport]
clients:
  a: {receive_maximum: 3, max_packet_size: 2000, will: {topic: {key: w}, payload: "gone"}}
)",
                                            .steps = R"(
- get: k
  expect: missing
)"});
  EXPECT_EQ(outcome_text(run_on(endpoint, test_case)), "passed");
  const endpoint::ClientOptions options = endpoint.connected().at(0);
  EXPECT_EQ(options.receive_maximum, 3);
  EXPECT_EQ(options.max_packet_size, 2'000U);
  ASSERT_TRUE(options.will);
  EXPECT_THAT(options.will->topic, EndsWith("/w"));
  EXPECT_THAT(options.will->topic, StartsWith("fencepost/run/"));
  EXPECT_EQ(options.will->payload, "gone");
}

// Req: ENV-RESPONSE-OPEN-1
TEST(CaseRunnerUnspecified, ResponsesMayBeRetained) {
  const auto retained = [](const std::string& topic) {
    return changed(reference_store(), [=](const Published& request, Effects& effects) {
      if (verb_of(request) != Verb::kGet) return;
      effects.insert(effects.begin(), effects.back());
      Message& first = std::get<endpoint::MessageReceived>(effects.front().what).message;
      first.retain = true;
      first.correlation_data = "of an earlier request";
      if (!topic.empty()) first.topic = topic;
    });
  };
  const scenario::Case test_case = case_of({.steps = "- {get: k, expect: missing}\n"});
  EXPECT_EQ(outcome_text(retained(""), test_case), "passed");
  EXPECT_THAT(outcome_text(retained(std::string(codec::kStorePrefix) + "/x"), test_case),
              StartsWith("failed 1 "));
}

}  // namespace
}  // namespace fencepost::run
