// No conforming store fails because it is slow, or because it, its broker or this machine stood
// still; a store that leaves a reply out fails all the same.
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/run/path_times.h"
#include "suite/run/suite.h"
#include "suite/run/time_limits.h"
#include "suite/scenario/moves_clock.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using namespace std::chrono_literals;
using codec::Verb;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kWriteAndRead = R"(
- {set: {key: k, value: "v"}, expect: ok}
- {get: k, expect: {reply: {value: "v"}}}
)";
const std::string kNotified = R"(
- {keynotify: {client: b, key: k}, expect: ok}
- {set: {key: k, value: "v"}, expect: ok}
- notification: {client: b, key: k, operation: set, value: "v"}
- {set: {key: other, value: "v"}, expect: ok}
- silence: {client: b, writer: a}
)";

scenario::Case notified_case() {
  return case_of({.more = "clients: {a: {}, b: {}}", .steps = kNotified});
}

// The conforming store, which says nothing from `begin` to `end` and then all that it has to say.
Behaviour standing_still(Duration begin, Duration end) {
  return changed(reference_store(), [begin, end](const Published& request, Effects& effects) {
    if (request.now < begin || request.now >= end) return;
    for (Effect& effect : effects) effect.after = end - request.now;
  });
}

// Answers as `right` does until that many requests have come.
Behaviour falling_silent(std::size_t after, std::function<bool(const Published&)> on) {
  auto count = std::make_shared<std::size_t>(0);
  return changed(reference_store(), [=](const Published& request, Effects& effects) {
    if (++*count > after && on(request)) effects.clear();
  });
}

const std::function<bool(const Published&)> kAll = [](const Published&) { return true; };

TEST(SlowStore, PassesWhenItStandsStillForFourSecondsAtAnyTime) {
  for (const scenario::Case& test_case : {case_of({.steps = kWriteAndRead}), notified_case()}) {
    for (Duration begin = 0us; begin < 200us; begin += kTimeOfOneRequest) {
      EXPECT_EQ(outcome_text(standing_still(begin, begin + 4s), test_case), "passed")
          << begin.count();
    }
  }
}

TEST(SlowStore, PassesWhenEveryAnswerTakesAlmostAsLongAsItIsWaitedFor) {
  for (const Duration delay : {Duration{2'900ms}, Duration{2'999'999us}, Duration{6s}}) {
    const Behaviour slow = changed(reference_store(), [=](const Published&, Effects& effects) {
      for (Effect& effect : effects) effect.after = delay;
    });
    EXPECT_EQ(outcome_text(slow, case_of({.steps = kWriteAndRead})), "passed");
    EXPECT_EQ(outcome_text(slow, notified_case()), "passed");
  }
}

TEST(SlowStore, FailsAStoreThatLeavesOneReplyOut) {
  for (const Verb verb : {Verb::kSet, Verb::kGet}) {
    EXPECT_THAT(outcome_text(silent_on(verb), case_of({.steps = kWriteAndRead})),
                HasSubstr(" R-MUST-1: no response | "));
    EXPECT_THAT(outcome_text(silent_on(verb), case_of({.steps = kWriteAndRead})),
                StartsWith("failed "));
  }
}

TEST(SlowStore, FailsAStoreThatNoLongerAnswersOneClient) {
  const Behaviour deaf =
      falling_silent(1, [](const Published& request) { return request.client_id.ends_with("-a"); });
  EXPECT_THAT(outcome_text(deaf, case_of({.steps = kWriteAndRead})),
              StartsWith("failed 2 R-MUST-1: no response"));
}

TEST(SlowStore, FailsAStoreThatLeavesANotificationOut) {
  const Behaviour unnotified = changed(reference_store(), [](const Published&, Effects& effects) {
    std::erase_if(effects, [](const Effect& effect) {
      const auto* received = std::get_if<endpoint::MessageReceived>(&effect.what);
      return received != nullptr && is_notification(received->message);
    });
  });
  EXPECT_THAT(outcome_text(unnotified, notified_case()),
              StartsWith("failed 3 R-MUST-1: no notification | "));
}

TEST(SlowStore, DecidesNothingWhileNobodyIsAnswered) {
  const CaseResult result = run_on(falling_silent(1, kAll), case_of({.steps = kWriteAndRead}));
  EXPECT_EQ(result.verdict, Verdict::kLost);
  EXPECT_EQ(result.doubt, Doubt::kSilence);
  EXPECT_EQ(result.failure.message, "no response");
  EXPECT_THAT(result.failure.actual, HasSubstr("nor did another client get an answer"));
}

// --- the suite ---------------------------------------------------------------------------------

SuiteResult run(FakeEndpoint& endpoint, const std::vector<scenario::Case>& cases,
                SuiteOptions options = {.settings = settings()}) {
  std::vector<const scenario::Case*> pointers;
  for (const scenario::Case& test_case : cases) pointers.push_back(&test_case);
  const std::atomic<bool> never{false};
  return run_suite(endpoint, pointers, catalogue(), options, never,
                   [](const CaseResult&, std::size_t, std::size_t) {});
}

TEST(SlowStoreSuite, RunsAnInconclusiveCaseOnceMoreAndKeepsBothAttempts) {
  auto stills = std::make_shared<int>(0);
  FakeEndpoint endpoint(
      {.behaviour = changed(reference_store(), [stills](const Published& request, Effects& out) {
         if (verb_of(request) != Verb::kGet || ++*stills > 1) return;
         for (Effect& effect : out) effect.after = 2s;
       })});
  const SuiteResult result = run(endpoint, {case_of({.steps = R"(
- {set: {key: k, value: "v", mark: t1}, expect: ok}
- {get: other, expect: {reply: missing, before: t1 + 900ms}}
)"})});
  const CaseResult& entry = result.cases.at(0);
  // The second attempt is the same on a store that is as fast as usual.
  EXPECT_EQ(entry.verdict, Verdict::kPassed) << entry.failure.message;
  ASSERT_TRUE(entry.first_attempt);
  EXPECT_EQ(entry.first_attempt->verdict, Verdict::kInconclusive);
  EXPECT_THAT(entry.first_attempt->failure.message, HasSubstr("when it no longer proves anything"));
  EXPECT_EQ(entry.first_attempt->failure.step, 2U);
  EXPECT_EQ(result.summary.inconclusive, 0U);
}

// A conforming store failed three cases: the lock of the first attempt was still held in the
// second.
TEST(SlowStoreSuite, FindsNothingOfTheFirstAttemptInTheSecond) {
  auto stills = std::make_shared<int>(0);
  endpoint::Capabilities capabilities;
  capabilities.ephemeral = true;  // nobody removes the keys of a case
  FakeEndpoint endpoint({.behaviour = changed(reference_store(),
                                              [stills](const Published& request, Effects& out) {
                                                if (verb_of(request) != Verb::kGet || ++*stills > 1)
                                                  return;
                                                for (Effect& effect : out) effect.after = 2s;
                                              }),
                         .capabilities = capabilities});
  const SuiteResult result = run(endpoint, {case_of({.steps = R"(
- {set: {key: k, value: "v", options: [NX], mark: t1}, expect: ok}
- {get: other, expect: {reply: missing, before: t1 + 900ms}}
)"})});
  const CaseResult& entry = result.cases.at(0);
  EXPECT_EQ(entry.verdict, Verdict::kPassed) << entry.failure.message << entry.failure.actual;
  EXPECT_TRUE(entry.first_attempt);
}

TEST(SlowStoreSuite, RepeatsNothingByDefault) {
  FakeEndpoint endpoint({.behaviour = delayed(Verb::kGet, 2s)});
  const SuiteResult result = run(endpoint, {case_of({.steps = R"(
- {set: {key: k, value: "v", mark: t1}, expect: ok}
- {get: other, expect: {reply: missing, before: t1 + 900ms}}
)"})},
                                 {.settings = settings(), .repeat_inconclusive = false});
  EXPECT_EQ(result.cases.at(0).verdict, Verdict::kInconclusive);
  EXPECT_FALSE(result.cases.at(0).first_attempt);
}

TEST(SlowStoreSuite, AttributesNoRuleToASetUpThatWasNotAcknowledged) {
  using endpoint::Error;
  using endpoint::ErrorKind;
  for (const ErrorKind kind : {ErrorKind::kTimeout, ErrorKind::kUnreachable}) {
    for (const bool subscribe : {false, true}) {
      auto failures = std::make_shared<int>(0);
      const auto once = [=]() -> std::optional<Error> {
        if (++*failures > 1) return std::nullopt;
        return Error{kind, "no acknowledgement in time"};
      };
      Script script{.behaviour = reference_store()};
      if (subscribe) {
        script.on_subscribe = [once](const std::string&) { return once(); };
      } else {
        script.on_connect = [once](const endpoint::ClientOptions&) { return once(); };
      }
      FakeEndpoint endpoint(script);
      const SuiteResult result = run(endpoint, {case_of({.steps = kWriteAndRead})});
      const CaseResult& entry = result.cases.at(0);
      EXPECT_EQ(entry.verdict, Verdict::kPassed) << entry.failure.message;
      ASSERT_TRUE(entry.first_attempt);
      EXPECT_EQ(entry.first_attempt->failure.message, "no acknowledgement in time");
    }
  }
}

TEST(SlowStoreSuite, EndsWhenTheStoreNoLongerAnswers) {
  FakeEndpoint endpoint({.behaviour = falling_silent(1, kAll)});
  const SuiteResult result = run(endpoint, {case_of({.id = "a", .steps = kWriteAndRead})},
                                 {.settings = settings(), .round_trip = 1ms});
  EXPECT_TRUE(result.endpoint_lost);
  EXPECT_THAT(result.lost_message,
              HasSubstr("the broker answers, but the state store no longer does"));
  EXPECT_EQ(exit_code(result), ExitCode::kUnreachable);
}

// Silence that comes back in the same case, and not elsewhere, is no standstill.
TEST(SlowStoreSuite, FailsAStoreThatARequestSilencesEachTime) {
  auto silenced = std::make_shared<std::set<std::string>>();
  FakeEndpoint endpoint(
      {.behaviour = changed(reference_store(), [silenced](const Published& request, Effects& out) {
         const std::string& id = request.client_id;
         if (verb_of(request) == Verb::kVdel) silenced->insert("case");
         if (id.find("alive") != std::string::npos) silenced->clear();
         if (!silenced->empty()) out.clear();
       })});
  const SuiteResult result = run(endpoint, {case_of({.steps = R"(
- {set: {key: k, value: "v"}, expect: ok}
- {vdel: {key: k, value: "v"}, expect: {reply: {count: 1}}}
)"})});
  EXPECT_EQ(result.cases.at(0).verdict, Verdict::kFailed);
  EXPECT_EQ(result.cases.at(0).failure.message, "no response");
  EXPECT_TRUE(result.cases.at(0).first_attempt);
}

// --- what a descriptor states ------------------------------------------------------------------

const std::string kExpires = R"(
- {set: {key: k, value: "v", options: [PX, "200"], mark: t1}, expect: ok}
- wait: {until: t1.reply + 500ms}
- {get: k, expect: missing}
)";

// The conforming store, whose keys live so much longer.
Behaviour expiring_late(std::chrono::milliseconds by) {
  return [right = reference_store(), by](const Published& request) {
    Published later = request;
    const auto command =
        codec::parse_command(request.message.payload, codec::dialect(codec::DialectId::kDeployed));
    if (command && command->expires_after) {
      codec::Command longer = *command;
      *longer.expires_after += by;
      later.message.payload = codec::encode(longer);
    }
    return right(later);
  };
}

TEST(Tolerance, LetsAKeyExpireAsLateAsTheDescriptorSays) {
  const scenario::Case test_case = case_of({.steps = kExpires});
  RunSettings patient = settings();
  patient.expiry_tolerance = 1s;
  EXPECT_EQ(outcome_text(expiring_late(250ms), test_case), "passed");
  EXPECT_THAT(outcome_text(expiring_late(900ms), test_case), StartsWith("failed 3 "));
  EXPECT_EQ(outcome_text(expiring_late(900ms), test_case, patient), "passed");
  EXPECT_THAT(outcome_text(expiring_late(1'100ms), test_case, patient), StartsWith("failed 3 "));
}

// A wait that ends before the key may expire is no longer than the case says.
TEST(Tolerance, DoesNotLengthenOtherWaits) {
  RunSettings patient = settings();
  patient.expiry_tolerance = 10s;
  EXPECT_EQ(outcome_text(reference_store(), case_of({.steps = R"(
- {set: {key: k, value: "v", options: [PX, "2000"], mark: t1}, expect: ok}
- wait: {until: t1.reply + 500ms}
- {get: k, expect: {reply: {value: "v"}, before: t1 + 1900ms}}
)"}),
                         patient),
            "passed");
}

TEST(Tolerance, GivesTheStoreTimeToNoticeTheEndOfAConnection) {
  const std::string steps = R"(
- {keynotify: {client: b, key: k}, expect: ok}
- disconnect: b
- connect: b
- {set: {key: k, value: "v"}, expect: ok}
- silence: {client: b, writer: a}
)";
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const scenario::Case test_case = case_of({.more = "clients: {a: {}, b: {}}", .steps = steps});
  RunSettings patient = settings();
  patient.disconnect_settling = 700ms;
  (void)run_on(endpoint, test_case, patient);
  const std::vector<Published> requests = endpoint.published();
  ASSERT_GT(requests.size(), 2U);
  EXPECT_GE(requests[1].now - requests[0].now, 700ms);
}

// On a machine that is busy, 100 ms are soon over.
TEST(Tolerance, WaitsLongerForTheEndOfAConnectionWhereRequestsTakeLong) {
  FakeEndpoint endpoint({.behaviour = delayed(Verb::kKeynotify, 400ms)});
  const scenario::Case test_case = case_of({.more = "clients: {a: {}, b: {}}", .steps = R"(
- {keynotify: {client: b, key: k}, expect: ok}
- disconnect: b
- {set: {client: a, key: k, value: "v"}, expect: ok}
)"});
  (void)run_on(endpoint, test_case, settings());
  const std::vector<Published> requests = endpoint.published();
  ASSERT_GT(requests.size(), 1U);
  EXPECT_GE(requests[1].now - requests[0].now, 400ms + 800ms);
}

// A connection that has registered nothing ends for the store when it likes: the PX of the case
// does not wait for it.
TEST(Tolerance, WaitsNoLongerForTheEndOfAConnectionThatObservesNothing) {
  const scenario::Case test_case = case_of({.more = "clients: {a: {}, b: {}}", .steps = R"(
- {set: {key: k, value: "v", options: [PX, "300"], mark: t1}, expect: ok}
- disconnect: a
- {get: {client: b, key: k}, expect: {reply: {value: "v"}, before: t1 + 300ms}}
)"});
  RunSettings patient = settings();
  patient.disconnect_settling = 700ms;
  EXPECT_EQ(outcome_text(reference_store(), test_case, patient), "passed");
}

// --- expiries that are notified while something else is awaited ---------------------------------

const std::string kTwoClientsAndDeletion =
    "clients: {a: {}, b: {}}\ndivergence: [delete-operation]";

TEST(EarlyExpiry, IsFoundByTheStepThatAwaitsIt) {
  const Behaviour slow = changed(reference_store(), [](const Published& request, Effects& effects) {
    if (verb_of(request) == Verb::kGet) effects.front().after = 500ms;
    if (verb_of(request) != Verb::kSet) return;
    Effect expiry = effects.front();
    for (const Effect& each : effects) {
      if (is_notification(std::get<endpoint::MessageReceived>(each.what).message)) expiry = each;
    }
    std::get<endpoint::MessageReceived>(expiry.what).message.payload =
        "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n";
    expiry.after = 350ms;
    effects.push_back(expiry);
  });
  const std::string set = R"(
- {keynotify: {client: b, key: k}, expect: ok}
- {set: {key: k, value: "v", options: [PX, "300"], mark: t1}, expect: ok}
)";
  const std::string told = "- notification: {client: b, key: k, operation: set}\n";
  const std::string expired = "- notification: {client: b, key: k, operation: delete}\n";
  const auto two = [](const std::string& steps) {
    return case_of({.more = kTwoClientsAndDeletion, .steps = steps});
  };
  const std::string get = "- {get: {client: b, key: k}, expect: {reply: {value: \"v\"}}}\n";
  EXPECT_EQ(outcome_text(slow, two(set + get + told + expired)), "passed");
  // The store notices the expiry at the requests that prove the silence.
  const std::string silence = "- wait: 500ms\n- silence: {client: b, writer: a}\n";
  EXPECT_EQ(outcome_text(reference_store(), two(set + told + silence + expired)), "passed");
}

// A deletion that is not notified is not one that was left out before.
TEST(EarlyExpiry, IsNoNotificationOfALaterDeletion) {
  const Behaviour forgets = changed(reference_store(), [](const Published& request, Effects& out) {
    if (verb_of(request) != Verb::kDel) return;
    std::erase_if(out, [](const Effect& each) {
      return is_notification(std::get<endpoint::MessageReceived>(each.what).message);
    });
  });
  EXPECT_THAT(outcome_text(forgets, case_of({.more = kTwoClientsAndDeletion, .steps = R"(
- {keynotify: {client: b, key: k}, expect: ok}
- {set: {key: k, value: "v", options: [PX, "300"]}, expect: ok}
- notification: {client: b, key: k, operation: set}
- wait: 500ms
- {set: {key: k, value: "w"}, expect: ok}
- notification: {client: b, key: k, operation: set}
- {del: k, expect: {reply: {count: 1}}}
- notification: {client: b, key: k, operation: delete}
)"})),
              StartsWith("failed 8 "));
}

// --- what moves the clock of a store ------------------------------------------------------------

bool is_tagged(const std::string& options, const std::string& expect) {
  const scenario::Case test_case =
      case_of({.steps = "- set: {key: k, value: \"v\", " + options + "}\n  expect: " + expect +
                        "\n- {get: k, expect: missing}\n"});
  return scenario::tags_of(test_case) == std::vector<std::string>{"moves-clock"};
}

TEST(MovesClock, IsTheTagOfCasesWhoseTimestampsAreAheadAndMayBeTaken) {
  const std::string refused = "{reply: {error: timestamp-too-far-ahead}}";
  EXPECT_TRUE(is_tagged("ts: skew-limit - 100ms", "ok"));
  EXPECT_TRUE(is_tagged("ts: now + 1s", "ok"));
  EXPECT_TRUE(is_tagged("ts: now counter = 4294967296", "ok"));
  EXPECT_TRUE(
      is_tagged("ts: now + 60s", "{reply: {any_of: [ok, {error: timestamp-too-far-ahead}]}}"));
  EXPECT_FALSE(is_tagged("ts: skew-limit + 100ms", refused));
  EXPECT_FALSE(is_tagged("ts: now + 999ms", "ok"));
  EXPECT_FALSE(is_tagged("ts: now - 50s", "ok"));
  EXPECT_FALSE(is_tagged("ft: now + 50s", "ok"));
}

TEST(MovesClock, CasesRunLastOnAStoreThatStaysAndAreSkippedByTheirTag) {
  const std::vector<scenario::Case> cases = [] {
    std::vector<scenario::Case> out;
    out.push_back(case_of({.id = "moves", .steps = R"(
- {set: {key: first, value: v, ts: now + 50s}, expect: ok}
- {get: first, expect: {reply: {value: v}}}
- {get: first, expect: {reply: {value: v}}}
)"}));
    out.push_back(case_of({.id = "stays", .steps = kWriteAndRead}));
    return out;
  }();
  for (const bool ephemeral : {false, true}) {
    FakeEndpoint endpoint(
        {.behaviour = reference_store(), .capabilities = {.ephemeral = ephemeral}});
    (void)run(endpoint, cases);
    const std::string first = endpoint.published().front().message.payload;
    EXPECT_EQ(first.find("first") == std::string::npos, !ephemeral) << first;
  }
  EXPECT_FALSE(selects({.skip = {"moves-clock"}}, cases[0]));
  EXPECT_TRUE(selects({.skip = {"moves-clock"}}, cases[1]));
}

// --- time limits -------------------------------------------------------------------------------

TEST(PathTimes, WaitsLongerWhereRequestsTakeLonger) {
  PathTimes times(10ms);
  EXPECT_EQ(times.reply_limit(), kReplyTimeout);
  times.note(2s);
  EXPECT_EQ(times.tail(), 2s);
  EXPECT_EQ(times.reply_limit(), 6s);
  times.note(100s);
  EXPECT_EQ(times.reply_limit(), kMaxReplyLimit);
  for (int i = 0; i < 256; ++i) times.note(1ms);  // long ago by now
  EXPECT_EQ(times.tail(), 10ms);
  EXPECT_EQ(times.reply_limit(), kReplyTimeout);
  EXPECT_EQ(PathTimes(2'900ms).reply_limit(), 8'700ms);
}

}  // namespace
}  // namespace fencepost::run
