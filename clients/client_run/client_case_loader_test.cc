#include "clients/client_run/client_case_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/scenario/library.h"

namespace fencepost::client_run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const std::set<std::string> kRules = {"GET-HIT-1", "SET-OK-1"};

struct Loaded {
  std::vector<ClientCase> cases{};
  std::vector<scenario::LoadError> errors{};
};

Loaded load(const std::string& content) {
  Loaded out;
  out.cases = load_client_cases({{"c.yaml", content}}, kRules, out.errors);
  return out;
}

// A file with these steps, each with its line end.
Loaded load_steps(const std::string& steps) {
  return load(
      "certifies: clients\narea: a\ncases:\n  - id: c\n    title: t\n    requirements: "
      "[GET-HIT-1, SET-OK-1]\n    steps:\n" +
      steps);
}

const CommandStep& command_of(const ClientCase& test_case, std::size_t step) {
  return std::get<CommandStep>(test_case.steps.at(step).what);
}

TEST(ClientCaseLoader, ReadsARequestWithItsAnswer) {
  const Loaded loaded = load_steps(
      "      - set: {key: k, value: {hex: '00 ff'}, condition: NX, px: 1500, save: v1}\n"
      "        answer: [puback, {wait: 20ms}, {reply: {error: quota-exceeded}}, cut]\n"
      "        expect: {any_of: [not-applied, {error: quota-exceeded}]}\n"
      "        cites: SET-OK-1\n");
  ASSERT_THAT(loaded.errors, IsEmpty());
  ASSERT_THAT(loaded.cases, SizeIs(1));
  const CommandStep& step = command_of(loaded.cases[0], 0);
  EXPECT_EQ(step.command.value, std::string("\0\xff", 2));
  EXPECT_EQ(step.command.condition, codec::Condition::kIfAbsent);
  EXPECT_EQ(step.command.expires_after, Milliseconds(1500));
  ASSERT_TRUE(step.answer && step.answer->size() == 4);
  EXPECT_EQ(std::get<WaitAct>(step.answer->at(1)).time, Milliseconds(20));
  EXPECT_EQ(std::get<ReplyAct>(step.answer->at(2)).script.error, codec::ErrorCode::kQuotaExceeded);
  EXPECT_TRUE(std::holds_alternative<CutAct>(step.answer->at(3)));
  ASSERT_THAT(step.expected, SizeIs(2));
  EXPECT_EQ(step.expected[0].kind, ResultKind::kNotApplied);
  EXPECT_EQ(step.expected[1].error, codec::ErrorCode::kQuotaExceeded);
  EXPECT_EQ(loaded.cases[0].steps[0].cites, "SET-OK-1");
  EXPECT_THAT(loaded.cases[0].needs,
              UnorderedElementsAre("set", "conditions", "expiry", "versions", "binary"));
}

TEST(ClientCaseLoader, WithoutExpectACommandSucceeds) {
  const Loaded loaded = load_steps(
      "      - set: {key: k, value: v}\n      - del: k\n      - observe: k\n      - disconnect: "
      "{}\n");
  ASSERT_THAT(loaded.errors, IsEmpty());
  EXPECT_EQ(command_of(loaded.cases[0], 0).expected[0].kind, ResultKind::kApplied);
  EXPECT_EQ(command_of(loaded.cases[0], 1).expected[0].kind, ResultKind::kDeleted);
  EXPECT_EQ(command_of(loaded.cases[0], 1).expected[0].count, 1);
  EXPECT_EQ(command_of(loaded.cases[0], 2).expected[0].kind, ResultKind::kOk);
}

TEST(ClientCaseLoader, LocksNeedAHelperAndNothingElseOfTheSdk) {
  const Loaded loaded = load_steps(
      "      - lock: {key: l, holder: me, lease: 3s, renew: 1s, wait: true, save: token}\n"
      "      - unlock: {key: l, holder: me}\n      - holder: l\n        expect: missing\n");
  ASSERT_THAT(loaded.errors, IsEmpty());
  const CommandStep& lock = command_of(loaded.cases[0], 0);
  EXPECT_EQ(lock.command.value, "me");
  EXPECT_EQ(lock.command.expires_after, Milliseconds(3'000));
  EXPECT_EQ(lock.command.renewed_each, Milliseconds(1'000));
  EXPECT_TRUE(lock.command.waits);
  EXPECT_EQ(lock.expected[0].kind, ResultKind::kHeld);
  EXPECT_EQ(codec::encode(*request_of(lock.command)),
            "*6\r\n$3\r\nSET\r\n$1\r\nl\r\n$2\r\nme\r\n$3\r\nNEX\r\n$2\r\nPX\r\n$4\r\n3000\r\n");
  EXPECT_THAT(loaded.cases[0].needs, UnorderedElementsAre("locks", "lock-waits", "lock-renewal"));
}

TEST(ClientCaseLoader, TheTimeThatACaseWaitsIsKnown) {
  const Loaded loaded = load_steps(
      "      - wait: 300ms\n      - other: {del: k, after: 50ms}\n"
      "      - del: k\n        answer: [{wait: 7ms}, puback, {wait: 200ms}, reply]\n"
      "      - del: {key: k, timeout: 2s}\n        answer: [puback]\n        expect: error\n"
      "        cites: GET-HIT-1\n");
  ASSERT_THAT(loaded.errors, IsEmpty());
  EXPECT_EQ(least_time(loaded.cases[0]), Milliseconds(2'557));
}

TEST(ClientCaseLoader, AFamilyIsACaseForEachCombination) {
  const Loaded loaded = load(
      "certifies: clients\narea: a\ncases:\n  - id: c\n    title: t\n    requirements: "
      "[GET-HIT-1]\n    axes:\n      value:\n        one: {bytes: '1'}\n        two: {bytes: '2'}\n"
      "    steps:\n      - other: {set: k, value: $bytes}\n      - get: k\n        expect: {value: "
      "$bytes}\n");
  ASSERT_THAT(loaded.errors, IsEmpty());
  ASSERT_THAT(loaded.cases, SizeIs(2));
  EXPECT_EQ(loaded.cases[1].id, "c.two");
  EXPECT_EQ(command_of(loaded.cases[1], 1).expected[0].value, "2");
}

TEST(ClientCaseLoader, FilesOfCasesForStoresAreNotItsOwn) {
  const Loaded loaded = load("area: a\ncases: []\n");
  EXPECT_THAT(loaded.errors, IsEmpty());
  EXPECT_THAT(loaded.cases, IsEmpty());
}

struct BadSteps {
  const char* steps;
  const char* diagnostic;
};

class BadClientCase : public ::testing::TestWithParam<BadSteps> {};

TEST_P(BadClientCase, IsRefusedWithItsPlace) {
  const Loaded loaded = load_steps(GetParam().steps);
  ASSERT_THAT(loaded.errors, SizeIs(1));
  EXPECT_THAT(scenario::describe(loaded.errors[0]), HasSubstr(GetParam().diagnostic));
  EXPECT_GE(loaded.errors[0].position.line, 4);
  EXPECT_THAT(loaded.cases, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadClientCase,
    ::testing::Values(
        BadSteps{"      - get: k\n", "get needs an expect"},
        BadSteps{"      - get: k\n        expect: applied\n", "cannot be expected to report"},
        BadSteps{"      - del: k\n        expect: {value: v}\n",
                 "only get and holder report a value"},
        BadSteps{"      - lock: {key: l, lease: 1s}\n", "holder is missing"},
        BadSteps{"      - lock: {key: l, holder: me}\n", "lease is missing"},
        BadSteps{"      - lock: l\n", "lock"}, BadSteps{"      - set: k\n", "set"},
        BadSteps{"      - unlock: {key: l, holder: me, wait: true}\n",
                 "only lock has renew or wait"},
        BadSteps{"      - get: {key: k, holder: me}\n        expect: missing\n",
                 "only locks have a holder"},
        BadSteps{"      - lock: {key: l, holder: me, lease: 1s, px: 5}\n",
                 "only set has a condition or px"},
        BadSteps{"      - holder: l\n", "holder needs an expect"},
        BadSteps{"      - set: {key: k}\n", "value is missing"},
        BadSteps{"      - get: {key: k, value: v}\n        expect: missing\n",
                 "only set and vdel have a value"},
        BadSteps{"      - del: {key: k, px: 1}\n", "only set has a condition or px"},
        BadSteps{"      - set: {key: k, value: v, condition: XX}\n", "NX or NEX, not \"XX\""},
        BadSteps{"      - set: {key: k, value: v, token: v1}\n", "no earlier step saves a version"},
        BadSteps{"      - set: {key: k, value: v}\n        answer: reply\n", "must be a list"},
        BadSteps{"      - set: {key: k, value: v}\n        answer: [pubrec]\n", "not \"pubrec\""},
        BadSteps{"      - set: {key: k, value: v}\n        answer: [{reply: {error: sintax}}]\n",
                 "did you mean \"syntax\"?"},
        BadSteps{"      - set: {key: k, value: v}\n        cites: NO-1\n", "cites must be one of"},
        BadSteps{"      - get: k\n        expect: error\n",
                 "no rule follows from a failure of this step: add cites"},
        BadSteps{"      - del: k\n        answer: [puback, {reply: {properties: [[a, b]]}}]\n",
                 "no rule follows from a failure of this step: add cites"},
        BadSteps{"      - del: k\n        get: k\n", "both \"del\" and \"get\""},
        BadSteps{"      - del: k\n      - cut: {}\n        expect: ok\n",
                 "only commands have this"},
        BadSteps{"      - del: k\n      - wait: soon\n", "soon"},
        BadSteps{"      - together: [{del: k}]\n", "at least two requests"},
        BadSteps{"      - together: [{del: k}, {cut: {}}]\n", "together must have only requests"},
        BadSteps{"      - del: k\n      - notification: {key: k, operation: move}\n",
                 "set or delete, not \"move\""},
        BadSteps{"      - del: k\n      - broker: {receive_maximum: 0}\n", "receive_maximum"},
        BadSteps{"      - set: {key: k, value: {fill_packet: 0}}\n", "cannot fill packets"},
        BadSteps{"      - del: k\n      - clock: {}\n", "either ahead or behind"},
        BadSteps{"      - del: k\n      - other: {set: k}\n", "{set: key, value: bytes} or"},
        BadSteps{"      - del: k\n      - notify: {key: k}\n", "an operation or a payload"},
        BadSteps{"      - connect: {}\n", "an adapter that does nothing would pass"},
        BadSteps{"      - get: {key: '', refused_unsent: true}\n        expect: error\n",
                 "an adapter that does nothing would pass"}));

TEST(ClientCaseLoader, IdsRulesAndCapabilitiesAreKnown) {
  const std::string begin = "certifies: clients\narea: a\ncases:\n";
  const std::string good =
      "  - id: c\n    title: t\n    requirements: [GET-HIT-1]\n    steps: [{del: k}]\n";
  EXPECT_THAT(load(begin + good + good).errors.at(0).text,
              HasSubstr("is already used at c.yaml:4"));
  const auto with = [&](const std::string& old, const std::string& text) {
    std::string content = begin + good;
    return load(content.replace(content.find(old), old.size(), text)).errors.at(0).text;
  };
  EXPECT_THAT(with("[GET-HIT-1]", "[GET-HIT-2]"), HasSubstr("did you mean \"GET-HIT-1\"?"));
  EXPECT_THAT(with("id: c", "id: C"), HasSubstr("lower-case letters"));
  EXPECT_THAT(with("title: t", "title: t\n    requires: [wings]"),
              HasSubstr("unknown capability of adapters: \"wings\""));
  EXPECT_THAT(with("certifies: clients", "certifies: brokers"),
              HasSubstr("certifies must be clients"));
}

TEST(ClientCaseLoader, TheBuiltInCasesAreClean) {
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = scenario::load_library(scenario::built_in_files(), errors);
  const auto cases = load_client_cases(scenario::built_in_files(), library.catalogue.ids(), errors);
  EXPECT_THAT(scenario::describe_all(errors), ElementsAre());
  EXPECT_GE(cases.size(), 150U);
}

}  // namespace
}  // namespace fencepost::client_run
