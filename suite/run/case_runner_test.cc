#include "suite/run/case_runner.h"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "endpoint/in_process.h"
#include "suite/run/request_client.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace std::chrono_literals;
using codec::DialectId;
using codec::Message;
using codec::Verb;
using endpoint::Disconnected;
using endpoint::PublishRefused;
using namespace test;  // made for this test
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

std::unique_ptr<endpoint::Endpoint> reference_endpoint(DialectId dialect = DialectId::kDeployed) {
  return endpoint::make_in_process_endpoint(
      {.service = {.dialect = dialect, .store = {.quota = 5}}});
}

// --- the conforming store ------------------------------------------------------------------------

struct Good {
  std::string name;
  std::string steps;
  std::string more{};
};

const std::vector<Good> kGood = {
    {"every verb", R"(
- {set: {key: k, value: "one"}, expect: {reply: ok, ts: {save: v1, greater_than: [sent]}}}
- {set: {key: k, value: "two"}, expect: {reply: ok, ts: {save: v2, greater_than: [v1, sent]}}}
- {get: k, expect: {reply: {value: "two"}, ts: {equals: v2}}}
- {set: {key: k, value: "three", options: [NX]}, expect: not-applied}
- {vdel: {key: k, value: "other"}, expect: not-applied}
- {vdel: {key: k, value: "two"}, expect: {reply: {count: 1}}}
- {del: k, expect: {reply: {count: 0}}}
- {get: k, expect: {reply: missing, ts: absent}}
)",
     "divergence: [set-not-applied, vdel-mismatch]"},
    {"notifications and silence", R"(
- {keynotify: {client: b, key: k}, expect: ok}
- silence: {client: b, writer: a}
- {set: {key: k, value: "one", mark: t1}, expect: {reply: ok, ts: {save: v1}}}
- notification: {client: b, key: k, operation: set, value: "one", ts: {equals: v1}, qos: 1}
- {del: k, expect: {reply: {count: 1}}}
- notification: {client: b, key: k, operation: delete}
- {keynotify: {client: b, key: k, options: [STOP]}, expect: ok}
- {set: {key: k, value: "two"}, expect: ok}
- silence: b
)",
     "divergence: [delete-operation]\nclients: {a: {}, b: {}}"},
    {"bytes of one's own", R"(
- send: {command: ["SET", {key: k}, "v"], ts: now, writes: [k]}
  expect: {reply: {bytes: "+OK\r\n"}}
- {send: {command: ["FLY"]}, expect: {reply: {error: unknown-command}}}
- {send: {payload: "*1"}, expect: error}
- get: {key: k, properties: [["__srcId", "x"]], content_type: text/plain, payload_format: 1}
  expect: {reply: {any_of: [missing, {value: "v"}]}, properties: {__stat: "200"}}
)"},
    {"silence of the store and a disconnection", R"(
- {set: {key: k, value: "v", qos: 0}, expect: none}
- {set: {key: k, value: "v", response_topic: none}, expect: none}
- get: {key: k, response_topic: "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/x"}
  expect: disconnect
- connect: a
- {get: k, expect: missing}
)"},
    {"time", R"(
- {set: {key: k, value: "v", options: [PX, "1000"], mark: t1}, expect: ok}
- {get: k, expect: {reply: {value: "v"}, before: t1 + 900ms}}
- wait: {until: t1.reply + 1100ms}
- {get: k, expect: missing}
)"},
    {"connections", R"(
- {keynotify: {client: b, key: k}, expect: ok}
- drop: b
- connect: b
- {set: {key: k, value: "one"}, expect: ok}
- silence: {client: b, writer: a}
- disconnect: b
- {get: {client: b, key: k}, expect: {reply: {value: "one"}}}
)",
     "clients: {a: {}, b: {}}"},
    {"a quota", R"(
- fill_quota: {key: q}
- {set: {key: more, value: "v"}, expect: {reply: {error: quota-exceeded}}}
)"},
    {"fencing", R"(
- {set: {key: k, value: "one", ft: now}, expect: {reply: ok, ts: {save: t1}}}
- {set: {key: k, value: "two"}, expect: {reply: {error: token-required}}}
- {set: {key: k, value: "two", ft: t1}, expect: ok}
- {del: {key: k, ft: {text: "1:0:old"}}, expect: {reply: {error: token-lower}}}
)",
     "divergence: [lower-token-text]"},
    {"forms of either dialect", R"(
- {set: {key: k, value: "one"}, expect: ok}
- set: {key: k, value: "one", options: [NX]}
  expect: {reply: {documented: {bytes: "-1\r\n"}, deployed: {bytes: ":-1\r\n"}}}
)"},
};

TEST(CaseRunnerReference, PassesEveryKindOfStepAndExpectation) {
  for (const DialectId dialect : codec::kDialects) {
    const auto endpoint = reference_endpoint(dialect);
    RunSettings given = settings();
    given.quota = 5;
    for (const Good& good : kGood) {
      SCOPED_TRACE(good.name + ", " + std::string(codec::dialect(dialect).name));
      const scenario::Case test_case = case_of({.more = good.more, .steps = good.steps});
      EXPECT_EQ(outcome_text(run_on(*endpoint, test_case, given)), "passed");
    }
  }
}

TEST(CaseRunnerReference, PassesUnderTheProfileOfItsDialectOnly) {
  const scenario::Case test_case =
      case_of({.more = kGood.front().more, .steps = kGood.front().steps});
  for (const DialectId spoken : codec::kDialects) {
    for (const DialectId judged : codec::kDialects) {
      const auto endpoint = reference_endpoint(spoken);
      const codec::Profile profile = judged == DialectId::kDocumented ? codec::Profile::kDocumented
                                                                      : codec::Profile::kDeployed;
      const CaseResult result = run_on(*endpoint, test_case, settings(profile));
      EXPECT_EQ(result.verdict, spoken == judged ? Verdict::kPassed : Verdict::kFailed);
      if (spoken != judged) {
        EXPECT_EQ(result.failure.message,
                  fmt::format("the reply has the form of the {} dialect, and this run judges by "
                              "the {} one",
                              codec::dialect(spoken).name, codec::dialect(judged).name));
      }
    }
  }
}

TEST(CaseRunnerReference, ReportsTheFormsThatItSaw) {
  const scenario::Case test_case =
      case_of({.more = kGood.front().more, .steps = kGood.front().steps});
  const auto endpoint = reference_endpoint(DialectId::kDocumented);
  EXPECT_THAT(run_on(*endpoint, test_case).forms,
              ElementsAre(Pair(codec::Divergence::kSetNotApplied, DialectId::kDocumented),
                          Pair(codec::Divergence::kVdelMismatch, DialectId::kDocumented)));
}

TEST(CaseRunnerReference, SeesAMessageOnATopicThatAStepSubscribedTo) {
  const scenario::Case test_case =
      case_of({.more = "clients: {a: {}, b: {subscribes: false}}", .steps = R"(
- subscribe: {client: b, filter: "x/+"}
- send: {topic: "x/y", payload: "hello", correlation: none, response_topic: none}
  expect: none
- {get: k, expect: missing}
)"});
  EXPECT_THAT(outcome_text(run_on(*reference_endpoint(), test_case)),
              testing::AllOf(StartsWith("failed 3 R-MUST-1: client b received a message"),
                             HasSubstr("topic x/y")));
}

TEST(CaseRunnerReference, RecordsRoundTripsAndATranscript) {
  const scenario::Case test_case =
      case_of({.steps = "- set: {key: k, value: \"one\"}\n  expect: ok"});
  const CaseResult result = run_on(*reference_endpoint(), test_case);
  EXPECT_THAT(result.round_trips, SizeIs(1));
  ASSERT_THAT(result.transcript, SizeIs(3));  // the clean-up is not part of the case
  EXPECT_THAT(result.transcript[0].summary, StartsWith("connected as fp-run-"));
  EXPECT_EQ(shortened(result.transcript[1].summary), R"(SET "@k" "one")");
  EXPECT_EQ(result.transcript[1].direction, Direction::kSent);
  EXPECT_EQ(result.transcript[2].summary, R"(+OK\r\n)");
  EXPECT_EQ(result.transcript[2].direction, Direction::kReceived);
}

// --- faulty stores: replies ---------------------------------------------------------------------

constexpr const char* kSetAndGet = R"(
- {set: {key: k, value: "one"}, expect: {reply: ok, ts: {save: v1, greater_than: [sent]}}}
- {get: k, expect: {reply: {value: "one"}, ts: {equals: v1}, cites: R-MUST-2}}
)";

const std::string kLasts = " | a connection that lasts as long as the case | ";
const std::string kEnded1 =
    "lost 1 R-MUST-1: the connection of client a ended unexpectedly" + kLasts;
const std::string kEnded2 =
    "lost 2 R-MUST-1: the connection of client a ended unexpectedly" + kLasts;

struct Wrong {
  Behaviour behaviour;
  std::string verdict;  // as outcome_text() tells it
};

void check_wrong(const scenario::Case& test_case, const std::vector<Wrong>& table) {
  EXPECT_EQ(outcome_text(reference_store(), test_case), "passed");
  for (const Wrong& wrong : table)
    EXPECT_EQ(outcome_text(wrong.behaviour, test_case), wrong.verdict);
}

std::function<void(Message&)> payload(std::string bytes) {
  return [bytes = std::move(bytes)](Message& message) { message.payload = bytes; };
}
std::function<void(Message&)> version(std::string text) {
  return [text = std::move(text)](Message& m) { set_property(m, "__ts", text); };
}
void drop_version(Message& message) { drop_property(message, "__ts"); }

TEST(CaseRunnerWrongReply, FailsTheStepThatShowsIt) {
  const std::string nothing = " | nothing within 3000 ms";
  const std::string not_one =
      "failed 2 R-MUST-2: the reply is not the expected one | $3\\r\\none\\r\\n | ";
  const std::string nobody =
      ", nor did another client get an answer; the store, its broker, the network or this machine "
      "stood still";
  const std::string no_one = R"(failed 2 R-MUST-1: no response | $3\r\none\r\n)" + nothing;
  check_wrong(
      case_of({.steps = kSetAndGet}),
      {{Behaviour{}, R"(lost 1 R-MUST-1: no response | +OK\r\n)" + nothing + nobody},
       {silent_on(Verb::kGet), no_one},
       {delayed(Verb::kGet, 5s), no_one},
       {delayed(Verb::kGet, 3000ms), "passed"},
       {always("+OK\r\n"),
        "failed 1 VER-SET-1: the message carries no version | a user property __ts | none"},
       {always("-ERR x\r\n"),
        R"(failed 1 R-MUST-1: the reply is not the expected one | +OK\r\n | -ERR x\r\n)"},
       {wrong_reply(Verb::kGet, payload("$3\r\ntwo\r\n")), not_one + R"($3\r\ntwo\r\n)"},
       {wrong_reply(Verb::kGet, payload("$-1\r\n")), not_one + R"($-1\r\n (no such key))"}});
}

TEST(CaseRunnerWrongReply, FailsAnEchoWithTheBytesThatItSent) {
  EXPECT_THAT(
      outcome_text(echo(), case_of({.steps = kSetAndGet})),
      StartsWith(R"(failed 1 R-MUST-1: the reply is not the expected one | +OK\r\n | *3\r\n)"));
}

TEST(CaseRunnerWrongReply, NamesThePlaceOfTheStep) {
  const CaseResult result = run_on(silent_on(Verb::kGet), case_of({.steps = kSetAndGet}));
  EXPECT_EQ(result.failure.position.file, "t.yaml");
  EXPECT_EQ(result.failure.position.line, kFirstStepLine + 1);
}

TEST(CaseRunnerWrongReply, FailsWrongVersions) {
  const scenario::Case test_case = case_of({.steps = kSetAndGet});
  const auto wrong = [&](Verb verb, std::function<void(Message&)> change) {
    return outcome_text(wrong_reply(verb, std::move(change)), test_case);
  };
  EXPECT_EQ(wrong(Verb::kGet, drop_version),
            "failed 2 VER-GET-1: the message carries no version | a user property __ts | none");
  EXPECT_THAT(wrong(Verb::kSet, version("nonsense")),
              StartsWith("failed 1 HLC-FORMAT-1: the version is not a legal timestamp: "));
  EXPECT_THAT(wrong(Verb::kSet, version(" 1:0:a")), testing::EndsWith("| __ts = \" 1:0:a\""));
  EXPECT_THAT(
      wrong(Verb::kSet, version("1:0:StateStore")),
      StartsWith("failed 1 VER-SET-2: the version is not greater than the request's timestamp "
                 "| __ts greater than 001767225600000:00000:fp-run-"));
  EXPECT_EQ(wrong(Verb::kGet, version("1:0:StateStore")),
            "failed 2 VER-GET-2: the version is not the one saved as v1 | __ts equal to "
            "001767225600000:00001:StateStore | __ts = 1:0:StateStore");
}

TEST(CaseRunnerWrongReply, ComparesVersionsWithSavedOnesAsNumbers) {
  const scenario::Case test_case = case_of({.steps = R"(
- {set: {key: k, value: "one"}, expect: {reply: ok, ts: {save: v1}}}
- {set: {key: k, value: "two"}, expect: {reply: ok, ts: {greater_than: [v1]}}}
)"});
  const auto versions = [&](const std::string& first, const std::string& second) {
    std::string next = first;
    return outcome_text(wrong_reply(Verb::kSet,
                                    [&](Message& message) {
                                      set_property(message, "__ts", next);
                                      next = second;
                                    }),
                        test_case);
  };
  EXPECT_EQ(versions("9:0:s", "00010:0:s"), "passed");
  EXPECT_EQ(versions("9:9:s", "9:10:s"), "passed");
  EXPECT_EQ(versions("10:0:s", "9:0:s"),
            "failed 2 R-MUST-1: the version is not greater than the one saved as v1 | __ts greater "
            "than 10:0:s | __ts = 9:0:s");
  EXPECT_THAT(versions("9:0:s", "009:000:s"), StartsWith("failed 2 R-MUST-1: "));
}

TEST(CaseRunnerWrongReply, FailsAVersionWhereNoneMayBe) {
  const auto add = [](Message& message) { message.user_properties.emplace_back("__ts", "1:0:s"); };
  check_wrong(
      case_of({.steps = "- get: k\n  expect: {reply: missing, ts: absent}"}),
      {{wrong_reply(Verb::kGet, add),
        "failed 1 VER-MISS-1: the message carries a version and must not | no user property "
        "__ts | __ts = 1:0:s"}});
}

TEST(CaseRunnerWrongReply, FailsWrongProperties) {
  const auto status = [](Message& m) { set_property(m, "__stat", "500"); };
  const auto no_status = [](Message& m) { drop_property(m, "__stat"); };
  const std::string failed = "failed 1 R-MUST-1: the ";
  const std::string of_status = "failed 1 ENV-STATUS-1: the ";
  const std::string other = " is not the expected one | ";
  const std::string expect = "- get: k\n  expect: {reply: missing, ";
  check_wrong(case_of({.steps = expect + "properties: {__stat: \"200\"}, payload_format: 0}"}),
              {{wrong_reply(Verb::kGet, no_status),
                of_status + "user property __stat" + other + "__stat = \"200\" | absent"},
               {wrong_reply(Verb::kGet, status),
                of_status + "user property __stat" + other + "__stat = \"200\" | __stat = \"500\""},
               {wrong_reply(Verb::kGet, [](Message& m) { m.payload_format = 1; }),
                failed + "payload format indicator" + other + "0 | 1"}});
  const scenario::Case typed = case_of({.steps = expect + "content_type: text/plain}"});
  const auto type = [&](std::optional<std::string> text) {
    return outcome_text(wrong_reply(Verb::kGet, [&](Message& m) { m.content_type = text; }), typed);
  };
  EXPECT_EQ(type("text/plain"), "passed");
  EXPECT_EQ(type("x\n"), failed + "content type" + other + R"(text/plain | x\n)");
  EXPECT_EQ(type({}), failed + "content type" + other + "text/plain | absent");
}

TEST(CaseRunnerWrongReply, FailsAReplyThatIsNotWellFormedWhenAnyOtherWouldDo) {
  const scenario::Case test_case =
      case_of({.steps = "- get: k\n- del: k\n  expect: {reply: {count: 0}}"});
  check_wrong(test_case, {{answering(Verb::kGet, "-ERR x\r\n"), "passed"}});
  EXPECT_THAT(outcome_text(answering(Verb::kGet, "?"), test_case),
              testing::AllOf(StartsWith("failed 1 R-MUST-1: the reply is not well formed: "),
                             HasSubstr(" | a reply of the protocol | ? (")));
}

TEST(CaseRunnerWrongReply, FailsMisdirectedReplies) {
  const scenario::Case test_case = case_of({.steps = kSetAndGet});
  const std::string nobody =
      "failed 2 R-MUST-1: client a received a message that nobody asked for | responses to open "
      "requests, and notifications of observed keys | a ";
  const std::string own = nobody + "message on the topic clients/fp-run-";
  const auto wrong = [&](std::function<void(Message&)> change) {
    return outcome_text(wrong_reply(Verb::kGet, std::move(change)), test_case);
  };
  EXPECT_THAT(wrong([](Message& m) { m.correlation_data = "x\xff"; }),
              testing::AllOf(StartsWith(own), HasSubstr(R"( with correlation data "x\xff" )")));
  EXPECT_THAT(wrong([](Message& m) { m.correlation_data.reset(); }),
              testing::AllOf(StartsWith(own), HasSubstr(" with correlation data absent ")));
  EXPECT_THAT(wrong([](Message& m) { m.correlation_data->pop_back(); }), StartsWith(own));
  EXPECT_THAT(wrong([](Message& m) { m.topic += "/"; }), StartsWith(own));
  EXPECT_THAT(wrong([](Message& m) { m.topic = "x"; }),
              StartsWith(nobody + "message on the topic x "));
  EXPECT_THAT(wrong([](Message& m) { m.topic = std::string(codec::kStorePrefix) + "/x"; }),
              StartsWith(nobody + "notification on the topic "));
}

TEST(CaseRunnerWrongReply, FailsASecondReplyWheneverItComes) {
  const scenario::Case test_case =
      case_of({.steps = "- set: {key: k, value: \"v\"}\n  expect: ok\n- wait: 30s\n"});
  for (const auto delay : {0ms, 2999ms, 20'000ms}) {
    const Behaviour twice =
        changed(reference_store(), [delay](const Published& request, Effects& effects) {
          if (verb_of(request) != Verb::kSet) return;
          effects.push_back(reply(request, "+OK\r\n"));
          effects.back().after = delay;
        });
    EXPECT_THAT(outcome_text(twice, test_case),
                testing::AllOf(StartsWith("failed 2 R-MUST-1: client a received a message"),
                               HasSubstr(R"(answers no open request: +OK\r\n)")));
  }
}

TEST(CaseRunnerWrongReply, ForgivesARedeliveryThatIsMarkedAsOne) {
  const auto again = [](std::function<void(Message&)> change) {
    return changed(reference_store(), [=](const Published& request, Effects& effects) {
      if (verb_of(request) != Verb::kSet) return;
      effects.push_back(effects.back());
      change(std::get<endpoint::MessageReceived>(effects.back().what).message);
    });
  };
  const scenario::Case test_case =
      case_of({.steps = "- {set: {key: k, value: \"v\"}, expect: ok}\n"});
  EXPECT_EQ(outcome_text(again([](Message& m) { m.duplicate = true; }), test_case), "passed");
  EXPECT_THAT(outcome_text(again([](Message&) {}), test_case), StartsWith("failed 1 "));
  const auto other = [](Message& m) { m.payload = ":1\r\n", m.duplicate = true; };
  EXPECT_THAT(outcome_text(again(other), test_case), StartsWith("failed 1 "));
  check_wrong(test_case,
              {{wrong_reply(Verb::kSet, [](Message& m) { m.duplicate = true; }), "passed"}});
}

// --- requests that must not be answered --------------------------------------------------------

constexpr const char* kUnanswered = R"(
- {set: {key: k, value: "v", qos: 0}, expect: {reply: none, cites: R-MUST-2}}
- {get: k, expect: missing}
)";

TEST(CaseRunnerNoReply, TellsAReplyFromSilenceFromALoss) {
  check_wrong(case_of({.steps = kUnanswered}),
              {{answering(Verb::kSet, "+OK\r\n"),
                R"(failed 1 R-MUST-2: the reply is not the expected one | no reply | +OK\r\n)"},
               {Behaviour{},
                "lost 1 R-MUST-1: neither this request nor the next one was answered | no reply | "
                "nothing within 3000 ms, nor did another client get an answer; the store, its "
                "broker, the network or this machine stood still"},
               {refusing(Verb::kSet, 0x87), "passed"},
               {kicking(Verb::kSet, {0x82}), kEnded1 + "DISCONNECT with reason code 0x82"}});
}

constexpr const char* kDisconnected = R"(
- get: {key: k, response_topic: "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/x"}
  expect: disconnect
- connect: a
- {get: k, expect: missing}
)";

TEST(CaseRunnerDisconnection, FailsAStoreThatOnlyStaysSilent) {
  const Behaviour forgives = changed(reference_store(), [](const Published&, Effects& effects) {
    std::erase_if(effects, [](const Effect& effect) {
      return std::holds_alternative<Disconnected>(effect.what);
    });
  });
  check_wrong(
      case_of({.steps = kDisconnected}),
      {{forgives,
        "failed 1 R-MUST-1: the client stayed connected and got no reply | disconnection by "
        "the broker | no reply; a later request on the same connection was answered"}});
}

TEST(CaseRunnerDisconnection, AcceptsOneWithoutReasonAndOneThatComesLate) {
  for (const Disconnected& how : {Disconnected{}, Disconnected{0x82}}) {
    for (const auto delay : {0ms, 1ms}) {
      // The probe, which an asynchronous broker still takes, is answered later.
      const Behaviour kicks = [how, delay](const Published& request) -> Effects {
        if (request.message.response_topic->starts_with(codec::kStorePrefix)) return {{how, delay}};
        Effect answer = reply(request, "$-1\r\n");
        answer.after = 10ms;
        return {answer};
      };
      EXPECT_EQ(outcome_text(kicks, case_of({.steps = kDisconnected})), "passed");
    }
  }
}

// --- refusals and losses -----------------------------------------------------------------------

TEST(CaseRunnerLoss, TellsARefusalFromAnEndOfTheConnection) {
  const std::string ended = kEnded2;
  check_wrong(case_of({.steps = kSetAndGet}),
              {{refusing(Verb::kGet, 0x97),
                R"(failed 2 R-MUST-1: the broker refused the PUBLISH | $3\r\none\r\n | )"
                "PUBACK with reason code 0x97"},
               {kicking(Verb::kGet, {}), ended + "connection closed without a DISCONNECT packet"},
               {kicking(Verb::kGet, {0x8b}), ended + "DISCONNECT with reason code 0x8b"}});
}

constexpr const char* kTwoClients = "clients: {a: {}, b: {}}";

TEST(CaseRunnerLoss, LosesTheCaseWhenAnObserverIsThrownOutWhileItWaits) {
  const Behaviour kicks =
      changed(reference_store(), [](const Published& request, Effects& effects) {
        if (verb_of(request) != Verb::kSet) return;
        effects = {reply(request, "+OK\r\n")};
        effects.push_back(
            {Disconnected{}, 0ms, request.client_id.substr(0, request.client_id.size() - 1) + "b"});
      });
  for (const std::string last :
       {"- notification: {client: b, key: k, operation: set}\n", "- silence: b\n"}) {
    const scenario::Case test_case = case_of({.more = kTwoClients, .steps = R"(
- {keynotify: {client: b, key: k}, expect: ok}
- {set: {key: k, value: "v"}, expect: ok}
)" + last});
    EXPECT_THAT(outcome_text(kicks, test_case), StartsWith("lost 3 R-MUST-1: "));
  }
}

// A client that nobody listens to any more is thrown out all the same.
TEST(CaseRunnerLoss, LosesTheCaseWhenAnIdleClientIsThrownOut) {
  const Behaviour kicks =
      changed(reference_store(), [](const Published& request, Effects& effects) {
        if (verb_of(request) == Verb::kSet) effects.push_back({Disconnected{0x82}, 1ms});
      });
  const scenario::Case test_case =
      case_of({.steps = "- set: {key: k, value: \"v\"}\n  expect: ok\n- wait: 1s"});
  EXPECT_EQ(outcome_text(kicks, test_case), kEnded2 + "DISCONNECT with reason code 0x82");
}

TEST(CaseRunnerLoss, LetsACaseTakeOverAnOldSession) {
  const scenario::Case test_case =
      case_of({.more = "clients: {a: {}, b: {same_id_as: a}}", .steps = R"(
- {get: {client: a, key: k}, expect: missing}
- {get: {client: b, key: k}, expect: missing}
)"});
  EXPECT_EQ(outcome_text(run_on(*reference_endpoint(), test_case)), "passed");
  EXPECT_EQ(outcome_text(reference_store(), test_case), "passed");
}

TEST(CaseRunnerLoss, TellsAnEndpointThatIsGoneFromAHarnessThatFails) {
  using endpoint::ErrorKind;
  const std::pair<ErrorKind, std::string> kTable[] = {
      {ErrorKind::kUnreachable, "lost"},     {ErrorKind::kLost, "lost"},
      {ErrorKind::kTimeout, "lost"},         {ErrorKind::kNotAllowed, "inconclusive"},
      {ErrorKind::kInvalid, "inconclusive"}, {ErrorKind::kInternal, "inconclusive"}};
  for (const auto& [kind, verdict] : kTable) {
    const auto refuse = [error = endpoint::Error{kind, "why"}](const auto&) { return error; };
    FakeEndpoint unconnected({.behaviour = reference_store(), .on_connect = refuse});
    FakeEndpoint unsubscribed({.behaviour = reference_store(), .on_subscribe = refuse});
    for (FakeEndpoint* endpoint : {&unconnected, &unsubscribed}) {
      // What is not acknowledged in time may only be slow: that breaks no rule.
      const bool slow = kind == ErrorKind::kUnreachable || kind == ErrorKind::kTimeout;
      EXPECT_EQ(outcome_text(run_on(*endpoint, case_of({.steps = kSetAndGet}))),
                verdict + (slow ? " 1 : why" : " 1 R-MUST-1: why") +
                    (kind == ErrorKind::kLost ? kLasts : ""));
    }
  }
}

// --- evidence in time --------------------------------------------------------------------------

TEST(CaseRunnerWindow, ScalesItsTimeLimits) {
  RunSettings slow = settings();
  slow.timeout_scale = 2.0;
  const scenario::Case test_case = case_of({.steps = kSetAndGet});
  // A later request is answered immediately: then the first has a second more, twice as long as it
  // has its three seconds.
  EXPECT_EQ(outcome_text(delayed(Verb::kGet, 7999ms), test_case, slow), "passed");
  EXPECT_THAT(outcome_text(delayed(Verb::kGet, 8001ms), test_case, slow),
              HasSubstr("nothing within 6000 ms"));
}

TEST(CaseRunnerWindow, WaitsOnTheClockOfTheSession) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const scenario::Case test_case = case_of({.steps = R"(
- {set: {key: k, value: "v", mark: t1}, expect: ok}
- wait: {until: t1 + 2s}
- get: k
- wait: 300ms
- get: k
)"});
  EXPECT_EQ(outcome_text(run_on(endpoint, test_case)), "passed");
  const auto published = endpoint.published();
  ASSERT_GE(published.size(), 3U);
  EXPECT_EQ((published[1].now - published[0].now) / 1ms, 2000);
  EXPECT_EQ((published[2].now - published[1].now) / 1ms, 300);
}

// --- notifications -----------------------------------------------------------------------------

scenario::Case observed(const std::string& notified = "value: \"v\", ts: present, qos: 1") {
  return case_of({.more = kTwoClients,
                  .steps = R"(
- {keynotify: {client: b, key: k}, expect: ok}
- {set: {key: k, value: "v"}, expect: ok}
- notification: {client: b, key: k, operation: set, cites: R-MUST-2, )" +
                           notified + "}\n"});
}

// The store changes keys and notifies nobody.
Behaviour deaf() {
  return changed(reference_store(), [](const Published& request, Effects& effects) {
    if (verb_of(request) == Verb::kSet) effects.erase(effects.begin());
  });
}

TEST(CaseRunnerNotification, FailsTheStepThatWaitsForAWrongOne) {
  const std::string failed = "failed 3 R-MUST-2: ";
  const std::string expected = R"( | <SET>$1\r\nv\r\n for key "@k" | )";
  const std::string other = failed + "the notification is not the expected one" + expected;
  const std::string deleted = R"(*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n)";
  check_wrong(
      observed(),
      {{deaf(), failed + "no notification" + expected + "nothing within 5000 ms"},
       {with_spurious({.verb = Verb::kSet, .first = true}),
        other + R"(<SET>$1\r\nx\r\n for key "@k")"},
       {with_spurious({.verb = Verb::kSet, .key = "j", .first = true}),
        other + R"(<SET>$1\r\nx\r\n for key "@j")"},
       {wrong_notification(payload(*unescape(deleted))), other + deleted + R"( for key "@k")"},
       {wrong_notification(payload("+OK\r\n")), other + R"(+OK\r\n for key "@k")"},
       {wrong_notification(drop_version),
        "failed 3 NTF-VERSION-1: the message carries no version | a user property __ts | none"},
       {wrong_notification([](Message& m) { m.qos = 0; }),
        failed + "the notification has another QoS | QoS 1 | QoS 0"},
       // NTF-QOS-OPEN-1
       {wrong_notification([](Message& m) { m.retain = true; }), "passed"}});
}

TEST(CaseRunnerNotification, FailsAWrongTopic) {
  const std::string nobody = "failed 3 R-MUST-1: client b received a message that nobody asked for";
  const auto topic = [](std::function<void(std::string&)> change) {
    return outcome_text(wrong_notification([&](Message& m) { change(m.topic); }), observed());
  };
  EXPECT_THAT(topic([](std::string& t) { t.back() = 'b'; }), StartsWith(nobody));  // lower case
  EXPECT_THAT(topic([](std::string& t) { t += "/x"; }), StartsWith(nobody));
  EXPECT_THAT(topic([](std::string& t) { t.insert(t.find("/command"), "00"); }),
              StartsWith(nobody));
  EXPECT_THAT(
      topic([](std::string& t) { t += "00"; }),
      testing::AllOf(StartsWith("failed 3 R-MUST-2: the notification is not the expected one"),
                     HasSubstr(R"( for key "@k\x00")")));
}

TEST(CaseRunnerNotification, ComparesItsContentType) {
  const scenario::Case typed = observed("value: \"v\", content_type: text/plain");
  const auto type = [&](const std::string& text) {
    return outcome_text(wrong_notification([&](Message& m) { m.content_type = text; }), typed);
  };
  EXPECT_EQ(type("text/plain"), "passed");
  EXPECT_EQ(type("text/html"),
            "failed 3 R-MUST-2: the content type is not the expected one | text/plain | text/html");
}

TEST(CaseRunnerNotification, WaitsAsLongAsTheStepSays) {
  const auto late = [](endpoint::Duration delay) {
    return changed(reference_store(), [delay](const Published& request, Effects& effects) {
      if (verb_of(request) == Verb::kSet) effects.front().after = delay;
    });
  };
  EXPECT_EQ(outcome_text(late(200ms), observed("value: \"v\", within: 200ms")), "passed");
  // What comes in the second after a later request was answered was on its way.
  EXPECT_EQ(outcome_text(late(1'199ms), observed("value: \"v\", within: 200ms")), "passed");
  EXPECT_THAT(outcome_text(late(1'201ms), observed("value: \"v\", within: 200ms")),
              HasSubstr("nothing within 200 ms"));
}

TEST(CaseRunnerNotification, JudgesTheFormOfADeletionByTheProfile) {
  const scenario::Case test_case = case_of({.more = "divergence: [delete-operation]", .steps = R"(
- {keynotify: k, expect: ok}
- {set: {key: k, value: "v"}, expect: ok}
- notification: {key: k, operation: set}
- {del: k, expect: {reply: {count: 1}}}
- notification: {key: k, operation: delete}
)"});
  const std::string documented = R"(*2\r\n$6\r\nNOTIFY\r\n$3\r\nDEL\r\n for key "@k")";
  const std::string deployed = R"(*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n for key "@k")";
  for (const DialectId spoken : codec::kDialects) {
    const CaseResult result = run_on(reference_store({.dialect = spoken}), test_case);
    EXPECT_EQ(outcome_text(result), "passed");
    EXPECT_THAT(result.forms, ElementsAre(Pair(codec::Divergence::kDeleteOperation, spoken)));
  }
  EXPECT_EQ(outcome_text(reference_store({.dialect = DialectId::kDocumented}), test_case,
                         settings(codec::Profile::kDeployed)),
            "failed 5 NTF-DEL-1: the notification has the form of the documented dialect, and this "
            "run judges by the deployed one | " +
                deployed + " | " + documented);
  EXPECT_EQ(
      outcome_text(reference_store({.dialect = DialectId::kDeployed}), test_case,
                   settings(codec::Profile::kDocumented)),
      "failed 5 NTF-DEL-1: the notification has the form of the deployed dialect, and this run "
      "judges by the documented one | " +
          documented + " | " + deployed);
}

TEST(CaseRunnerSilence, FailsUnlessTheFenceIsTheNextThingThatArrives) {
  const std::string must_not =
      "failed 2 R-MUST-2: a notification that must not be sent | no notification | "
      R"(<SET>$1\r\nx\r\n for key "@k")";
  check_wrong(
      case_of({.more = kTwoClients, .steps = R"(
- {get: k, expect: missing}
- silence: {client: b, writer: a, cites: R-MUST-2}
)"}),
      {{deaf(),
        "failed 2 NTF-SEND-1: the fence notification did not arrive | a notification for the fence "
        "key "
        "and nothing before it | nothing"},
       {with_spurious({.verb = Verb::kSet, .first = true}), must_not},
       {with_spurious({.verb = Verb::kKeynotify}), must_not},
       {with_spurious({.verb = Verb::kKeynotify, .first = true}), must_not},
       {with_spurious({.verb = Verb::kSet}),
        "failed 2 R-MUST-1: client b received a notification that the case does not expect | no "
        R"(further notification | <SET>$1\r\nx\r\n for key "@k")"},
       {with_spurious({.verb = Verb::kSet, .observer = "a", .first = true}),
        "failed 2 R-MUST-1: client a received a notification that the case does not expect | no "
        R"(further notification | <SET>$1\r\nx\r\n for key "@k")"}});
}

TEST(CaseRunnerLeftover, FailsANotificationThatNoStepTakes) {
  const std::string steps = "- keynotify: {client: b, key: k}\n  expect: ok\n";
  const std::string leftover =
      " R-MUST-1: client b received a notification that the case does not expect | no further "
      R"(notification | <SET>$1\r\nx\r\n for key "@k")";
  const Behaviour at_once = with_spurious({.verb = Verb::kKeynotify});
  const Behaviour later = with_spurious({.verb = Verb::kKeynotify, .after = 500ms});
  EXPECT_EQ(outcome_text(at_once, case_of({.more = kTwoClients, .steps = steps})),
            "failed 1" + leftover);
  EXPECT_EQ(outcome_text(later, case_of({.more = kTwoClients, .steps = steps + "- wait: 1s"})),
            "failed 2" + leftover);
}

TEST(CaseRunnerLeftover, FailsANotificationThatADisconnectingClientHasNotTaken) {
  for (const std::string how : {"disconnect", "drop", "connect"}) {
    const scenario::Case test_case = case_of({.more = kTwoClients, .steps = R"(
- {keynotify: {client: b, key: k}, expect: ok}
- )" + how + ": b\n"});
    EXPECT_THAT(
        outcome_text(with_spurious({.verb = Verb::kKeynotify}), test_case),
        StartsWith("failed 2 R-MUST-1: client b received a notification that the case does not "
                   "expect"));
  }
}

// --- several requests and clients --------------------------------------------------------------

constexpr const char* kPipeline = R"(
- pipeline:
  - set: {key: k, value: "one"}
    expect: ok
  - get: k
    expect: {reply: {value: "one"}}
  - get: other
    expect: {reply: missing, cites: R-MUST-2}
)";

TEST(CaseRunnerPipeline, MatchesRepliesByCorrelationDataInAnyOrder) {
  const std::vector<std::vector<int>> kDelays = {
      {0, 0, 0}, {30, 20, 10}, {10, 30, 20}, {20, 10, 30}};
  for (const auto& delays : kDelays) {
    std::size_t at = 0;
    FakeEndpoint endpoint(
        {.behaviour = changed(reference_store(), [&](const Published&, Effects& effects) {
           for (Effect& effect : effects) effect.after = std::chrono::milliseconds(delays[at % 3]);
           ++at;
         })});
    EXPECT_EQ(outcome_text(run_on(endpoint, case_of({.steps = kPipeline}))), "passed");
    const auto published = endpoint.published();  // nothing is waited for in between
    EXPECT_EQ(published.at(2).now - published.at(0).now, 2 * kTimeOfOneRequest);
  }
}

TEST(CaseRunnerPipeline, FailsRepliesWithEachOthersCorrelationData) {
  std::string first;
  const Behaviour swapped =
      on_reply(reference_store(), [&](const Published& request, Message& message) {
        if (verb_of(request) == Verb::kSet) first = *message.correlation_data;
        if (verb_of(request) == Verb::kGet) message.correlation_data = first;
      });
  EXPECT_THAT(outcome_text(swapped, case_of({.steps = kPipeline})),
              StartsWith("failed 1 R-MUST-1: client a received a message that nobody asked for"));
  const Behaviour wrong =
      on_reply(reference_store(), [](const Published& request, Message& message) {
        if (request.message.payload.ends_with("other\r\n")) message.payload = "+OK\r\n";
      });
  EXPECT_EQ(
      outcome_text(wrong, case_of({.steps = kPipeline})),
      R"(failed 1 R-MUST-2: the reply is not the expected one | $-1\r\n (no such key) | +OK\r\n)");
}

TEST(CaseRunnerPipeline, KeepsClientsApartThatUseTheSameCorrelationData) {
  const scenario::Case test_case = case_of({.more = kTwoClients, .steps = R"(
- pipeline:
  - set: {client: a, key: k, value: "v", correlation: "same"}
    expect: ok
  - get: {client: b, key: other, correlation: "same"}
    expect: missing
)"});
  FakeEndpoint endpoint({.behaviour = reference_store()});
  EXPECT_EQ(outcome_text(run_on(endpoint, test_case)), "passed");
  EXPECT_EQ(endpoint.published().at(0).message.correlation_data, "same");
  EXPECT_EQ(endpoint.published().at(1).message.correlation_data, "same");
  const Behaviour crossed =
      changed(reference_store(), [](const Published& request, Effects& effects) {
        std::string other = request.client_id;
        other.back() = other.back() == 'a' ? 'b' : 'a';
        for (Effect& effect : effects) effect.to = other;
      });
  EXPECT_THAT(outcome_text(crossed, test_case), StartsWith("failed 1 R-MUST-1: "));
}

TEST(CaseRunnerToken, SendsASavedTimestampBackUnmodified) {
  FakeEndpoint endpoint({.behaviour = wrong_reply(Verb::kSet, version("01767225600000:7:Node"))});
  EXPECT_EQ(outcome_text(run_on(endpoint, case_of({.steps = R"(
- {set: {key: k, value: "one"}, expect: {reply: ok, ts: {save: v1}}}
- {set: {key: k, value: "two", ft: v1, ts: v1 counter + 1}, expect: ok}
)"}))),
            "passed");
  const Message second = endpoint.published().at(1).message;
  EXPECT_EQ(*second.property("__ft"), "01767225600000:7:Node");
  EXPECT_EQ(*second.property("__ts"), "001767225600000:00008:Node");
}

// --- what a case leaves behind -----------------------------------------------------------------

scenario::Case leaving(const std::string& last = "", const std::string& token = "now") {
  return case_of({.more = kTwoClients,
                  .steps = R"(
- {set: {key: plain, value: "v"}, expect: ok}
- set: {key: fenced, value: "v", ft: )" +
                           token + R"(}
  expect: ok
- {send: {command: ["SET", {key: sent}, "v"], ts: now, writes: [sent]}, expect: ok}
- silence: b
)" + last});
}

TEST(CaseRunnerCleanUp, RemovesEveryKeyWhateverTheVerdict) {
  const auto keys = std::make_shared<std::size_t>(99);
  EXPECT_EQ(outcome_text(reference_store({}, keys), leaving()), "passed");
  EXPECT_EQ(*keys, 0U);
  EXPECT_THAT(outcome_text(reference_store({}, keys), leaving("- get: plain\n  expect: missing\n")),
              StartsWith("failed 5 "));
  EXPECT_EQ(*keys, 0U);
}

TEST(CaseRunnerCleanUp, RemovesAKeyWhoseTokenIsAsNewAsIsLegal) {
  const auto keys = std::make_shared<std::size_t>(99);
  EXPECT_EQ(outcome_text(reference_store({}, keys), leaving("", "now + 60s")), "passed");
  EXPECT_EQ(*keys, 0U);
}

TEST(CaseRunnerCleanUp, NeverChangesTheVerdict) {
  const auto to_cleaner = [](std::function<Effects(const Published&)> does) {
    return changed(reference_store(),
                   [does = std::move(does)](const Published& request, Effects& effects) {
                     if (request.client_id.ends_with("cleaner")) effects = does(request);
                   });
  };
  for (const Behaviour& behaviour :
       {to_cleaner([](const Published&) { return Effects{}; }),
        to_cleaner([](const Published&) { return Effects{{Disconnected{0x82}}}; }),
        to_cleaner(
            [](const Published& request) { return Effects{reply(request, "-ERR x\r\n")}; })}) {
    const CaseResult result = run_on(behaviour, leaving());
    EXPECT_EQ(outcome_text(result), "passed");
    for (const TranscriptEntry& entry : result.transcript) EXPECT_NE(entry.client, "cleaner");
  }
  using MaybeError = std::optional<endpoint::Error>;
  FakeEndpoint closed(
      {.behaviour = reference_store(), .on_connect = [](const auto& options) -> MaybeError {
         if (!options.client_id.ends_with("cleaner")) return std::nullopt;
         return endpoint::Error{endpoint::ErrorKind::kLost, "no"};
       }});
  EXPECT_EQ(outcome_text(run_on(closed, leaving())), "passed");
}

TEST(CaseRunnerIsolation, UsesKeysAndClientIdsOfItsOwn) {
  std::set<std::string> ids;
  std::set<std::string> payloads;
  for (const std::string run_id : {"run", "other"}) {
    for (const std::string case_id : {"t.one", "t.two"}) {
      FakeEndpoint endpoint({.behaviour = reference_store()});
      RunSettings given = settings();
      given.run_id = run_id;
      const scenario::Case test_case =
          case_of({.id = case_id, .steps = "- get: k\n  expect: missing\n"});
      EXPECT_EQ(outcome_text(run_on(endpoint, test_case, given)), "passed");
      ids.insert(endpoint.connected().at(0).client_id);
      payloads.insert(endpoint.published().at(0).message.payload);
      EXPECT_THAT(*ids.rbegin(), HasSubstr("fp-"));
      EXPECT_THAT(endpoint.published().at(0).message.payload,
                  HasSubstr("fencepost/" + run_id + "/"));
    }
  }
  EXPECT_THAT(ids, SizeIs(4));
  EXPECT_THAT(payloads, SizeIs(4));
}

TEST(CaseRunnerIsolation, RepeatsItsBytesWithItsSeedAndOnlyThen) {
  const auto correlation = [](std::uint64_t seed) {
    FakeEndpoint endpoint({.behaviour = reference_store()});
    RunSettings given = settings();
    given.seed = seed;
    const scenario::Case test_case = case_of({.steps = "- get: k\n  expect: missing\n"});
    EXPECT_EQ(outcome_text(run_on(endpoint, test_case, given)), "passed");
    return *endpoint.published().at(0).message.correlation_data;
  };
  EXPECT_THAT(correlation(1), SizeIs(16));
  EXPECT_EQ(correlation(1), correlation(1));
  EXPECT_NE(correlation(1), correlation(2));
}

TEST(CaseRunnerIsolation, ConnectsClientsAsTheCaseDescribesThem) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const scenario::Case test_case = case_of({.more = R"(
clients:
  a: {role: restricted, clean_start: false, session_expiry: 60}
  b: {subscribes: false}
  c: {observes: true}
)",
                                            .steps = R"(
- {get: {client: a, key: k}, expect: missing}
- drop: b
- {get: {client: c, key: k}, expect: missing}
)"});
  RunSettings given = settings();
  given.client_ids["restricted"] = "Sensor-1";
  EXPECT_EQ(outcome_text(run_on(endpoint, test_case, given)), "passed");
  const auto connected = endpoint.connected();
  ASSERT_THAT(connected, SizeIs(3));
  EXPECT_EQ(connected[0].role, "restricted");
  EXPECT_EQ(connected[0].client_id, "Sensor-1");
  EXPECT_FALSE(connected[0].clean_start);
  EXPECT_EQ(connected[0].session_expiry_seconds, 60U);
  EXPECT_FALSE(connected[0].droppable);
  EXPECT_TRUE(connected[1].droppable);
  EXPECT_TRUE(connected[2].clean_start);
  EXPECT_THAT(endpoint.filters(),
              ElementsAre(codec::recommended_response_topic(connected[0].client_id),
                          codec::recommended_response_topic(connected[2].client_id),
                          codec::notification_filter(connected[2].client_id)));
}

// --- unspecified points and quotas ---------------------------------------------------------------

TEST(CaseRunnerUnspecified, RecordsWhichOutcomeItSaw) {
  const scenario::Case test_case = case_of({.steps = R"(
- {get: k, expect: missing}
- set: {key: k, value: "v", qos: 0}
  expect: {reply: {open: {ignored: none, refused: error, kicked: disconnect, done: ok}},
           cites: R-MUST-2}
)"});
  const auto seen = [&](const Behaviour& behaviour) {
    const CaseResult result = run_on(behaviour, test_case);
    return result.unspecified_points.size() == 1 ? result.unspecified_points[0]
                                                 : std::pair(outcome_text(result), std::string());
  };
  EXPECT_THAT(seen(reference_store()), Pair("R-MUST-2", "ignored"));
  EXPECT_THAT(seen(answering(Verb::kSet, "-ERR x\r\n")), Pair("R-MUST-2", "refused"));
  EXPECT_THAT(seen(kicking(Verb::kSet, {})), Pair("R-MUST-2", "kicked"));
  EXPECT_THAT(seen(answering(Verb::kSet, "+OK\r\n")), Pair("R-MUST-2", "done"));
  EXPECT_THAT(seen(answering(Verb::kSet, ":1\r\n")),
              Pair(StartsWith("failed 2 R-MUST-2: the reply is not the expected one"), ""));
}

TEST(CaseRunnerQuota, FailsAStoreThatTakesMoreThanItHolds) {
  RunSettings given = settings();
  given.quota = 70;  // more than is in flight at any time
  const scenario::Case test_case = case_of({.steps = "- fill_quota: {key: q, cites: R-MUST-2}\n"});
  const auto keys = std::make_shared<std::size_t>(99);
  EXPECT_EQ(outcome_text(reference_store({.store = {.quota = 70}}, keys), test_case, given),
            "passed");
  EXPECT_EQ(*keys, 0U);
  EXPECT_EQ(outcome_text(reference_store({}, keys), test_case, given),
            "failed 1 R-MUST-2: 71 new keys were stored, more than the quota allows | "
            R"(-ERR the quota has been exceeded\r\n | +OK\r\n each time)");
  EXPECT_EQ(*keys, 0U);
  EXPECT_THAT(outcome_text(always("-ERR syntax error\r\n"), test_case, given),
              StartsWith("failed 1 R-MUST-2: the reply is not the expected one"));
}

// --- one client --------------------------------------------------------------------------------

// A connected client, and what it needs.
struct OneClient {
  explicit OneClient(Behaviour behaviour) : endpoint({.behaviour = std::move(behaviour)}) {}

  FakeEndpoint endpoint;
  std::unique_ptr<endpoint::Session> session = std::move(*endpoint.open_session());
  endpoint::Clock& clock = session->clock();
  RequestClient client{"a", std::move(*session->connect({.client_id = "id"})), "id", clock};
};

TEST(RequestClientEvents, MarksEachOfTwoRefusedRequestsWithTheSameCorrelationData) {
  OneClient one([](const Published&) { return Effects{{PublishRefused{0x87, "c"}}}; });
  Message message;
  message.correlation_data = "c";
  ASSERT_TRUE(one.client.send(message));
  ASSERT_TRUE(one.client.send(message));
  one.client.drain();
  ASSERT_THAT(one.client.exchanges(), SizeIs(2));
  for (const judge::Exchange& exchange : one.client.exchanges()) EXPECT_EQ(exchange.refused, 0x87);
}

TEST(RequestClientEvents, ReadsAReplyOnceWhereItArrives) {
  OneClient one([](const Published& request) {
    Effects effects = {reply(request, "-ERR the quota has been exceeded\r\n")};
    effects.front().after = 30ms;
    return effects;
  });
  const auto sent = one.client.send(one.client.request({"SET", "k", "v"}));
  ASSERT_TRUE(sent);
  const judge::Exchange& exchange = **sent;
  EXPECT_FALSE(exchange.is_over());
  EXPECT_TRUE(one.client.await(exchange, 1s));
  ASSERT_TRUE(exchange.reply);
  EXPECT_EQ(exchange.verb, Verb::kSet);
  EXPECT_TRUE(exchange.reply->is(codec::ReplyKind::kError));
  EXPECT_EQ(exchange.reply->error(), codec::ErrorCode::kQuotaExceeded);
  EXPECT_EQ(exchange.reply->time - exchange.sent, 30ms + kTimeOfOneRequest);
  EXPECT_EQ(exchange.interval().sent_ms, static_cast<std::int64_t>(kEpochMs));
  EXPECT_EQ(exchange.interval().received_ms, static_cast<std::int64_t>(kEpochMs) + 30);
}

TEST(RequestClientEvents, StopsWaitingWhenItsTimeIsOverOrItsConnectionIs) {
  OneClient one([](const Published&) { return Effects{{Disconnected{}, 500ms}}; });
  EXPECT_FALSE(one.client.pump_until([] { return false; }, 100ms));
  EXPECT_EQ(one.clock.now(), 100ms);
  EXPECT_TRUE(one.client.pump_until([] { return true; }, 0ms));
  ASSERT_TRUE(one.client.send({}));
  EXPECT_FALSE(one.client.pump_until([] { return false; }, 10s));
  EXPECT_EQ(one.clock.now(), 600ms + kTimeOfOneRequest);
  ASSERT_TRUE(one.client.disconnected());
  EXPECT_FALSE(one.client.send({}));
  EXPECT_THAT(one.client.exchanges(), SizeIs(1));
}

}  // namespace
}  // namespace fencepost::run
