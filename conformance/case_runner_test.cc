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
  out += fmt::format(" at step {} by {}: {}", result.step, result.requirement, result.message);
  if (!result.expected.empty()) out += "; expected " + result.expected;
  if (!result.actual.empty()) out += "; actual " + result.actual;
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
      EXPECT_EQ(told(run_on(*endpoint, test_case, given)), "passed");
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
  EXPECT_EQ(told(run_on(reference_store(), test_case, given)), "passed");
  for (const Wrong& wrong : table) {
    SCOPED_TRACE(wrong.name);
    EXPECT_EQ(told(run_on(wrong.behaviour, test_case, given)), wrong.verdict);
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
  EXPECT_EQ(told(run_on(wrong_reply(Verb::kGet,
                                    [](Message& message) {
                                      fake::drop_property(message, codec::kTimestampProperty);
                                    }),
                        test_case)),
            "failed at step 2 by R-MUST-2: the message carries no version; expected a user "
            "property __ts; actual none");
  EXPECT_THAT(told(run_on(version(Verb::kSet, "nonsense"), test_case)),
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
  EXPECT_EQ(told(run_on(versions({"9:0:s", "00010:0:s"}), test_case)), "passed");
  EXPECT_EQ(told(run_on(versions({"9:9:s", "9:10:s"}), test_case)), "passed");
  EXPECT_EQ(told(run_on(versions({"10:0:s", "9:0:s"}), test_case)),
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
      told(run_on(wrong_reply(Verb::kGet, [](Message& message) { message.content_type = "x\n"; }),
                  typed)),
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
    return told(run_on(wrong_reply(Verb::kGet, std::move(change)), test_case));
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
      told(run_on(answers, case_of({.steps = kUnanswered}))),
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
  EXPECT_EQ(told(run_on(Behaviour{}, case_of({.steps = kUnanswered}))),
            "failed at step 1 by R-MUST-1: neither this request nor the next one was answered; "
            "expected no reply; actual nothing");
}

TEST(CaseRunnerNoReply, AcceptsARefusedPublish) {
  const Behaviour refuses = instead_of(Verb::kSet, reference_store(), [](const Published& request) {
    return Effects{{PublishRefused{0x87, *request.message.correlation_data}}};
  });
  EXPECT_EQ(told(run_on(refuses, case_of({.steps = kUnanswered}))), "passed");
}

TEST(CaseRunnerNoReply, LosesAClientThatIsThrownOutInstead) {
  const Behaviour kicks = instead_of(Verb::kSet, reference_store(), [](const Published&) {
    return Effects{{Disconnected{0x82}}};
  });
  EXPECT_EQ(told(run_on(kicks, case_of({.steps = kUnanswered}))),
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
  EXPECT_EQ(told(run_on(reference_store(), case_of({.steps = kDisconnected}))), "passed");
  EXPECT_EQ(told(run_on(forgives, case_of({.steps = kDisconnected}))),
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
      EXPECT_EQ(told(run_on(slow, case_of({.steps = kDisconnected}))), "passed");
    }
  }
}

// --- refusals and losses -----------------------------------------------------------------------

TEST(CaseRunnerLoss, NamesARefusedPublish) {
  const Behaviour refuses = instead_of(Verb::kGet, reference_store(), [](const Published& request) {
    return Effects{{PublishRefused{0x97, *request.message.correlation_data}}};
  });
  EXPECT_EQ(
      told(run_on(refuses, case_of({.steps = kSetAndGet}))),
      R"(failed at step 2 by R-MUST-1: the broker refused the PUBLISH; expected $3\r\none\r\n; actual PUBACK with reason code 0x97)");
}

TEST(CaseRunnerLoss, LosesTheCaseWhenTheConnectionEnds) {
  const auto kicks = [](Disconnected how) {
    return instead_of(Verb::kGet, reference_store(),
                      [how](const Published&) { return Effects{{how}}; });
  };
  EXPECT_EQ(told(run_on(kicks({}), case_of({.steps = kSetAndGet}))),
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
    EXPECT_THAT(told(run_on(kicks, test_case)), StartsWith("lost at step 3 by R-MUST-1: "));
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
  EXPECT_EQ(told(run_on(*reference_endpoint(), test_case)), "passed");
  EXPECT_EQ(told(run_on(reference_store(), test_case)), "passed");
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
  EXPECT_EQ(told(run_on(wrong_and_late, test_case)), late);
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
  EXPECT_EQ(told(run_on(slow, test_case("t1.reply + 900ms"))), "passed");
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
  EXPECT_THAT(told(run_on(silent, test_case)),
              StartsWith("failed at step 2 by R-MUST-1: no response"));
}

TEST(CaseRunnerWindow, ScalesItsTimeLimits) {
  RunSettings slow = settings();
  slow.timeout_scale = 2.0;
  const Case test_case = case_of({.steps = kSetAndGet});
  EXPECT_EQ(told(run_on(later(Verb::kGet, 5000ms), test_case, slow)), "passed");
  EXPECT_THAT(told(run_on(later(Verb::kGet, 6001ms), test_case, slow)),
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
  EXPECT_EQ(told(run_on(endpoint, test_case)), "passed");
  const auto published = endpoint.published();
  ASSERT_GE(published.size(), 3U);
  EXPECT_EQ((published[1].now - published[0].now) / 1ms, 2000);
  EXPECT_EQ((published[2].now - published[1].now) / 1ms, 300);
}

}  // namespace
}  // namespace fencepost::conformance
