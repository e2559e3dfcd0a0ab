#include "conformance/case_runner.h"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "conformance/case_client.h"
#include "conformance/fake_endpoint.h"
#include "conformance/target.h"
#include "endpoint/in_process.h"

namespace fencepost::conformance {
namespace {

using namespace std::chrono_literals;
using codec::DialectId;
using codec::Message;
using codec::Verb;
using endpoint::Disconnected;
using endpoint::MessageReceived;
using endpoint::PublishRefused;
using fake::Behaviour;
using fake::case_of;
using fake::changed;
using fake::Effect;
using fake::Effects;
using fake::FakeEndpoint;
using fake::instead_of;
using fake::on_notification;
using fake::on_reply;
using fake::Published;
using fake::reference_store;
using fake::reply;
using fake::verb_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

RunSettings settings(Profile profile = Profile::kAuto) {
  return {.profile = profile, .run_id = "run", .seed = 7, .timeout_scale = 1.0};
}

CaseResult run_on(endpoint::Endpoint& endpoint, const Case& test_case,
                  const RunSettings& given = settings()) {
  auto session = endpoint.open_session();
  EXPECT_TRUE(session);
  return run_case(test_case, **session, given);
}

CaseResult run_on(Behaviour behaviour, const Case& test_case,
                  const RunSettings& given = settings()) {
  FakeEndpoint endpoint({.behaviour = std::move(behaviour)});
  return run_on(endpoint, test_case, given);
}

// The key that a case which ran alone has used last for `name`, without knowing how prefixes look.
std::string without_prefix(std::string text) {
  const std::string start = "fencepost/run/";
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start)) {
    text.replace(at, start.size() + 9, "@");  // eight digits and a slash
  }
  return text;
}

// The verdict and its reasons on one line; "passed" alone when there is nothing to say.
std::string told(const CaseResult& result) {
  std::string out(name(result.verdict));
  if (result.verdict == Verdict::kPassed) return out;
  out += fmt::format(" {} {}: {}", result.step, result.requirement, result.message);
  if (!result.expected.empty()) out += " | " + result.expected;
  if (!result.actual.empty()) out += " | " + result.actual;
  return without_prefix(out);
}

std::unique_ptr<endpoint::Endpoint> reference_endpoint(DialectId dialect = DialectId::kDeployed) {
  return endpoint::make_in_process_endpoint(
      {.service = {.dialect = dialect, .store = {.quota = 5}}});
}

// --- the right store ---------------------------------------------------------------------------

struct Good {
  std::string name;
  std::string steps;
  std::string more{};
};

const std::vector<Good> kGood = {
    {"every verb", R"(
- set: {key: k, value: "one"}
  expect: {reply: ok, ts: {save: v1, greater_than: [sent]}}
- set: {key: k, value: "two"}
  expect: {reply: ok, ts: {save: v2, greater_than: [v1, sent]}}
- get: k
  expect: {reply: {value: "two"}, ts: {equals: v2}}
- set: {key: k, value: "three", options: [NX]}
  expect: not-applied
- vdel: {key: k, value: "other"}
  expect: not-applied
- vdel: {key: k, value: "two"}
  expect: {reply: {count: 1}}
- del: k
  expect: {reply: {count: 0}}
- get: k
  expect: {reply: missing, ts: absent}
)",
     "divergence: [set-not-applied, vdel-mismatch]"},
    {"notifications and silence", R"(
- keynotify: {client: b, key: k}
  expect: ok
- silence: {client: b, writer: a}
- set: {key: k, value: "one", mark: t1}
  expect: {reply: ok, ts: {save: v1}}
- notification: {client: b, key: k, operation: set, value: "one", ts: {equals: v1}, qos: 1}
- del: k
  expect: {reply: {count: 1}}
- notification: {client: b, key: k, operation: delete}
- keynotify: {client: b, key: k, options: [STOP]}
  expect: ok
- set: {key: k, value: "two"}
  expect: ok
- silence: b
)",
     "divergence: [delete-operation]\nclients: {a: {}, b: {}}"},
    {"bytes of one's own", R"(
- send: {command: ["SET", {key: k}, "v"], ts: now, writes: [k]}
  expect: {reply: {bytes: "+OK\r\n"}}
- send: {command: ["FLY"]}
  expect: {reply: {error: unknown-command}}
- send: {payload: "*1"}
  expect: error
- get: {key: k, properties: [["__srcId", "x"]], content_type: text/plain, payload_format: 1, expiry: 10}
  expect: {reply: {any_of: [missing, {value: "v"}]}, properties: {__stat: "200"}}
)"},
    {"silence of the store and a disconnection", R"(
- set: {key: k, value: "v", qos: 0}
  expect: none
- set: {key: k, value: "v", response_topic: none}
  expect: none
- get: {key: k, response_topic: "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/x"}
  expect: disconnect
- connect: a
- get: k
  expect: missing
)"},
    {"time", R"(
- set: {key: k, value: "v", options: [PX, "1000"], mark: t1}
  expect: ok
- get: k
  expect: {reply: {value: "v"}, before: t1 + 900ms}
- wait: {until: t1.reply + 900ms}
- get: k
  expect: {reply: {value: "v"}}
- wait: 200ms
- get: k
  expect: missing
)"},
    {"connections", R"(
- keynotify: {client: b, key: k}
  expect: ok
- drop: b
- connect: b
- set: {key: k, value: "one"}
  expect: ok
- silence: {client: b, writer: a}
- disconnect: b
- get: {client: b, key: k}
  expect: {reply: {value: "one"}}
)",
     "clients: {a: {}, b: {}}"},
    {"a topic of one's own", R"(
- subscribe: {client: b, filter: "x/+"}
- send: {topic: "x/y", payload: "hello", correlation: none, response_topic: none}
  expect: none
- get: k
  expect: missing
)",
     "clients: {a: {}, b: {subscribes: false}}"},
    {"a quota", R"(
- fill_quota: {key: q}
- set: {key: more, value: "v"}
  expect: {reply: {error: quota-exceeded}}
)"},
    {"fencing", R"(
- set: {key: k, value: "one", ft: now}
  expect: {reply: ok, ts: {save: t1}}
- set: {key: k, value: "two"}
  expect: {reply: {error: token-required}}
- set: {key: k, value: "two", ft: t1}
  expect: ok
- del: {key: k, ft: {text: "1:0:old"}}
  expect: {reply: {error: token-lower}}
)",
     "divergence: [lower-token-text]"},
    {"forms of either dialect", R"(
- set: {key: k, value: "one"}
  expect: ok
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
      // The last step but one of "a topic of one's own" sends what b has subscribed to.
      if (good.name == "a topic of one's own") continue;
      const Case test_case = case_of({.more = good.more, .steps = good.steps});
      EXPECT_EQ(told(*endpoint, test_case, given), "passed");
    }
  }
}

TEST(CaseRunnerReference, PassesUnderTheProfileOfItsDialectOnly) {
  const Case test_case = case_of({.more = kGood.front().more, .steps = kGood.front().steps});
  for (const DialectId spoken : codec::kDialects) {
    for (const DialectId judged : codec::kDialects) {
      const auto endpoint = reference_endpoint(spoken);
      const Profile profile =
          judged == DialectId::kDocumented ? Profile::kDocumented : Profile::kDeployed;
      const CaseResult result = run_on(*endpoint, test_case, settings(profile));
      EXPECT_EQ(result.verdict, spoken == judged ? Verdict::kPassed : Verdict::kFailed);
      if (spoken != judged) {
        EXPECT_EQ(result.message,
                  fmt::format("the reply has the form of the {} dialect, and this run judges by "
                              "the {} one",
                              codec::dialect(spoken).name, codec::dialect(judged).name));
      }
    }
  }
}

TEST(CaseRunnerReference, ReportsTheFormsThatItSaw) {
  const Case test_case = case_of({.more = kGood.front().more, .steps = kGood.front().steps});
  const auto endpoint = reference_endpoint(DialectId::kDocumented);
  EXPECT_THAT(run_on(*endpoint, test_case).forms,
              ElementsAre(Pair(codec::Divergence::kSetNotApplied, DialectId::kDocumented),
                          Pair(codec::Divergence::kVdelMismatch, DialectId::kDocumented)));
}

TEST(CaseRunnerReference, SeesAMessageOnATopicThatAStepSubscribedTo) {
  const Case test_case = case_of({.more = kGood[6].more, .steps = kGood[6].steps});
  const CaseResult result = run_on(*reference_endpoint(), test_case);
  EXPECT_THAT(told(result), StartsWith("failed at step 3 by R-MUST-1: client b received a message "
                                       "that nobody asked for"));
  EXPECT_THAT(result.actual, HasSubstr("topic x/y"));
}

TEST(CaseRunnerReference, RecordsRoundTripsAndATranscript) {
  const Case test_case = case_of({.steps = "- set: {key: k, value: \"one\"}\n  expect: ok"});
  const CaseResult result = run_on(*reference_endpoint(), test_case);
  EXPECT_THAT(result.round_trips, SizeIs(1));
  ASSERT_THAT(result.transcript, SizeIs(3));  // the clean-up is not part of the case
  EXPECT_THAT(result.transcript[0].summary, StartsWith("connected as fp-run-"));
  EXPECT_EQ(without_prefix(result.transcript[1].summary), R"(SET "@k" "one")");
  EXPECT_EQ(result.transcript[1].direction, Direction::kSent);
  EXPECT_EQ(result.transcript[2].summary, R"(+OK\r\n)");
  EXPECT_EQ(result.transcript[2].direction, Direction::kReceived);
}

// --- wrong stores: replies ---------------------------------------------------------------------

constexpr const char* kSetAndGet = R"(
- set: {key: k, value: "one"}
  expect: {reply: ok, ts: {save: v1, greater_than: [sent]}}
- get: k
  expect: {reply: {value: "one"}, ts: {equals: v1}, cites: R-MUST-2}
)";

struct Wrong {
  std::string name;
  Behaviour behaviour;
  std::string verdict;  // as told() tells it
};

// Changes the replies to one verb.
Behaviour wrong_reply(Verb verb, std::function<void(Message&)> change) {
  return on_reply(reference_store(),
                  [verb, change = std::move(change)](const Published& request, Message& message) {
                    if (verb_of(request) == verb) change(message);
                  });
}

Behaviour later(Verb verb, endpoint::Duration delay) {
  return changed(reference_store(), [verb, delay](const Published& request, Effects& effects) {
    if (verb_of(request) != verb) return;
    for (Effect& effect : effects) effect.after = delay;
  });
}

void check_wrong(const Case& test_case, const std::vector<Wrong>& table,
                 const RunSettings& given = settings()) {
  EXPECT_EQ(told(reference_store(), test_case, given), "passed");
  for (const Wrong& wrong : table) {
    SCOPED_TRACE(wrong.name);
    EXPECT_EQ(told(wrong.behaviour, test_case, given), wrong.verdict);
  }
}

TEST(CaseRunnerWrongReply, FailsTheStepThatShowsIt) {
  const auto payload = [](std::string bytes) {
    return [bytes = std::move(bytes)](Message& message) { message.payload = bytes; };
  };
  check_wrong(
      case_of({.steps = kSetAndGet}),
      {{"silent",
        {},
        R"(failed at step 1 by R-MUST-1: no response; expected +OK\r\n; actual nothing within 3000 ms)"},
       {"silent on GET",
        instead_of(Verb::kGet, reference_store(), [](const auto&) { return Effects{}; }),
        R"(failed at step 2 by R-MUST-1: no response; expected $3\r\none\r\n; actual nothing within 3000 ms)"},
       {"late", later(Verb::kGet, 3001ms),
        R"(failed at step 2 by R-MUST-1: no response; expected $3\r\none\r\n; actual nothing within 3000 ms)"},
       {"just in time", later(Verb::kGet, 3000ms), "passed"},
       {"always OK", fake::always("+OK\r\n"),
        "failed at step 1 by R-MUST-1: the message carries no version; expected a user property "
        "__ts; actual none"},
       {"always an error", fake::always("-ERR syntax error\r\n"),
        R"(failed at step 1 by R-MUST-1: the reply is not the expected one; expected +OK\r\n; actual -ERR syntax error\r\n)"},
       {"another value", wrong_reply(Verb::kGet, payload("$3\r\ntwo\r\n")),
        R"(failed at step 2 by R-MUST-2: the reply is not the expected one; expected $3\r\none\r\n; actual $3\r\ntwo\r\n)"},
       {"no such key", wrong_reply(Verb::kGet, payload("$-1\r\n")),
        R"(failed at step 2 by R-MUST-2: the reply is not the expected one; expected $3\r\none\r\n; actual $-1\r\n (no such key))"}});
}

TEST(CaseRunnerWrongReply, FailsAnEchoWithTheBytesThatItSent) {
  const CaseResult result = run_on(fake::echo(), case_of({.steps = kSetAndGet}));
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_EQ(result.step, 1U);
  EXPECT_EQ(result.message, "the reply is not the expected one");
  EXPECT_THAT(result.actual, StartsWith(R"(*3\r\n$3\r\nSET\r\n)"));
}

TEST(CaseRunnerWrongReply, FailsWrongVersions) {
  const auto version = [](Verb verb, std::string text) {
    return wrong_reply(verb, [text = std::move(text)](Message& message) {
      fake::set_property(message, codec::kTimestampProperty, text);
    });
  };
  const Case test_case = case_of({.steps = kSetAndGet});
  EXPECT_EQ(told(wrong_reply(Verb::kGet,
                                    [](Message& message) {
                                      fake::drop_property(message, codec::kTimestampProperty);
                                    }),
                        test_case),
            "failed at step 2 by R-MUST-2: the message carries no version; expected a user "
            "property __ts; actual none");
  EXPECT_THAT(told(version(Verb::kSet, "nonsense"), test_case),
              StartsWith("failed at step 1 by R-MUST-1: the version is not a legal timestamp: "));
  const CaseResult stale = run_on(version(Verb::kSet, "1:0:StateStore"), test_case);
  EXPECT_EQ(stale.message, "the version is not greater than the request's timestamp");
  EXPECT_THAT(stale.expected, StartsWith("__ts greater than 001767225600000:00000:fp-run-"));
  EXPECT_EQ(stale.actual, "__ts = 1:0:StateStore");
  const CaseResult other = run_on(version(Verb::kGet, "1:0:StateStore"), test_case);
  EXPECT_EQ(other.requirement, "R-MUST-2");
  EXPECT_EQ(other.message, "the version is not the one saved as v1");
  EXPECT_THAT(other.expected, StartsWith("__ts equal to 001767225600000:00001:StateStore"));
}

TEST(CaseRunnerWrongReply, ComparesVersionsWithSavedOnesAsNumbers) {
  const Case test_case = case_of({.steps = R"(
- set: {key: k, value: "one"}
  expect: {reply: ok, ts: {save: v1}}
- set: {key: k, value: "two"}
  expect: {reply: ok, ts: {greater_than: [v1]}}
)"});
  int sets = 0;
  const auto versions = [&](std::vector<std::string> texts) {
    sets = 0;
    return wrong_reply(Verb::kSet, [&sets, texts = std::move(texts)](Message& message) {
      fake::set_property(message, codec::kTimestampProperty,
                         texts.at(static_cast<std::size_t>(sets++)));
    });
  };
  EXPECT_EQ(told(versions({"9:0:s", "00010:0:s"}), test_case), "passed");
  EXPECT_EQ(told(versions({"9:9:s", "9:10:s"}), test_case), "passed");
  EXPECT_EQ(told(versions({"10:0:s", "9:0:s"}), test_case),
            "failed at step 2 by R-MUST-1: the version is not greater than the one saved as v1; "
            "expected __ts greater than 000000000000010:00000:s; actual __ts = 9:0:s");
  EXPECT_EQ(run_on(versions({"9:0:s", "009:000:s"}), test_case).verdict, Verdict::kFailed);
}

TEST(CaseRunnerWrongReply, FailsAVersionWhereNoneMayBe) {
  const Case test_case = case_of({.steps = "- get: k\n  expect: {reply: missing, ts: absent}"});
  check_wrong(test_case, {{"a version",
                           wrong_reply(Verb::kGet,
                                       [](Message& message) {
                                         message.user_properties.emplace_back("__ts", "1:0:s");
                                       }),
                           "failed at step 1 by R-MUST-1: the message carries a version and must "
                           "not; expected no user property __ts; actual __ts = 1:0:s"}});
}

TEST(CaseRunnerWrongReply, FailsWrongProperties) {
  const Case test_case = case_of({.steps = R"(
- get: k
  expect: {reply: missing, properties: {__stat: "200"}, payload_format: 0}
)"});
  check_wrong(
      test_case,
      {{"no status",
        wrong_reply(Verb::kGet, [](Message& message) { fake::drop_property(message, "__stat"); }),
        "failed at step 1 by R-MUST-1: the user property __stat is not the expected one; expected "
        "__stat = \"200\"; actual absent"},
       {"another status",
        wrong_reply(Verb::kGet,
                    [](Message& message) { fake::set_property(message, "__stat", "500"); }),
        "failed at step 1 by R-MUST-1: the user property __stat is not the expected one; expected "
        "__stat = \"200\"; actual __stat = \"500\""},
       {"text", wrong_reply(Verb::kGet, [](Message& message) { message.payload_format = 1; }),
        "failed at step 1 by R-MUST-1: the payload format indicator is not the expected one; "
        "expected 0; actual 1"}});
  const Case typed = case_of({.steps = R"(
- get: k
  expect: {reply: missing, content_type: application/octet-stream}
)"});
  EXPECT_EQ(
      told(wrong_reply(Verb::kGet, [](Message& message) { message.content_type = "x\n"; }),
                  typed),
      R"(failed at step 1 by R-MUST-1: the content type is not the expected one; expected application/octet-stream; actual x\n)");
  EXPECT_EQ(
      run_on(wrong_reply(Verb::kGet, [](Message& message) { message.content_type.reset(); }), typed)
          .actual,
      "absent");
}

TEST(CaseRunnerWrongReply, FailsAReplyThatIsNotWellFormedWhenAnyOtherWouldDo) {
  const Case test_case = case_of({.steps = R"(
- get: k
- set: {key: k, value: "v"}
  expect: ok
)"});
  check_wrong(test_case,
              {{"an error", wrong_reply(Verb::kGet, [](Message& m) { m.payload = "-ERR x\r\n"; }),
                "passed"}});
  const CaseResult result =
      run_on(wrong_reply(Verb::kGet, [](Message& message) { message.payload = "?"; }), test_case);
  EXPECT_THAT(told(result),
              StartsWith("failed at step 1 by R-MUST-1: the reply is not well formed: "));
  EXPECT_EQ(result.expected, "a reply of the protocol");
}

TEST(CaseRunnerWrongReply, FailsMisdirectedReplies) {
  const Case test_case = case_of({.steps = kSetAndGet});
  const std::string nobody =
      "failed at step 2 by R-MUST-1: client a received a message that nobody asked for; expected "
      "responses to open requests, and notifications of observed keys; actual a message on the "
      "topic ";
  const std::string own = "clients/fp-run-";
  const auto wrong = [&](std::function<void(Message&)> change) {
    return told(wrong_reply(Verb::kGet, std::move(change)), test_case);
  };
  EXPECT_THAT(
      wrong([](Message& m) { m.correlation_data = "x\xff"; }),
      testing::AllOf(StartsWith(nobody + own), HasSubstr(R"(with correlation data "x\xff" )")));
  EXPECT_THAT(wrong([](Message& m) { m.correlation_data.reset(); }),
              testing::AllOf(StartsWith(nobody + own), HasSubstr("with correlation data absent ")));
  EXPECT_THAT(wrong([](Message& m) { m.correlation_data->pop_back(); }), StartsWith(nobody + own));
  EXPECT_THAT(wrong([](Message& m) { m.topic += "/"; }), StartsWith(nobody + own));
  EXPECT_THAT(wrong([](Message& m) { m.topic = "elsewhere"; }), StartsWith(nobody + "elsewhere "));
  EXPECT_THAT(wrong([](Message& m) {
                m.topic =
                    "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-"
                    "08E2B32A0FE8/response";
              }),
              HasSubstr("which is not this client's"));
}

TEST(CaseRunnerWrongReply, FailsASecondReplyWheneverItComes) {
  for (const auto delay : {0ms, 2999ms, 20'000ms}) {
    const Behaviour twice =
        changed(reference_store(), [delay](const Published& request, Effects& effects) {
          if (verb_of(request) != Verb::kSet || effects.empty()) return;
          Effect again = effects.back();
          again.after = delay;
          effects.push_back(std::move(again));
        });
    const Case test_case = case_of({.steps = R"(
- set: {key: k, value: "v"}
  expect: ok
- wait: 30s
)"});
    const CaseResult result = run_on(twice, test_case);
    EXPECT_EQ(result.message, "client a received a message that nobody asked for");
    EXPECT_EQ(result.verdict, Verdict::kFailed);
    EXPECT_THAT(result.actual, HasSubstr("answers no open request: +OK"));
  }
}

// --- requests that must not be answered --------------------------------------------------------

constexpr const char* kUnanswered = R"(
- set: {key: k, value: "v", qos: 0}
  expect: {reply: none, cites: R-MUST-2}
- get: k
  expect: missing
)";

TEST(CaseRunnerNoReply, FailsAReply) {
  const Behaviour answers = instead_of(Verb::kSet, reference_store(), [](const Published& request) {
    return Effects{reply(request, "+OK\r\n")};
  });
  EXPECT_EQ(
      told(answers, case_of({.steps = kUnanswered})),
      R"(failed at step 1 by R-MUST-2: the reply is not the expected one; expected no reply; actual +OK\r\n)");
}

TEST(CaseRunnerNoReply, FailsAReplyThatComesAfterTheProbeWasAnswered) {
  const Behaviour answers = instead_of(Verb::kSet, reference_store(), [](const Published& request) {
    Effects effects = {reply(request, "+OK\r\n")};
    effects.front().after = 100ms;
    return effects;
  });
  const CaseResult result =
      run_on(answers, case_of({.steps = std::string(kUnanswered) + "- wait: 1s\n"}));
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_EQ(result.message, "client a received a message that nobody asked for");
}

TEST(CaseRunnerNoReply, FailsAStoreThatIsSilentAltogether) {
  EXPECT_EQ(told(Behaviour{}, case_of({.steps = kUnanswered})),
            "failed at step 1 by R-MUST-1: neither this request nor the next one was answered; "
            "expected no reply; actual nothing");
}

TEST(CaseRunnerNoReply, AcceptsARefusedPublish) {
  const Behaviour refuses = instead_of(Verb::kSet, reference_store(), [](const Published& request) {
    return Effects{{PublishRefused{0x87, *request.message.correlation_data}}};
  });
  EXPECT_EQ(told(refuses, case_of({.steps = kUnanswered})), "passed");
}

TEST(CaseRunnerNoReply, LosesAClientThatIsThrownOutInstead) {
  const Behaviour kicks = instead_of(Verb::kSet, reference_store(), [](const Published&) {
    return Effects{{Disconnected{0x82}}};
  });
  EXPECT_EQ(told(kicks, case_of({.steps = kUnanswered})),
            "lost at step 1 by R-MUST-1: the connection of client a ended unexpectedly; actual "
            "DISCONNECT with reason code 0x82");
}

constexpr const char* kDisconnected = R"(
- get: {key: k, response_topic: "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/x"}
  expect: disconnect
- connect: a
- get: k
  expect: missing
)";

TEST(CaseRunnerDisconnection, FailsAStoreThatOnlyStaysSilent) {
  const Behaviour forgives = changed(reference_store(), [](const Published&, Effects& effects) {
    std::erase_if(effects, [](const Effect& effect) {
      return std::holds_alternative<Disconnected>(effect.what);
    });
  });
  EXPECT_EQ(told(reference_store(), case_of({.steps = kDisconnected})), "passed");
  EXPECT_EQ(told(forgives, case_of({.steps = kDisconnected})),
            "failed at step 1 by R-MUST-1: the client stayed connected and got no reply; expected "
            "disconnection by the broker; actual no reply; a later request on the same connection "
            "was answered");
}

TEST(CaseRunnerDisconnection, AcceptsOneWithoutReasonAndOneThatComesLate) {
  for (const Disconnected how : {Disconnected{}, Disconnected{0x82}}) {
    for (const auto delay : {0ms, 1ms}) {
      const Behaviour kicks = [how, delay](const Published& request) -> Effects {
        if (!request.message.response_topic->starts_with(codec::kStorePrefix)) {
          return {reply(request, "$-1\r\n")};
        }
        return {{how, delay}};
      };
      // The probe is answered only by stores that are faster than their broker.
      const Behaviour slow = changed(kicks, [](const Published&, Effects& effects) {
        for (Effect& effect : effects) {
          if (std::holds_alternative<MessageReceived>(effect.what)) effect.after = 10ms;
        }
      });
      EXPECT_EQ(told(slow, case_of({.steps = kDisconnected})), "passed");
    }
  }
}

// --- refusals and losses -----------------------------------------------------------------------

TEST(CaseRunnerLoss, NamesARefusedPublish) {
  const Behaviour refuses = instead_of(Verb::kGet, reference_store(), [](const Published& request) {
    return Effects{{PublishRefused{0x97, *request.message.correlation_data}}};
  });
  EXPECT_EQ(
      told(refuses, case_of({.steps = kSetAndGet})),
      R"(failed at step 2 by R-MUST-1: the broker refused the PUBLISH; expected $3\r\none\r\n; actual PUBACK with reason code 0x97)");
}

TEST(CaseRunnerLoss, LosesTheCaseWhenTheConnectionEnds) {
  const auto kicks = [](Disconnected how) {
    return instead_of(Verb::kGet, reference_store(),
                      [how](const Published&) { return Effects{{how}}; });
  };
  EXPECT_EQ(told(kicks({}), case_of({.steps = kSetAndGet})),
            "lost at step 2 by R-MUST-1: the connection of client a ended unexpectedly; actual "
            "connection closed without a DISCONNECT packet");
  EXPECT_EQ(run_on(kicks({0x8b}), case_of({.steps = kSetAndGet})).actual,
            "DISCONNECT with reason code 0x8b");
}

TEST(CaseRunnerLoss, LosesTheCaseWhenAnObserverIsThrownOutWhileItWaits) {
  const std::string steps = R"(
- keynotify: {client: b, key: k}
  expect: ok
- set: {key: k, value: "v"}
  expect: ok
)";
  const Behaviour kicks = instead_of(Verb::kSet, reference_store(), [](const Published& request) {
    std::string observer = request.client_id;
    observer.back() = 'b';
    return Effects{{Disconnected{}, 0ms, observer}, reply(request, "+OK\r\n")};
  });
  for (const std::string last :
       {"- notification: {client: b, key: k, operation: set, value: \"v\"}\n", "- silence: b\n"}) {
    const Case test_case = case_of({.more = "clients: {a: {}, b: {}}", .steps = steps + last});
    EXPECT_THAT(told(kicks, test_case), StartsWith("lost at step 3 by R-MUST-1: "));
  }
}

// A client that nobody listens to any more is thrown out all the same.
TEST(CaseRunnerLoss, LosesTheCaseWhenAnIdleClientIsThrownOut) {
  const Behaviour kicks = instead_of(Verb::kSet, reference_store(), [](const Published& request) {
    return Effects{reply(request, "+OK\r\n"), {Disconnected{0x82}, 1ms}};
  });
  const CaseResult result =
      run_on(kicks, case_of({.steps = "- set: {key: k, value: \"v\"}\n  expect: ok\n- wait: 1s"}));
  EXPECT_EQ(result.verdict, Verdict::kLost);
  EXPECT_EQ(result.message, "the connection of client a ended unexpectedly");
}

TEST(CaseRunnerLoss, LetsACaseTakeOverAnOldSession) {
  const Case test_case = case_of({.more = "clients: {a: {}, b: {same_id_as: a}}", .steps = R"(
- get: {client: a, key: k}
  expect: missing
- get: {client: b, key: k}
  expect: missing
)"});
  EXPECT_EQ(told(*reference_endpoint(), test_case), "passed");
  EXPECT_EQ(told(reference_store(), test_case), "passed");
}

TEST(CaseRunnerLoss, TellsAnEndpointThatIsGoneFromAHarnessThatFails) {
  using endpoint::ErrorKind;
  struct Row {
    ErrorKind kind;
    Verdict verdict;
  };
  const Row kTable[] = {{ErrorKind::kUnreachable, Verdict::kLost},
                        {ErrorKind::kLost, Verdict::kLost},
                        {ErrorKind::kTimeout, Verdict::kLost},
                        {ErrorKind::kNotAllowed, Verdict::kLost},
                        {ErrorKind::kInvalid, Verdict::kInconclusive},
                        {ErrorKind::kInternal, Verdict::kInconclusive}};
  for (const Row& row : kTable) {
    const endpoint::Error error{row.kind, "why"};
    FakeEndpoint unconnected(
        {.behaviour = reference_store(), .on_connect = [&](const auto&) { return error; }});
    FakeEndpoint unsubscribed(
        {.behaviour = reference_store(), .on_subscribe = [&](const auto&) { return error; }});
    for (FakeEndpoint* endpoint : {&unconnected, &unsubscribed}) {
      const CaseResult result = run_on(*endpoint, case_of({.steps = kSetAndGet}));
      EXPECT_EQ(result.verdict, row.verdict);
      EXPECT_EQ(result.message, "why");
      EXPECT_EQ(result.step, 1U);
    }
  }
}

// --- evidence in time --------------------------------------------------------------------------

TEST(CaseRunnerWindow, DecidesNothingWithAReplyThatComesTooLate) {
  const Case test_case = case_of({.steps = R"(
- set: {key: k, value: "v", mark: t1}
  expect: ok
- get: k
  expect: {reply: {value: "v"}, before: t1 + 900ms}
)"});
  const std::string late =
      "inconclusive at step 2 by R-MUST-1: the reply came 950 ms after t1, when it no longer "
      "proves anything; the machine or the network is too slow";
  check_wrong(test_case, {{"right but late", later(Verb::kGet, 950ms), late},
                          {"in the window", later(Verb::kGet, 800ms), "passed"}});
  const Behaviour wrong_and_late =
      changed(later(Verb::kGet, 950ms), [](const Published& request, Effects& effects) {
        if (verb_of(request) != Verb::kGet) return;
        std::get<MessageReceived>(effects.front().what).message.payload = "$-1\r\n";
      });
  EXPECT_EQ(told(wrong_and_late, test_case), late);
}

TEST(CaseRunnerWindow, CountsFromTheReplyWhenTheCaseSaysSo) {
  const auto test_case = [](const std::string& before) {
    return case_of({.steps = R"(
- set: {key: k, value: "v", mark: t1}
  expect: ok
- get: k
  expect: {reply: {value: "v"}, before: )" +
                             before + "}\n"});
  };
  // The SET is answered after 500 ms, and the GET 500 ms later.
  const Behaviour slow = changed(reference_store(), [](const Published&, Effects& effects) {
    for (Effect& effect : effects) effect.after = 500ms;
  });
  EXPECT_EQ(run_on(slow, test_case("t1 + 900ms")).verdict, Verdict::kInconclusive);
  EXPECT_EQ(told(slow, test_case("t1.reply + 900ms")), "passed");
}

TEST(CaseRunnerWindow, FailsWithoutAReplyAtAll) {
  const Case test_case = case_of({.steps = R"(
- set: {key: k, value: "v", mark: t1}
  expect: ok
- get: k
  expect: {reply: {value: "v"}, before: t1 + 900ms}
)"});
  const Behaviour silent =
      instead_of(Verb::kGet, reference_store(), [](const Published&) { return Effects{}; });
  EXPECT_THAT(told(silent, test_case),
              StartsWith("failed at step 2 by R-MUST-1: no response"));
}

TEST(CaseRunnerWindow, ScalesItsTimeLimits) {
  RunSettings slow = settings();
  slow.timeout_scale = 2.0;
  const Case test_case = case_of({.steps = kSetAndGet});
  EXPECT_EQ(told(later(Verb::kGet, 5000ms), test_case, slow), "passed");
  EXPECT_THAT(told(later(Verb::kGet, 6001ms), test_case, slow),
              HasSubstr("nothing within 6000 ms"));
}

TEST(CaseRunnerWindow, WaitsOnTheClockOfTheSession) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const Case test_case = case_of({.steps = R"(
- set: {key: k, value: "v", mark: t1}
  expect: ok
- wait: {until: t1 + 2s}
- get: k
- wait: 300ms
- get: k
)"});
  EXPECT_EQ(told(endpoint, test_case), "passed");
  const auto published = endpoint.published();
  ASSERT_GE(published.size(), 3U);
  EXPECT_EQ((published[1].now - published[0].now) / 1ms, 2000);
  EXPECT_EQ((published[2].now - published[1].now) / 1ms, 300);
}

// --- notifications -----------------------------------------------------------------------------

Case observed(const std::string& last,
              const std::string& notified = R"(value: "v", ts: present, qos: 1)") {
  return case_of({.more = "clients: {a: {}, b: {}}",
                  .steps = R"(
- keynotify: {client: b, key: k}
  expect: ok
- set: {key: k, value: "v"}
  expect: ok
- notification: {client: b, key: k, operation: set, cites: R-MUST-2, )" +
                           notified + "}\n" + last});
}

Behaviour wrong_notification(std::function<void(Message&)> change) {
  return on_notification(reference_store(),
                         [change = std::move(change)](const Published&, Message& message) {
                           // That of the fence, which is in nobody's interest, stays right.
                           if (message.payload.find("fence") == std::string::npos) change(message);
                         });
}

TEST(CaseRunnerNotification, FailsTheStepThatWaitsForAWrongOne) {
  const std::string expected =
      R"(expected *4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nv\r\n for key "@k"; )";
  const std::string failed = "failed at step 3 by R-MUST-2: ";
  const std::string other = failed + "the notification is not the expected one; " + expected;
  const auto payload = [](std::string bytes) {
    return wrong_notification([bytes = std::move(bytes)](Message& m) { m.payload = bytes; });
  };
  check_wrong(
      observed(""),
      {{"none",
        changed(reference_store(),
                [](const Published& request, Effects& effects) {
                  if (verb_of(request) == Verb::kSet) effects.erase(effects.begin());
                }),
        failed + "no notification; " + expected + "actual nothing within 5000 ms"},
       {"another value", payload("*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nw\r\n"),
        other +
            R"(actual *4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nw\r\n for key "@k")"},
       {"a deletion", payload("*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n"),
        other + R"(actual *2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n for key "@k")"},
       {"no notification at all", payload("+OK\r\n"), other + R"(actual +OK\r\n for key "@k")"},
       {"no version", wrong_notification([](Message& m) { m.user_properties.clear(); }),
        failed + "the message carries no version; expected a user property __ts; actual none"},
       {"another QoS", wrong_notification([](Message& m) { m.qos = 0; }),
        failed + "the notification has another QoS; expected QoS 1; actual QoS 0"},
       {"retained", wrong_notification([](Message& m) { m.retain = true; }),
        failed + "the notification is a retained message; expected retain 0; actual retain 1"}});
}

TEST(CaseRunnerNotification, FailsAWrongTopic) {
  const std::string nobody =
      "failed at step 3 by R-MUST-1: client b received a message that nobody asked for";
  const auto topic = [](std::function<void(std::string&)> change) {
    return told(wrong_notification([&](Message& m) { change(m.topic); }), observed(""));
  };
  EXPECT_THAT(topic([](std::string& t) { t.back() = 'b'; }), StartsWith(nobody));  // lower case
  EXPECT_THAT(topic([](std::string& t) { t += "/x"; }), StartsWith(nobody));
  EXPECT_THAT(topic([](std::string& t) { t.replace(t.find("/command"), 0, "00"); }),
              StartsWith(nobody));
  EXPECT_THAT(topic([](std::string& t) { t += "00"; }),
              testing::AllOf(StartsWith("failed at step 3 by R-MUST-2: the notification is not the "
                                        "expected one"),
                             HasSubstr(R"( for key "@k\x00")")));
}

TEST(CaseRunnerNotification, ComparesItsContentTypeAndVersion) {
  const Case typed = observed("", R"(value: "v", content_type: text/plain)");
  EXPECT_EQ(
      run_on(wrong_notification([](Message& m) { m.content_type = "text/html"; }), typed).actual,
      "text/html");
  EXPECT_EQ(
      told(wrong_notification([](Message& m) { m.content_type = "text/plain"; }), typed),
      "passed");
}

TEST(CaseRunnerNotification, WaitsAsLongAsTheStepSays) {
  const auto delayed = [](endpoint::Duration delay) {
    return changed(reference_store(), [delay](const Published& request, Effects& effects) {
      if (verb_of(request) == Verb::kSet) effects.front().after = delay;
    });
  };
  const Case test_case = observed("", R"(value: "v", within: 200ms)");
  EXPECT_EQ(told(delayed(200ms), test_case), "passed");
  EXPECT_THAT(told(delayed(201ms), test_case), HasSubstr("actual nothing within 200 ms"));
}

TEST(CaseRunnerNotification, JudgesTheFormOfADeletionByTheProfile) {
  const Case test_case = case_of({.more = "divergence: [delete-operation]", .steps = R"(
- keynotify: k
  expect: ok
- set: {key: k, value: "v"}
  expect: ok
- notification: {key: k, operation: set}
- del: k
  expect: {reply: {count: 1}}
- notification: {key: k, operation: delete}
)"});
  for (const DialectId spoken : codec::kDialects) {
    const CaseResult result = run_on(reference_store({.dialect = spoken}), test_case);
    EXPECT_EQ(told(result), "passed");
    EXPECT_THAT(result.forms, ElementsAre(Pair(codec::Divergence::kDeleteOperation, spoken)));
    const bool documented = spoken == DialectId::kDocumented;
    const Profile other = documented ? Profile::kDeployed : Profile::kDocumented;
    const CaseResult wrong =
        run_on(reference_store({.dialect = spoken}), test_case, settings(other));
    EXPECT_EQ(wrong.step, 5U);
    EXPECT_THAT(wrong.actual, HasSubstr(documented ? R"($3\r\nDEL\r\n)" : R"($6\r\nDELETE\r\n)"));
    EXPECT_THAT(wrong.expected, testing::Not(HasSubstr("  or  ")));
  }
}

// Adds a notification of `key` for client b around what the store does about requests of `verb`.
Behaviour spurious(Verb verb, const std::string& key, bool before, endpoint::Duration after = 0ms) {
  return changed(reference_store(), [=](const Published& request, Effects& effects) {
    if (verb_of(request) != verb) return;
    std::string observer = request.client_id;
    observer.replace(observer.rfind('-'), std::string::npos, "-b");
    const auto frame = codec::decode_command(request.message.payload);
    std::string full(frame->arguments[1]);
    full.replace(full.rfind('/') + 1, std::string::npos, key);
    Effect extra = fake::set_notification(observer, full, "x");
    extra.after = after;
    effects.insert(before ? effects.begin() : effects.end(), std::move(extra));
  });
}

TEST(CaseRunnerSilence, FailsWhenANotificationPrecedesTheFence) {
  const std::string failed =
      "failed at step 4 by R-MUST-2: a notification that must not be sent; expected no "
      "notification; "
      R"(actual *4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nx\r\n for key "@)";
  const Case test_case =
      observed("- silence: {client: b, writer: a, cites: R-MUST-2}\n", R"(value: "v")");
  // The SET of the fence is what the store is wrong about, then the reply to its KEYNOTIFY.
  const auto at_fence = [](Behaviour wrong) {
    return [wrong = std::move(wrong), right = reference_store()](const Published& request) {
      const bool fence = request.message.payload.find("fence") != std::string::npos;
      Effects effects = right(request);
      if (!fence) return effects;
      Effects extra = wrong(request);
      return extra;
    };
  };
  static_cast<void>(at_fence);
  check_wrong(test_case,
              {{"a duplicate",
                changed(reference_store(),
                        [](const Published& request, Effects& effects) {
                          if (verb_of(request) != Verb::kSet || effects.empty()) return;
                          if (request.message.payload.find("fence") != std::string::npos) return;
                          effects.push_back(effects.front());
                          std::get<MessageReceived>(effects.back().what).message.payload =
                              "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nx\r\n";
                        }),
                failed + "k\""}});
  EXPECT_EQ(told(spurious(Verb::kSet, "other", true), observed("", R"(value: "v")"))
                .substr(0, 30),
            "failed at step 3 by R-MUST-2: ");
}

TEST(CaseRunnerSilence, FailsWithoutTheFencesOwnNotification) {
  const Case test_case = case_of({.more = "clients: {a: {}, b: {}}", .steps = R"(
- get: k
  expect: missing
- silence: {client: b, writer: a, cites: R-MUST-2}
)"});
  const Behaviour deaf = changed(reference_store(), [](const Published& request, Effects& effects) {
    if (verb_of(request) == Verb::kSet) effects.erase(effects.begin());
  });
  check_wrong(
      test_case,
      {{"no notifications", deaf,
        "failed at step 2 by R-MUST-2: the fence notification did not arrive; expected a "
        "notification for the fence key and nothing before it; actual nothing"},
       {"before the fence", spurious(Verb::kSet, "k", true),
        "failed at step 2 by R-MUST-2: a notification that must not be sent; expected no "
        R"(notification; actual *4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nx\r\n for key "@k")"},
       {"on KEYNOTIFY", spurious(Verb::kKeynotify, "k", false),
        "failed at step 2 by R-MUST-2: a notification that must not be sent; expected no "
        R"(notification; actual *4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nx\r\n for key "@k")"},
       {"after the fence", spurious(Verb::kSet, "k", false),
        "failed at step 2 by R-MUST-1: client b received a notification that the case does not "
        R"(expect; expected no further notification; actual *4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nx\r\n for key "@k")"}});
}

TEST(CaseRunnerLeftover, FailsANotificationThatNoStepTakes) {
  const std::string leftover =
      "client b received a notification that the case does not expect; expected no further "
      R"(notification; actual *4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nx\r\n for key "@k")";
  const std::string steps = R"(
- keynotify: {client: b, key: k}
  expect: ok
)";
  const std::string last[] = {"", "- wait: 1s\n"};
  for (const std::string& end : last) {
    const Case test_case = case_of({.more = "clients: {a: {}, b: {}}", .steps = steps + end});
    const CaseResult result =
        run_on(spurious(Verb::kKeynotify, "k", false, end.empty() ? 0ms : 500ms), test_case);
    EXPECT_THAT(told(result), testing::EndsWith(" by R-MUST-1: " + leftover));
  }
}

TEST(CaseRunnerLeftover, FailsANotificationThatADisconnectingClientHasNotTaken) {
  for (const std::string how : {"disconnect", "drop", "connect"}) {
    const Case test_case = case_of({.more = "clients: {a: {}, b: {}}", .steps = R"(
- keynotify: {client: b, key: k}
  expect: ok
- )" + how + ": b\n"});
    const CaseResult result = run_on(spurious(Verb::kKeynotify, "k", false), test_case);
    EXPECT_EQ(result.verdict, Verdict::kFailed) << how;
    EXPECT_EQ(result.message, "client b received a notification that the case does not expect")
        << how;
    EXPECT_EQ(result.step, 2U) << how;
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
    const Behaviour reordered = changed(reference_store(), [&](const Published&, Effects& effects) {
      for (Effect& effect : effects) effect.after = std::chrono::milliseconds(delays[at % 3]);
      ++at;
    });
    FakeEndpoint endpoint({.behaviour = reordered});
    EXPECT_EQ(told(endpoint, case_of({.steps = kPipeline})), "passed");
    const auto published = endpoint.published();  // nothing is waited for in between
    EXPECT_EQ(published[2].now - published[0].now, 2 * fake::kTimeOfOneRequest);
  }
}

TEST(CaseRunnerPipeline, FailsRepliesWithEachOthersCorrelationData) {
  std::string first;
  const Behaviour swapped =
      on_reply(reference_store(), [&](const Published& request, Message& message) {
        if (verb_of(request) == Verb::kSet) first = *message.correlation_data;
        if (verb_of(request) == Verb::kGet) message.correlation_data = first;
      });
  EXPECT_THAT(told(swapped, case_of({.steps = kPipeline})),
              StartsWith("failed at step 1 by R-MUST-1: client a received a message that nobody "
                         "asked for"));
  const Behaviour wrong =
      on_reply(reference_store(), [](const Published& request, Message& message) {
        if (request.message.payload.find("other") != std::string::npos) message.payload = "+OK\r\n";
      });
  EXPECT_EQ(
      told(wrong, case_of({.steps = kPipeline})),
      R"(failed at step 1 by R-MUST-2: the reply is not the expected one; expected $-1\r\n (no such key); actual +OK\r\n)");
}

TEST(CaseRunnerPipeline, KeepsClientsApartThatUseTheSameCorrelationData) {
  const Case test_case = case_of({.more = "clients: {a: {}, b: {}}", .steps = R"(
- pipeline:
  - set: {client: a, key: k, value: "v", correlation: "same"}
    expect: ok
  - get: {client: b, key: other, correlation: "same"}
    expect: missing
)"});
  FakeEndpoint endpoint({.behaviour = reference_store()});
  EXPECT_EQ(told(endpoint, test_case), "passed");
  EXPECT_EQ(endpoint.published()[0].message.correlation_data, "same");
  EXPECT_EQ(endpoint.published()[1].message.correlation_data, "same");
  const Behaviour crossed =
      changed(reference_store(), [](const Published& request, Effects& effects) {
        const char other = request.client_id.back() == 'a' ? 'b' : 'a';
        for (Effect& effect : effects)
          effect.to = request.client_id.substr(0, request.client_id.size() - 1) + other;
      });
  EXPECT_THAT(told(crossed, test_case), HasSubstr("failed at step 1 by R-MUST-1: "));
}

TEST(CaseRunnerToken, SendsASavedTimestampBackUnmodified) {
  const Case test_case = case_of({.steps = R"(
- set: {key: k, value: "one"}
  expect: {reply: ok, ts: {save: v1}}
- set: {key: k, value: "two", ft: v1, ts: v1 counter + 1}
  expect: ok
)"});
  FakeEndpoint endpoint({.behaviour = wrong_reply(Verb::kSet, [](Message& message) {
                           fake::set_property(message, "__ts", "01767225600000:7:Node");
                         })});
  EXPECT_EQ(told(endpoint, test_case), "passed");
  const Message second = endpoint.published().at(1).message;
  EXPECT_EQ(*second.property("__ft"), "01767225600000:7:Node");
  EXPECT_EQ(*second.property("__ts"), "001767225600000:00008:Node");
}

TEST(CaseRunnerToken, EstimatesTheClockOfTheStore) {
  RunSettings behind = settings();
  behind.clock_offset_ms = -1500;
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const Case test_case = case_of({.steps = "- set: {key: k, value: \"one\"}\n  expect: ok\n"});
  EXPECT_EQ(told(endpoint, test_case, behind), "passed");
  const auto sent = hlc::parse(*endpoint.published().at(0).message.property("__ts"));
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->wall_ms, fake::kEpochMs - 1500);
}

// --- what a case leaves behind -----------------------------------------------------------------

Case leaves(const std::string& last = "", const std::string& token = "now") {
  return case_of({.more = "clients: {a: {}, b: {}}", .steps = R"(
- set: {key: plain, value: "v"}
  expect: ok
- set: {key: fenced, value: "v", ft: )" + token + R"(}
  expect: ok
- send: {command: ["SET", {key: sent}, "v"], ts: now, writes: [sent]}
  expect: ok
- silence: b
)" + last});
}

TEST(CaseRunnerCleanUp, RemovesEveryKeyWhateverTheVerdict) {
  const std::string failing = "- get: plain\n  expect: missing\n";
  for (const std::string& last : {std::string(), failing}) {
    const auto keys = std::make_shared<std::size_t>(99);
    const CaseResult result = run_on(reference_store({}, keys), leaves(last));
    EXPECT_EQ(result.verdict, last.empty() ? Verdict::kPassed : Verdict::kFailed);
    EXPECT_EQ(*keys, 0U);
  }
}

TEST(CaseRunnerCleanUp, RemovesAKeyWhoseTokenIsAsNewAsIsLegal) {
  const auto keys = std::make_shared<std::size_t>(99);
  EXPECT_EQ(told(reference_store({}, keys), leaves("", "now + 60s")), "passed");
  EXPECT_EQ(*keys, 0U);
}

TEST(CaseRunnerCleanUp, NeverChangesTheVerdict) {
  const auto cleaner = [](const Published& request) {
    return request.client_id.ends_with("cleaner");
  };
  const Behaviour silent =
      changed(reference_store(), [=](const Published& request, Effects& effects) {
        if (cleaner(request)) effects.clear();
      });
  const Behaviour kicks =
      changed(reference_store(), [=](const Published& request, Effects& effects) {
        if (cleaner(request)) effects = {{Disconnected{0x82}}};
      });
  const Behaviour refuses =
      changed(reference_store(), [=](const Published& request, Effects& effects) {
        if (cleaner(request)) effects = {reply(request, "-ERR not authorized\r\n")};
      });
  for (const Behaviour& behaviour : {silent, kicks, refuses}) {
    const CaseResult result = run_on(behaviour, leaves());
    EXPECT_EQ(told(result), "passed");
    for (const TranscriptEntry& entry : result.transcript) EXPECT_NE(entry.client, "cleaner");
  }
  FakeEndpoint closed({.behaviour = reference_store(), .on_connect = [](const auto& options) {
                         return options.client_id.ends_with("cleaner")
                                    ? std::optional(
                                          endpoint::Error{endpoint::ErrorKind::kLost, "no"})
                                    : std::nullopt;
                       }});
  EXPECT_EQ(told(closed, leaves()), "passed");
}

TEST(CaseRunnerIsolation, UsesKeysAndClientIdsOfItsOwn) {
  std::set<std::string> ids;
  std::set<std::string> payloads;
  for (const std::string run_id : {"run", "other"}) {
    for (const std::string case_id : {"t.one", "t.two"}) {
      FakeEndpoint endpoint({.behaviour = reference_store()});
      RunSettings given = settings();
      given.run_id = run_id;
      const Case test_case = case_of({.id = case_id, .steps = "- get: k\n  expect: missing\n"});
      EXPECT_EQ(told(endpoint, test_case, given), "passed");
      ids.insert(endpoint.connected().at(0).client_id);
      payloads.insert(endpoint.published().at(0).message.payload);
      EXPECT_THAT(endpoint.connected().at(0).client_id, HasSubstr(run_id));
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
    EXPECT_EQ(told(endpoint, case_of({.steps = "- get: k\n  expect: missing\n"}), given),
              "passed");
    return *endpoint.published().at(0).message.correlation_data;
  };
  EXPECT_THAT(correlation(1), SizeIs(16));
  EXPECT_EQ(correlation(1), correlation(1));
  EXPECT_NE(correlation(1), correlation(2));
}

TEST(CaseRunnerIsolation, ConnectsClientsAsTheCaseDescribesThem) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const Case test_case = case_of({.more = R"(clients:
  a: {role: restricted, clean_start: false, session_expiry: 60}
  b: {subscribes: false}
  c: {observes: true})",
                                  .steps = R"(
- get: {client: a, key: k}
  expect: missing
- drop: b
- get: {client: c, key: k}
  expect: missing
)"});
  EXPECT_EQ(told(endpoint, test_case), "passed");
  const auto connected = endpoint.connected();
  ASSERT_THAT(connected, SizeIs(3));
  EXPECT_EQ(connected[0].role, "restricted");
  EXPECT_FALSE(connected[0].clean_start);
  EXPECT_EQ(connected[0].session_expiry_seconds, 60U);
  EXPECT_FALSE(connected[0].droppable);
  EXPECT_TRUE(connected[1].droppable);
  EXPECT_TRUE(connected[2].clean_start);
  const auto id = [&](std::size_t i) { return connected[i].client_id; };
  EXPECT_THAT(endpoint.filters(), ElementsAre(codec::recommended_response_topic(id(0)),
                                              codec::recommended_response_topic(id(2)),
                                              codec::notification_filter(id(2))));
}

// --- open points and quotas --------------------------------------------------------------------

TEST(CaseRunnerOpenPoint, RecordsWhichOutcomeItSaw) {
  const Case test_case = case_of({.steps = R"(
- get: k
  expect: missing
- set: {key: k, value: "v", qos: 0}
  expect: {reply: {open: {ignored: none, refused: error, kicked: disconnect, done: ok}}, cites: R-MUST-2}
)"});
  const auto seen = [&](std::function<Effects(const Published&)> does) {
    const CaseResult result =
        run_on(instead_of(Verb::kSet, reference_store(), std::move(does)), test_case);
    return result.open_points.size() == 1 && result.open_points[0].first == "R-MUST-2"
               ? result.open_points[0].second
               : told(result);
  };
  EXPECT_EQ(seen([](const auto&) { return Effects{}; }), "ignored");
  EXPECT_EQ(seen([](const auto& request) { return Effects{reply(request, "-ERR x\r\n")}; }),
            "refused");
  EXPECT_EQ(seen([](const auto&) { return Effects{{Disconnected{}}}; }), "kicked");
  EXPECT_EQ(seen([](const auto& request) { return Effects{reply(request, "+OK\r\n")}; }), "done");
  EXPECT_THAT(seen([](const auto& request) { return Effects{reply(request, ":1\r\n")}; }),
              StartsWith("failed at step 2 by R-MUST-2: the reply is not the expected one"));
}

TEST(CaseRunnerQuota, FailsAStoreThatTakesMoreThanItHolds) {
  RunSettings given = settings();
  given.quota = 70;  // more than is in flight at once
  const Case test_case = case_of({.steps = "- fill_quota: {key: q, cites: R-MUST-2}\n"});
  const auto keys = std::make_shared<std::size_t>(99);
  EXPECT_EQ(told(reference_store({.store = {.quota = 70}}, keys), test_case, given),
            "passed");
  EXPECT_EQ(*keys, 0U);
  EXPECT_EQ(
      told(reference_store({}, keys), test_case, given),
      "failed at step 1 by R-MUST-2: 71 new keys were stored, more than the quota allows; expected "
      R"(-ERR the quota has been exceeded\r\n; actual +OK\r\n each time)");
  EXPECT_EQ(*keys, 0U);
  const CaseResult other = run_on(fake::always("-ERR syntax error\r\n"), test_case, given);
  EXPECT_EQ(other.requirement, "R-MUST-2");
  EXPECT_EQ(other.actual, R"(-ERR syntax error\r\n)");
}

// --- one client --------------------------------------------------------------------------------

TEST(CaseClientEvents, MarksEachOfTwoRefusedRequestsWithTheSameCorrelationData) {
  FakeEndpoint endpoint({.behaviour = [](const Published&) {
    return Effects{{PublishRefused{0x87, "c"}}};
  }});
  auto session = endpoint.open_session();
  auto connected = (*session)->connect({.client_id = "id"});
  std::vector<TranscriptEntry> transcript;
  CaseClient client("a", std::move(*connected), "id", (*session)->clock(), endpoint::Duration{0},
                    transcript);
  Message message;
  message.correlation_data = "c";
  ASSERT_TRUE(client.send(message));
  ASSERT_TRUE(client.send(message));
  client.drain();
  for (const Pending& pending : client.requests()) EXPECT_EQ(pending.refused, 0x87);
}

TEST(CaseClientEvents, StopsWaitingWhenItsTimeIsOverOrItsConnectionIs) {
  FakeEndpoint endpoint({.behaviour = [](const Published&) {
    return Effects{{Disconnected{}, 500ms}};
  }});
  auto session = endpoint.open_session();
  endpoint::Clock& clock = (*session)->clock();
  auto connected = (*session)->connect({.client_id = "id"});
  std::vector<TranscriptEntry> transcript;
  CaseClient client("a", std::move(*connected), "id", clock, endpoint::Duration{0}, transcript);
  EXPECT_FALSE(client.pump_until([] { return false; }, 100ms));
  EXPECT_EQ(clock.now(), 100ms);
  EXPECT_TRUE(client.pump_until([] { return true; }, 0ms));
  ASSERT_TRUE(client.send({}));
  EXPECT_FALSE(client.pump_until([] { return false; }, 10s));
  EXPECT_EQ(clock.now(), 600ms + fake::kTimeOfOneRequest);
  ASSERT_TRUE(client.disconnected());
  EXPECT_FALSE(client.send({}));
  EXPECT_THAT(client.requests(), SizeIs(1));
}

}  // namespace
}  // namespace fencepost::conformance
