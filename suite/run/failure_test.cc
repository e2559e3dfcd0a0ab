
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/judge/judge.h"
#include "suite/run/message_checks.h"
#include "suite/run/no_response.h"
#include "suite/scenario/yaml_reader.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using codec::Verb;
using testing::HasSubstr;
using testing::Not;

const text::RunNames kRun{"fencepost", "3ec1d66b"};

Failure seen(const std::string& subject, text::Phrase message, text::Phrase expected,
             text::Phrase actual, judge::Mismatch kind = judge::Mismatch::kReply) {
  return failure_of({.message = std::move(message),
                     .expected = std::move(expected),
                     .actual = std::move(actual),
                     .attribution = {.requirement = "R-MUST-1"},
                     .subject = subject,
                     .kind = kind},
                    kRun);
}

// A reply to a GET or SET, as the judge describes it.
text::Phrase reply(const std::string& payload) {
  return judge::describe(judge::ReceivedReply(codec::Message{.payload = payload}));
}

constexpr const char* kReply = "the reply is not the expected one";

TEST(Signature, SaysTheRequirementTheMismatchAndBothSides) {
  EXPECT_EQ(
      signature(seen("SET", kReply, reply(":-1\r\n"), reply("+OK\r\n"))),
      R"(R-MUST-1: the reply is not the expected one | want :-1\r\n (not applied) | got +OK\r\n)");
  EXPECT_EQ(signature(seen("SET", "no response", {}, {})), "R-MUST-1: no response");
  EXPECT_EQ(signature(Failure{}), "");
}

TEST(Signature, TellsEachKindOfDifference) {
  const Failure one = seen("GET", "m", "e", "a");
  Failure requirement = one;
  requirement.requirement = "R-MUST-2";
  for (const Failure& other : {requirement, seen("GET", "n", "e", "a"), seen("GET", "m", "f", "a"),
                               seen("GET", "m", "e", "b")}) {
    EXPECT_NE(signature(other), signature(one)) << signature(other);
  }
  // Where the case stands in its file is no part of what is wrong.
  Failure moved = one;
  moved.step = 7;
  moved.position = {"other.yaml", 99, 1};
  EXPECT_EQ(signature(moved), signature(one));
}

TEST(Cause, IsWhatWasSeenWithoutWhatDiffersFromCaseToCase) {
  const auto cause = [](const std::string& subject, const std::string& wanted,
                        const std::string& got) {
    return seen(subject, kReply, reply(wanted), reply(got)).cause;
  };
  EXPECT_EQ(cause("SET NX", "-1\r\n", "+OK\r\n"), "SET NX: want -1, got +OK");
  EXPECT_EQ(cause("GET", "$3\r\none\r\n", "$5\r\nother\r\n"), "GET: want a value, got a value");
  EXPECT_EQ(cause("GET", "$0\r\n\r\n", "$-1\r\n"), "GET: want an empty value, got no such key");
  const auto version = [](const char* text) {
    return text::Phrase("__ts = ").version(text).means("__ts");
  };
  EXPECT_EQ(seen("GET", text::Phrase("the version is not the one saved as ").name("v1"),
                 version("1:2:S"), version("3:4:S"), judge::Mismatch::kVersionOther)
                .cause,
            "GET: the version is not the one saved as *");
  EXPECT_EQ(seen("notification of a SET", "no notification",
                 shown_notification("*2\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n", "k"),
                 nothing_within(std::chrono::seconds{5}), judge::Mismatch::kNotificationMissing)
                .cause,
            "notification of a SET: no notification; want NOTIFY SET, got nothing");
}

TEST(Cause, OfAMalformedMessageIsWhatIsWrongWithIt) {
  Problem malformed{.message = kReply,
                    .expected = reply("+OK\r\n"),
                    .actual = reply("+OK"),
                    .subject = "SET",
                    .kind = judge::Mismatch::kReply,
                    .malformed = true};
  const std::string cause = failure_of(malformed, kRun).cause;
  EXPECT_THAT(cause, testing::StartsWith("no reply: "));
  malformed.subject = "DEL";
  EXPECT_EQ(failure_of(malformed, kRun).cause, cause);
}

TEST(Cause, OfAPropertyIsThatOfAnyMessage) {
  const auto cause = [](const char* subject) {
    return seen(subject, "the message carries no version", "a user property __ts", "none",
                judge::Mismatch::kVersionMissing)
        .cause;
  };
  EXPECT_EQ(cause("SET"), cause("GET"));
  EXPECT_NE(cause("SET"), cause("notification of a SET"));
}

TEST(Theme, IsOneForAnErrorWhateverTheVerb) {
  const std::string lower = "-ERR the requested fencing token is lower\r\n";
  EXPECT_EQ(seen("SET with __ft", kReply, reply(lower), reply("+OK\r\n")).theme,
            seen("DEL with __ft", kReply, reply(lower), reply(":1\r\n")).theme);
  EXPECT_EQ(seen("SET", kReply, reply("+OK\r\n"), reply("-ERR lower\r\n")).theme,
            "given: -ERR lower");
  EXPECT_EQ(seen("SET NX PX with __ft", kReply, reply(":-1\r\n"), reply("+OK\r\n")).theme,
            seen("SET NX", kReply, text::Phrase::any_of({reply(":-1\r\n"), reply("-ERR full\r\n")}),
                 reply("+OK\r\n"))
                .theme);
  EXPECT_EQ(seen("GET", "m", "a", "b", judge::Mismatch::kVersionOther).theme, "");
  EXPECT_EQ(seen("GET", "m", "a", "b", judge::Mismatch::kNoResponse).theme, "no response");
}

TEST(Signature, IsReadBackFromYamlAsItIsPrinted) {
  for (const std::string text :
       {R"(R-1: it's "so" | got $4\r\nit's\r\n # {[,: *&!|>%@`)", "'", ""}) {
    std::vector<scenario::LoadError> errors;
    scenario::YamlReader reader("f", errors);
    const auto read = reader.parse("signature: " + quoted_signature(text) + "\n");
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->member("signature").scalar(), text);
  }
}

// Runs of the same fault with other run ids, seeds and clocks.
TEST(Signature, OfARealFailureDependsNotOnTheRun) {
  const scenario::Case test_case = case_of({.steps = R"(
- keynotify: k
  expect: ok
- set: {key: k, value: "one"}
  expect: ok
)"});
  const Behaviour twice =
      changed(reference_store(), [](const Published& request, Effects& effects) {
        if (verb_of(request) == Verb::kSet) effects.push_back(effects.back());
      });
  const Behaviour late = answering(Verb::kSet, "+OK\r\n", std::chrono::minutes{1});
  const Behaviour stale = on_reply(reference_store(), [](const Published& request, Message& reply) {
    reply.correlation_data = "\x01" + request.message.correlation_data.value_or("");
  });
  for (const Behaviour& behaviour : {twice, late, stale, echo()}) {
    RunSettings one = settings();
    RunSettings other{.run_id = "4a11ce5f", .seed = 99, .timeout_scale = 2.0};
    one.run_id = "0badcafe";
    const CaseResult first = run_on(behaviour, test_case, one);
    const CaseResult second = run_on(behaviour, test_case, other);
    EXPECT_EQ(first.verdict, Verdict::kFailed);
    EXPECT_EQ(signature(first.failure), signature(second.failure));
    EXPECT_EQ(first.failure.cause, second.failure.cause);
    EXPECT_THAT(signature(first.failure), Not(HasSubstr("badcafe")));
  }
}

}  // namespace
}  // namespace fencepost::run
