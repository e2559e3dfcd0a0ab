#include "report/requirement_states.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_sample.h"

namespace fencepost::report {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<RequirementFinding> states(const Sample& run) {
  const scenario::Catalogue catalogue = test::catalogue();
  return requirement_states(run.result, differences(run.result, catalogue, false), catalogue);
}

// `id: state (note)`.
std::vector<std::string> as_text(const Sample& run) {
  std::vector<std::string> out;
  for (const RequirementFinding& each : states(run)) {
    out.push_back(fmt::format("{}: {} ({})", each.id, name(each.state), each.note));
  }
  return out;
}

// A case about this requirement that fails like all of them.
SampleCase failing(const std::string& id, const std::string& requirement) {
  return {.id = id,
          .verdict = run::Verdict::kFailed,
          .requirements = requirement,
          .message = "wrong",
          .actual = "+OK\\r\\n"};
}

Sample attributed_to(const std::string& rule, const std::vector<SampleCase>& all) {
  Sample run(all);
  for (run::CaseResult& entry : run.result.cases) {
    if (entry.verdict == run::Verdict::kFailed) entry.failure.requirement = rule;
  }
  return run;
}

TEST(RequirementStates, OnlyTheRuleOfARootCauseIsBroken) {
  const Sample run =
      attributed_to("R-MUST-1", {failing("a", "R-MUST-1"), failing("b", "R-SHOULD-1")});
  EXPECT_THAT(as_text(run),
              ElementsAre("R-MUST-1: broken (D1: 2 cases)",
                          "R-SHOULD-1: not-shown (0 of 1 case; 1 failed for another reason)"));
  EXPECT_EQ(requirements_text(states(run)), "requirements: 1 broken, 1 not shown");
}

TEST(RequirementStates, WhatOtherCasesShowIsPassed) {
  const Sample run = attributed_to("R-MUST-1", {failing("a", "R-MUST-1"),
                                                failing("b", "R-SHOULD-1"),
                                                {.id = "c", .requirements = "R-SHOULD-1"}});
  EXPECT_THAT(as_text(run),
              ElementsAre("R-MUST-1: broken (D1: 2 cases)",
                          "R-SHOULD-1: passed (1 of 2 cases; 1 failed for another reason)"));
  EXPECT_EQ(requirements_text(states(run)), "requirements: 1 passed, 1 broken");
}

TEST(RequirementStates, EachRuleThatDoesNotApplyAndIsNotFollowedIsAWarning) {
  Sample run({failing("a", "R-MUST-1"), failing("b", "R-MUST-2")});
  for (run::CaseResult& entry : run.result.cases) {
    entry.waived = true;
    entry.failure.requirement = entry.test_case->requirements.front();
    entry.failure.direct = "R-MUST-1";
  }
  EXPECT_THAT(as_text(run),
              ElementsAre("R-MUST-1: warning (D1: 2 cases)", "R-MUST-2: warning (D1: 1 case)"));
}

TEST(RequirementStates, AnUnspecifiedPointIsNeverBroken) {
  EXPECT_THAT(as_text(Sample({failing("a", "R-MAY-1")})),
              ElementsAre("R-MAY-1: outside (D1: 1 case)"));
}

TEST(RequirementStates, TellEveryOtherEnd) {
  EXPECT_THAT(as_text(every_verdict()),
              ElementsAre("R-MUST-1: broken (D1: 1 case)", "R-SHOULD-1: warning (D2: 1 case)"));
  EXPECT_THAT(as_text(with_baseline()), ElementsAre("R-MUST-1: expected-failure (D1: 1 case)",
                                                    "R-SHOULD-1: passed (1 case)"));
  for (const auto& [verdict, text] : std::vector<std::pair<run::Verdict, std::string>>{
           {run::Verdict::kSkipped, "R-MUST-1: skipped (1 case)"},
           {run::Verdict::kLost, "R-MUST-1: not-run (1 of 1 case not finished)"},
           {run::Verdict::kNotRun, "R-MUST-1: not-run (1 of 1 case not finished)"},
           {run::Verdict::kInconclusive, "R-MUST-1: inconclusive (1 of 1 case inconclusive)"}}) {
    EXPECT_THAT(as_text(Sample({{.id = "a", .verdict = verdict}})), ElementsAre(text));
  }
  EXPECT_THAT(states(Sample({})), IsEmpty());
  EXPECT_EQ(requirements_text({}), "");
}

}  // namespace
}  // namespace fencepost::report
