// What a case expects after a request that might be refused or taken.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/run/case_runner.h"
#include "conformance/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using codec::Message;
using codec::Verb;
using testing::StartsWith;

// Answers requests of that verb, and carries none of them out.
Behaviour idle_for(Verb verb, std::string payload) {
  return [verb, payload = std::move(payload), store = reference_store()](const Published& request) {
    return verb_of(request) == verb ? Effects{reply(request, payload)} : store(request);
  };
}

TEST(CaseRunnerOpenPoint, TiesTheEffectToTheReply) {
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

TEST(CaseRunnerOpenPoint, AwaitsANotificationWhereTheRequestWasTaken) {
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

}  // namespace
}  // namespace fencepost::run
