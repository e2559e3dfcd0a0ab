#include "report/root_causes.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/testing/failure_sample.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::report {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

struct SeenCase {
  std::string id;
  std::string requirements = "R-MUST-1";
  std::string attributed{};  // empty: the case passed
  std::string direct{};
  std::vector<std::string> candidates{};
  std::string subject = "GET";
  std::string expected = R"($3\r\none\r\n)";
  std::string actual = R"($-1\r\n (no such key))";
  int steps = 1;
};

struct SeenRun {
  explicit SeenRun(const std::vector<SeenCase>& all) {
    cases.reserve(all.size());
    for (const SeenCase& seen : all) {
      std::string steps;
      for (int i = 0; i < seen.steps; ++i) steps += "- get: k\n  expect: missing\n";
      cases.push_back(
          test::case_of({.id = seen.id, .requirements = seen.requirements, .steps = steps}));
      run::CaseResult entry{.test_case = &cases.back(), .verdict = run::Verdict::kPassed};
      if (!seen.attributed.empty()) {
        entry.verdict = run::Verdict::kFailed;
        entry.failure = test::failure(seen.attributed, "the reply is not the expected one",
                                      seen.expected, seen.actual, seen.subject);
        entry.failure.direct = seen.direct;
        entry.failure.candidates = seen.candidates;
        entry.failure.step = 1;
      }
      result.cases.push_back(std::move(entry));
    }
  }

  [[nodiscard]] std::vector<Difference> found() const {
    return differences(result, catalogue, false);
  }

  scenario::Catalogue catalogue = test::catalogue();
  std::vector<scenario::Case> cases;
  run::SuiteResult result;
};

std::vector<std::string> ids(const Difference& found) {
  std::vector<std::string> out;
  for (const run::CaseResult* entry : found.cases) out.push_back(entry->test_case->id);
  return out;
}

TEST(Differences, NoneInARunWithoutFailures) {
  EXPECT_THAT(SeenRun({{.id = "good"}}).found(), SizeIs(0));
  EXPECT_EQ(sentence_of({}), "0 root causes explain 0 failures");
}

TEST(Differences, FailuresWithOneCauseAreOneWhateverRuleTheyAreAttributedTo) {
  const SeenRun run({{.id = "a", .attributed = "R-MUST-1"},
                     {.id = "b", .requirements = "R-MUST-2", .attributed = "R-MUST-2"},
                     {.id = "c", .attributed = "R-MUST-1"}});
  const std::vector<Difference> found = run.found();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].rule_id, "R-MUST-1");
  EXPECT_THAT(ids(found[0]), ElementsAre("a", "c", "b"));
  EXPECT_THAT(found[0].causes, ElementsAre("GET: want a value, got no such key"));
  EXPECT_EQ(sentence_of(found), "1 root cause explains 3 failures");
}

TEST(Differences, ARuleThatMayBeBrokenEverywhereExplainsFailuresOfSeveralKinds) {
  const SeenRun run({{.id = "a", .attributed = "R-MUST-1", .direct = "R-MUST-1"},
                     {.id = "b", .attributed = "R-MUST-1", .direct = "R-MUST-1"},
                     {.id = "c",
                      .requirements = "R-MUST-2",
                      .attributed = "R-MUST-2",
                      .direct = "R-MUST-2",
                      .candidates = {"R-MUST-1"},
                      .subject = "SET NX"}});
  const std::vector<Difference> found = run.found();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].rule_id, "R-MUST-1");
  EXPECT_THAT(ids(found[0]), ElementsAre("a", "b", "c"));
}

TEST(Differences, ACandidateRuleDoesNotOutweighTheOneThatIsShown) {
  const SeenRun run({{.id = "a",
                      .requirements = "R-MUST-2",
                      .attributed = "R-MUST-2",
                      .direct = "R-MUST-2",
                      .candidates = {"R-MUST-1"}},
                     {.id = "good-1"},
                     {.id = "good-2"}});
  const std::vector<Difference> found = run.found();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].rule_id, "R-MUST-2");
}

TEST(Differences, TheRuleWhoseOtherCasesPassedIsLessLikely) {
  const SeenRun run({{.id = "a", .requirements = "R-MUST-1, R-MUST-2", .attributed = "R-MUST-1"},
                     {.id = "b", .requirements = "R-MUST-1, R-MUST-2", .attributed = "R-MUST-2"},
                     {.id = "good-1"},
                     {.id = "good-2"}});
  const std::vector<Difference> found = run.found();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].rule_id, "R-MUST-2");
}

TEST(Differences, WhatADifferenceBreaksByItselfCounts) {
  const SeenRun run({{.id = "a", .attributed = "R-MUST-1", .direct = "R-MUST-2"},
                     {.id = "b", .attributed = "R-MUST-1", .direct = "R-MUST-2"},
                     {.id = "good"}});
  EXPECT_EQ(run.found().at(0).rule_id, "R-MUST-2");
  EXPECT_EQ(run.found().at(0).blocked(), 2U);  // neither case is about it
}

// A rule that does not apply to the store is the cause all the same of what breaks others: one root
// cause, shown by a case that fails the run.
TEST(Differences, FailuresAreNamedByWhatWarningsShow) {
  SeenRun run({{.id = "a", .attributed = "R-MUST-1", .direct = "R-MUST-1"},
               {.id = "b", .attributed = "R-MUST-1", .direct = "R-MUST-1"},
               {.id = "c", .requirements = "R-MUST-2", .attributed = "R-MUST-2"},
               {.id = "good", .requirements = "R-MUST-2"}});
  run.result.cases[0].waived = true;
  run.result.cases[1].waived = true;
  const std::vector<Difference> found = run.found();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, FindingKind::kFailure);
  EXPECT_EQ(found[0].rule_id, "R-MUST-1");
  EXPECT_THAT(ids(found[0]), ElementsAre("c", "a", "b"));
  EXPECT_EQ(found[0].warnings, 2U);
  EXPECT_EQ(sentence_of(found), "1 root cause explains 1 failure");
}

TEST(Differences, OfWarningsAloneAreNoRuleThatBindsTheStore) {
  const SeenRun run({{.id = "a",
                      .requirements = "R-SHOULD-1",
                      .attributed = "R-SHOULD-1",
                      .direct = "R-MUST-1"}});
  const std::vector<Difference> found = run.found();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, FindingKind::kWarning);
  EXPECT_EQ(found[0].rule_id, "R-SHOULD-1");
}

TEST(Differences, TwoCausesOfTwoRulesAreTwoAndTheGreaterIsFirst) {
  const SeenRun run({{.id = "a", .attributed = "R-MUST-1"},
                     {.id = "b",
                      .requirements = "R-MUST-2",
                      .attributed = "R-MUST-2",
                      .subject = "DEL",
                      .expected = R"(:1\r\n)",
                      .actual = R"(:0\r\n)"},
                     {.id = "c",
                      .requirements = "R-MUST-2",
                      .attributed = "R-MUST-2",
                      .subject = "DEL",
                      .expected = R"(:1\r\n)",
                      .actual = R"(:0\r\n)"}});
  const std::vector<Difference> found = run.found();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].rule_id, "R-MUST-2");
  EXPECT_EQ(found[1].rule_id, "R-MUST-1");
}

TEST(Differences, TheShortestCaseThatChecksTheRuleIsFirst) {
  const SeenRun run(
      {{.id = "a", .attributed = "R-MUST-1", .direct = "R-MUST-1", .steps = 3},
       {.id = "b", .attributed = "R-MUST-1", .direct = "R-MUST-1", .steps = 2},
       {.id = "c", .requirements = "R-MUST-2", .attributed = "R-MUST-1", .direct = "R-MUST-1"}});
  const std::vector<Difference> found = run.found();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(ids(found[0]), ElementsAre("b", "a", "c"));
  EXPECT_TRUE(found[0].blocks(*found[0].cases[2]));
  EXPECT_EQ(found[0].blocked(), 1U);
}

TEST(Differences, ARuleThatIsOpenExplainsNothingThatAnotherCan) {
  const SeenRun run({{.id = "a",
                      .requirements = "R-MAY-1, R-MUST-1",
                      .attributed = "R-MAY-1",
                      .direct = "R-MUST-1"}});
  EXPECT_EQ(run.found().at(0).rule_id, "R-MUST-1");
  const SeenRun open({{.id = "a", .requirements = "R-MAY-1", .attributed = "R-MAY-1"}});
  EXPECT_EQ(open.found().at(0).rule_id, "R-MAY-1");
  EXPECT_TRUE(open.found().at(0).is_open());
}

TEST(Differences, WarningsOfAnotherRuleComeLastAndApart) {
  const SeenRun run(
      {{.id = "a", .requirements = "R-SHOULD-1", .attributed = "R-SHOULD-1", .subject = "SET"},
       {.id = "b", .attributed = "R-MUST-1"}});
  const std::vector<Difference> found = run.found();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].kind, FindingKind::kFailure);
  EXPECT_EQ(found[1].kind, FindingKind::kWarning);
  EXPECT_EQ(sentence_of(found), "1 root cause explains 1 failure");
}

TEST(Differences, TheOrderOfTheCasesDoesNotMatter) {
  const std::vector<SeenCase> seen = {
      {.id = "a", .attributed = "R-MUST-1"},
      {.id = "b", .requirements = "R-MUST-2", .attributed = "R-MUST-2", .subject = "SET"},
      {.id = "c", .requirements = "R-MUST-2", .attributed = "R-MUST-2"}};
  const SeenRun forward(seen);
  const SeenRun backward({seen.rbegin(), seen.rend()});
  ASSERT_EQ(forward.found().size(), backward.found().size());
  for (std::size_t i = 0; i < forward.found().size(); ++i) {
    EXPECT_EQ(forward.found()[i].rule_id, backward.found()[i].rule_id);
    EXPECT_EQ(ids(forward.found()[i]), ids(backward.found()[i]));
  }
}

}  // namespace
}  // namespace fencepost::report
