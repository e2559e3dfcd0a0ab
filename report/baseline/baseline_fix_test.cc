#include "report/baseline/baseline_fix.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/baseline/baseline_file.h"
#include "suite/testing/failure_sample.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::baseline {
namespace {

using namespace test;  // made for this test
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kSteps = "- get: k\n  expect: missing\n";
const std::string kSignature = "R-MUST-1: wrong | got 2";

struct SampleCase {
  std::string id;
  run::Verdict verdict = run::Verdict::kPassed;
  std::string requirement = "R-MUST-1";
  std::string actual = "2";
};

struct Sample {
  explicit Sample(const std::vector<SampleCase>& all) {
    cases.reserve(all.size());
    for (const SampleCase& sample : all) {
      cases.push_back(
          case_of({.id = sample.id, .requirements = sample.requirement, .steps = kSteps}));
      run::CaseResult entry{.test_case = &cases.back(), .verdict = sample.verdict};
      if (sample.verdict == run::Verdict::kFailed) {
        entry.failure = test::failure(sample.requirement, "wrong", "", sample.actual);
      }
      result.cases.push_back(std::move(entry));
    }
    run::summarize(result, catalogue(), false);
  }

  std::vector<scenario::Case> cases;
  run::SuiteResult result;
};

Baseline loaded(const std::string& text, const std::string& name) {
  std::vector<scenario::LoadError> errors;
  auto baseline = load_baseline({name, text}, errors);
  for (const scenario::LoadError& error : errors)
    std::fprintf(stderr, "%s\n", describe(error).c_str());
  FENCEPOST_CHECK(baseline.has_value());
  return std::move(*baseline);
}

struct Fixed {
  std::string text;
  std::vector<std::string> changes;
};

Fixed fixed(const std::string& text, const std::vector<SampleCase>& sample, bool strict = false,
            const std::string& name = "known.yaml") {
  const Sample run(sample);
  const auto out = fix_baseline(loaded(text, name), run.result, catalogue(), strict);
  FENCEPOST_CHECK(out.has_value());
  return {to_text(out->baseline), out->changes};
}

// Why a run with these results is not enough.
std::string refusal(const std::string& text, const Sample& run) {
  const auto out = fix_baseline(loaded(text, "known.yaml"), run.result, catalogue(), false);
  return out ? "" : out.error();
}

TEST(BaselineFix, ChangesNothingThatIsRight) {
  const std::string text = "version: 1\nfail:\n  - case: bad\n    signature: '" + kSignature +
                           "'\n    reason: why\n  - case: 'x.*'\n    reason: why\nskip:\n"
                           "  - case: crash\n    reason: why\n";
  const Fixed out = fixed(text, {{"good"},
                                 {"bad", run::Verdict::kFailed},
                                 {"x.1", run::Verdict::kFailed},
                                 {"x.2", run::Verdict::kFailed, "R-MUST-2", "3"},
                                 {"crash", run::Verdict::kSkipped}});
  EXPECT_THAT(out.changes, IsEmpty());
  EXPECT_EQ(out.text, text);
}

TEST(BaselineFix, AddsDifferencesWithoutAReason) {
  const Fixed out = fixed("version: 1\n", {{"good"}, {"bad", run::Verdict::kFailed}});
  EXPECT_EQ(out.text,
            "version: 1\ndifferences:\n  - requirement: R-MUST-1\n    case: bad\n    failures: 1\n"
            "    causes:\n      - 'wrong; want , got #'\n    reason: ''\n");
  EXPECT_THAT(out.changes, ElementsAre("added R-MUST-1 (bad): 1 failure; write its reason"));
  EXPECT_THAT(loaded(out.text, "known.yaml").differences[0].reason, IsEmpty());
}

TEST(BaselineFix, AddsWarningsOnlyWhereTheyFailTheRun) {
  const std::vector<SampleCase> sample = {{"odd", run::Verdict::kFailed, "R-SHOULD-1"}};
  EXPECT_THAT(fixed("version: 1\n", sample).changes, IsEmpty());
  EXPECT_THAT(fixed("version: 1\n", sample, true).changes,
              ElementsAre(HasSubstr("added R-SHOULD-1 (odd)")));
  // One that is there already stays.
  EXPECT_THAT(fixed("version: 1\nfail: [{case: odd, reason: r}]\n", sample).changes, IsEmpty());
}

TEST(BaselineFix, RemovesWhatPassesAndWhatDoesNotExist) {
  const Fixed out = fixed(
      "version: 1\nfail:\n  - {case: good, reason: r}\n  - {case: gone, reason: r}\n"
      "  - {case: 'x.*', reason: r}\nskip: [{case: gone.too, reason: r}]\n"
      "flaky: [{case: gone.as.well, statuses: [passed, failed], reason: r}]\n",
      {{"good"}, {"x.1"}, {"x.2"}});
  EXPECT_EQ(out.text, "version: 1\n");
  EXPECT_THAT(out.changes,
              ElementsAre("removed good: it passes", "removed gone: there is no such case",
                          "removed x.*: they pass", "removed gone.too: there is no such case",
                          "removed gone.as.well: there is no such case"));
}

TEST(BaselineFix, FollowsTheSignatureAndKeepsTheRest) {
  const Fixed out = fixed(
      "version: 1\nfail:\n  # about it\n  - case: bad\n    signature: old's\n    reason: why\n"
      "    ticket: T-1\n    expires: 2020-01-01\n",
      {{"bad", run::Verdict::kFailed}});
  EXPECT_EQ(out.text, "version: 1\nfail:\n  # about it\n  - case: bad\n    signature: '" +
                          kSignature +
                          "'\n    reason: why\n    ticket: T-1\n    expires: 2020-01-01\n");
  EXPECT_THAT(out.changes, ElementsAre("changed bad: signature '" + kSignature + "' was 'old''s'"));
}

TEST(BaselineFix, SplitsAGlobWhoseCasesDoNotAllFailAlike) {
  const Fixed out = fixed("version: 1\nfail:\n  # scan\n  - {case: 'x.*', max: 5, signature: '" +
                              kSignature + "', reason: why, ticket: T-1}\n",
                          {{"x.1", run::Verdict::kFailed},
                           {"x.2"},
                           {"x.3", run::Verdict::kFailed, "R-MUST-1", "3"},
                           {"x.4", run::Verdict::kSkipped}});
  EXPECT_EQ(out.text, "version: 1\nfail:\n  # scan\n  - case: x.1\n    signature: '" + kSignature +
                          "'\n    reason: why\n    ticket: T-1\n  - case: x.3\n    signature: "
                          "'R-MUST-1: wrong | got 3'\n    reason: why\n    ticket: T-1\n"
                          "  - case: x.4\n    signature: '" +
                          kSignature + "'\n    reason: why\n    ticket: T-1\n");
  EXPECT_THAT(out.changes,
              ElementsAre("split x.*: its cases fail in different ways; now x.1, x.3, x.4"));
}

// Somebody has to decide whether so much may be hidden.
TEST(BaselineFix, LeavesAGlobThatCoversTooMuch) {
  const std::string text = "version: 1\nfail:\n  - case: 'x.*'\n    max: 1\n    reason: why\n";
  const Fixed out =
      fixed(text, {{"x.1", run::Verdict::kFailed}, {"x.2", run::Verdict::kFailed}, {"x.3"}});
  EXPECT_EQ(out.text, text);
  EXPECT_THAT(out.changes, IsEmpty());
}

TEST(BaselineFix, LeavesEntriesOfCasesThatTellNothing) {
  const std::string text =
      "version: 1\nfail:\n  - case: cannot\n    signature: s\n    reason: why\nflaky:\n"
      "  - case: f\n    statuses: [passed, inconclusive]\n    reason: why\n";
  for (const run::Verdict verdict :
       {run::Verdict::kPassed, run::Verdict::kFailed, run::Verdict::kInconclusive}) {
    const Fixed out = fixed(text, {{"cannot", run::Verdict::kSkipped}, {"f", verdict}});
    EXPECT_EQ(out.text, text);
    EXPECT_THAT(out.changes, IsEmpty());
  }
}

TEST(BaselineFix, KeepsHeadingsOfEntriesThatGo) {
  EXPECT_EQ(fixed("# Header.\nversion: 1\nfail:\n  # Heading.\n\n  # About good.\n"
                  "  - {case: good, reason: r}\n  # About bad.\n  - {case: bad, reason: r}\n"
                  "  # Last.\n\n  # About gone.\n  - {case: gone, reason: r}\n# End.\n",
                  {{"good"}, {"bad", run::Verdict::kFailed}})
                .text,
            "# Header.\nversion: 1\nfail:\n  # Heading.\n\n  # About bad.\n  - case: bad\n"
            "    reason: r\n# Last.\n\n# End.\n");
}

TEST(BaselineFix, WritesListsAsLists) {
  const Fixed out =
      fixed("# Known.\na  # why\n# About b.\nb  # why\n",
            {{"a", run::Verdict::kFailed}, {"b"}, {"c", run::Verdict::kFailed}}, false, "known");
  EXPECT_EQ(out.text, "# Known.\na  # why\nc\n");
  EXPECT_THAT(out.changes, ElementsAre("removed b: it passes", HasSubstr("added c")));
}

TEST(BaselineFix, NeedsARunThatDecidesEveryCase) {
  for (const run::Verdict verdict :
       {run::Verdict::kInconclusive, run::Verdict::kLost, run::Verdict::kNotRun}) {
    EXPECT_EQ(refusal("version: 1\n", Sample({{"good"}, {"open", verdict}})),
              "open is " + std::string(name(verdict)));
    EXPECT_NE(refusal("version: 1\nfail: [{case: open, reason: r}]\n", Sample({{"open", verdict}})),
              "");
  }
  Sample lost({{"good"}});
  lost.result.endpoint_lost = true;
  EXPECT_EQ(refusal("version: 1\n", lost), "the endpoint was lost during the run");
  Sample stopped({{"good"}});
  stopped.result.interrupted = true;
  EXPECT_EQ(refusal("version: 1\n", stopped), "the run was interrupted");
  EXPECT_EQ(refusal("version: 1\n", Sample({{"good"}, {"cannot", run::Verdict::kSkipped}})), "");
}

}  // namespace
}  // namespace fencepost::baseline
