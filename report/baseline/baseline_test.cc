#include "report/baseline/baseline.h"

#include <deque>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/testing/failure_sample.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::baseline {
namespace {

using namespace test;  // made for this test
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kSteps = "- get: k\n  expect: missing\n";
constexpr Date kToday{std::chrono::year{2026}, std::chrono::month{5}, std::chrono::day{10}};
const std::string kSignature = "R-MUST-1: wrong | want 1 | got 2";

Date day(int number) {
  return {kToday.year(), kToday.month(), std::chrono::day{static_cast<unsigned>(number)}};
}

struct SampleCase {
  std::string id;
  run::Verdict verdict = run::Verdict::kPassed;
  std::string requirement = "R-MUST-1";
  std::string actual = "2";
};

// A run, and the cases that its results point to.
struct Sample {
  explicit Sample(const std::vector<SampleCase>& all) {
    cases.reserve(all.size());
    for (const SampleCase& sample : all) {
      cases.push_back(
          case_of({.id = sample.id, .requirements = sample.requirement, .steps = kSteps}));
      run::CaseResult entry{.test_case = &cases.back(), .verdict = sample.verdict};
      if (sample.verdict == run::Verdict::kFailed ||
          sample.verdict == run::Verdict::kInconclusive) {
        entry.failure = test::failure(sample.requirement, "wrong", "1", sample.actual);
        entry.failure.step = 1;
      }
      result.cases.push_back(std::move(entry));
    }
    run::summarize(result, catalogue(), false);
  }

  std::vector<scenario::Case> cases;
  run::SuiteResult result;
};

Baseline baseline_of(std::vector<BaselineEntry> entries) {
  int line = 10;
  for (BaselineEntry& entry : entries) entry.position = {"known.yaml", line++, 5};
  return {.file = "known.yaml", .entries = std::move(entries)};
}

BaselineEntry fails(const std::string& cases, const std::string& signature = "") {
  return {.cases = cases, .signature = signature, .reason = "because", .ticket = "T-1"};
}

BaselineEntry flaky(const std::string& cases, std::set<run::Verdict> statuses) {
  return {.list = BaselineList::kFlaky,
          .cases = cases,
          .reason = "because",
          .statuses = std::move(statuses)};
}

BaselineEntry skips(const std::string& cases) {
  return {.list = BaselineList::kSkip, .cases = cases, .reason = "because", .ticket = "T-1"};
}

// What the program does after a run.
run::SuiteResult applied(const std::vector<SampleCase>& sample,
                         const std::vector<BaselineEntry>& entries, bool whole_suite = true) {
  static std::deque<Sample> kept;  // results point to the cases of their sample
  kept.emplace_back(sample);
  run::SuiteResult result = kept.back().result;
  apply(baseline_of(entries), {.today = kToday, .whole_suite = whole_suite}, result);
  run::summarize(result, catalogue(), false);
  return result;
}

// --- failures that are known --------------------------------------------------------------------

TEST(Baseline, MakesAnExpectedFailureOfAKnownOne) {
  for (const std::string& signature : {std::string(), kSignature}) {
    const run::SuiteResult result =
        applied({{"good"}, {"bad", run::Verdict::kFailed}}, {fails("bad", signature)});
    EXPECT_EQ(result.cases[1].verdict, run::Verdict::kExpectedFailure);
    EXPECT_EQ(result.cases[1].baseline, "because, T-1");
    EXPECT_EQ(result.summary.expected_failures, 1U);
    EXPECT_EQ(result.summary.passed, 1U);
    EXPECT_EQ(result.summary.failed, 0U);
    EXPECT_THAT(result.baseline_errors, IsEmpty());
    EXPECT_THAT(result.baseline_notes, IsEmpty());
    EXPECT_EQ(exit_code(result), run::ExitCode::kConformant);
  }
}

TEST(Baseline, LeavesAloneWhatItDoesNotName) {
  const run::SuiteResult result =
      applied({{"known", run::Verdict::kFailed}, {"new", run::Verdict::kFailed}}, {fails("known")});
  EXPECT_EQ(result.cases[1].verdict, run::Verdict::kFailed);
  EXPECT_EQ(result.cases[1].baseline, "");
  EXPECT_EQ(result.cases[1].failure.message, "wrong");
  EXPECT_EQ(exit_code(result), run::ExitCode::kFailed);
}

TEST(Baseline, RefusesAPassThatItDoesNotExpect) {
  const run::SuiteResult result = applied({{"good"}}, {fails("good", kSignature)});
  const run::CaseResult& entry = result.cases[0];
  EXPECT_EQ(entry.verdict, run::Verdict::kFailed);
  EXPECT_TRUE(entry.unexpected_pass);
  EXPECT_EQ(entry.failure.message,
            "it passes, but the baseline expects it to fail: in known.yaml:10, remove the entry");
  EXPECT_EQ(entry.failure.expected, "a failure: because, T-1, with signature " + kSignature);
  EXPECT_EQ(entry.failure.actual, "a pass");
  EXPECT_EQ(entry.failure.step, 0U);
  EXPECT_EQ(entry.failure.position.line, entry.test_case->position.line);
  EXPECT_EQ(signature(entry.failure), "");
  EXPECT_EQ(result.summary.failed, 1U);
  EXPECT_THAT(result.baseline_errors, ElementsAre("known.yaml:10: good passes: remove the entry"));
  EXPECT_EQ(exit_code(result), run::ExitCode::kFailed);
}

// It is the baseline that is wrong, regardless of the level of the rule.
TEST(Baseline, MakesNoWarningOfAPassThatItDoesNotExpect) {
  const run::SuiteResult result =
      applied({{"good", run::Verdict::kPassed, "R-SHOULD-1"}}, {fails("good")});
  EXPECT_EQ(result.summary.failed, 1U);
  EXPECT_EQ(result.summary.warnings, 0U);
  EXPECT_FALSE(is_warning(result.cases[0], catalogue(), false));
  EXPECT_EQ(exit_code(result), run::ExitCode::kFailed);
}

TEST(Baseline, KeepsAFailureOfAnotherKind) {
  const run::SuiteResult result =
      applied({{"bad", run::Verdict::kFailed, "R-MUST-1", "it's 3"}}, {fails("bad", kSignature)});
  const run::CaseResult& entry = result.cases[0];
  EXPECT_EQ(entry.verdict, run::Verdict::kFailed);
  EXPECT_FALSE(entry.unexpected_pass);
  EXPECT_EQ(entry.failure.message,
            "wrong; this is not the failure that known.yaml:10 knows: its signature is "
            "'R-MUST-1: wrong | want 1 | got it''s 3', the entry has '" +
                kSignature + "'");
  // The words of the baseline are no part of the signature.
  EXPECT_EQ(signature(entry.failure), "R-MUST-1: wrong | want 1 | got it's 3");
  EXPECT_EQ(entry.baseline, "because, T-1");
  EXPECT_THAT(result.baseline_errors,
              ElementsAre(AllOf(StartsWith("known.yaml:10: bad fails with another signature"),
                                HasSubstr("'R-MUST-1: wrong | want 1 | got it''s 3'"))));
  EXPECT_EQ(exit_code(result), run::ExitCode::kFailed);
}

TEST(Baseline, TakesTheSignatureBeforeItChangesTheMessage) {
  for (const BaselineEntry& entry :
       {fails("bad", "other"),
        flaky("bad", {run::Verdict::kPassed, run::Verdict::kInconclusive})}) {
    Sample run({{"bad", run::Verdict::kFailed}});
    apply(baseline_of({entry}), {.today = kToday, .whole_suite = true}, run.result);
    EXPECT_NE(run.result.cases[0].failure.message, "wrong");
    EXPECT_EQ(signature(run.result.cases[0].failure), kSignature);
  }
}

// A warning alone fails no run; an entry that is out of date does.
TEST(Baseline, FailsTheRunForAWarningOfAnotherKind) {
  const run::SuiteResult result =
      applied({{"odd", run::Verdict::kFailed, "R-SHOULD-1"}}, {fails("odd", kSignature)});
  EXPECT_EQ(result.summary.warnings, 1U);
  EXPECT_THAT(result.baseline_errors, SizeIs(1));
  EXPECT_EQ(exit_code(result), run::ExitCode::kFailed);
}

TEST(Baseline, CountsAKnownWarningAsAnExpectedFailure) {
  const run::SuiteResult result =
      applied({{"odd", run::Verdict::kFailed, "R-SHOULD-1"}}, {fails("odd")});
  EXPECT_EQ(result.summary.warnings, 0U);
  EXPECT_EQ(result.summary.expected_failures, 1U);
  EXPECT_EQ(exit_code(result), run::ExitCode::kConformant);
}

// --- entries that are wrong ---------------------------------------------------------------------

TEST(Baseline, RejectsAnEntryThatMatchesNoCase) {
  for (const BaselineEntry& entry :
       {fails("gone"), fails("gone.*"), skips("gone"),
        flaky("gone", {run::Verdict::kPassed, run::Verdict::kFailed})}) {
    const run::SuiteResult result = applied({{"good"}}, {entry});
    EXPECT_THAT(result.baseline_errors,
                ElementsAre(AllOf(StartsWith("known.yaml:10: gone"),
                                  HasSubstr("matches no case: remove the entry"))));
    EXPECT_EQ(exit_code(result), run::ExitCode::kFailed);
  }
}

TEST(Baseline, CannotTellOfCasesThatWereNotSelected) {
  const run::SuiteResult result =
      applied({{"good"}}, {fails("elsewhere"), fails("elsewhere.too")}, false);
  EXPECT_THAT(result.baseline_errors, IsEmpty());
  EXPECT_THAT(
      result.baseline_notes,
      ElementsAre("not judged, since this run selects none of their cases: 2 of 2 entries"));
  EXPECT_EQ(exit_code(result), run::ExitCode::kConformant);
  // What was selected is judged as ever.
  EXPECT_EQ(exit_code(applied({{"good"}}, {fails("good")}, false)), run::ExitCode::kFailed);
}

TEST(Baseline, RejectsAnEntryWithoutReason) {
  for (BaselineEntry entry : {fails("bad"), fails("gone"), flaky("bad", {run::Verdict::kFailed})}) {
    entry.reason.clear();
    entry.ticket.clear();
    const run::SuiteResult result = applied({{"bad", run::Verdict::kFailed}}, {entry}, false);
    EXPECT_THAT(result.baseline_errors,
                ElementsAre("known.yaml:10: " + entry.cases +
                            " has no reason: say why it is in the baseline"));
    EXPECT_EQ(exit_code(result), run::ExitCode::kFailed);
  }
}

TEST(Baseline, TakesAFailureWithoutReasonForKnown) {
  BaselineEntry entry = fails("bad");
  entry.reason.clear();
  const run::SuiteResult result = applied({{"bad", run::Verdict::kFailed}}, {entry});
  EXPECT_EQ(result.cases[0].verdict, run::Verdict::kExpectedFailure);
  EXPECT_EQ(result.cases[0].baseline, "no reason given, T-1");
}

TEST(Baseline, CountsAnEntryUpToItsLastDay) {
  BaselineEntry entry = fails("bad");
  entry.expires = kToday;
  EXPECT_EQ(exit_code(applied({{"bad", run::Verdict::kFailed}}, {entry})),
            run::ExitCode::kConformant);
  entry.expires = day(9);
  const run::SuiteResult late = applied({{"bad", run::Verdict::kFailed}}, {entry});
  EXPECT_EQ(late.cases[0].verdict, run::Verdict::kFailed);
  EXPECT_THAT(late.baseline_errors,
              ElementsAre(StartsWith("known.yaml:10: the entry for bad expired on 2026-05-09 "
                                     "(today is 2026-05-10): ")));
  EXPECT_EQ(exit_code(late), run::ExitCode::kFailed);
}

TEST(Baseline, RejectsAnExpiredEntryWhateverTheResultOfItsCase) {
  for (BaselineEntry entry : {fails("good"), skips("good"), fails("gone"),
                              flaky("good", {run::Verdict::kPassed, run::Verdict::kFailed})}) {
    entry.expires = day(9);
    const run::SuiteResult result = applied({{"good"}}, {entry}, false);
    EXPECT_THAT(result.baseline_errors, ElementsAre(HasSubstr("expired on 2026-05-09")));
    EXPECT_EQ(result.cases[0].verdict, run::Verdict::kPassed);
    EXPECT_EQ(exit_code(result), run::ExitCode::kFailed);
  }
}

// --- globs --------------------------------------------------------------------------------------

std::vector<SampleCase> many(std::size_t count, run::Verdict verdict) {
  std::vector<SampleCase> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({"x." + std::to_string(i), verdict});
  return out;
}

TEST(Baseline, KnowsEveryFailureThatAGlobMatches) {
  const run::SuiteResult result = applied(
      {{"x.a", run::Verdict::kFailed}, {"z.z"}, {"x.b", run::Verdict::kFailed}}, {fails("x.*")});
  EXPECT_EQ(result.summary.expected_failures, 2U);
  EXPECT_EQ(exit_code(result), run::ExitCode::kConformant);
}

TEST(Baseline, RefusesAPassThatAGlobMatches) {
  const run::SuiteResult result =
      applied({{"x.a", run::Verdict::kFailed}, {"x.b"}}, {fails("x.*")});
  EXPECT_EQ(result.cases[0].verdict, run::Verdict::kExpectedFailure);
  EXPECT_TRUE(result.cases[1].unexpected_pass);
  EXPECT_THAT(result.baseline_errors,
              ElementsAre("known.yaml:10: x.b passes: remove the entry, or narrow its glob x.*"));
  EXPECT_EQ(exit_code(result), run::ExitCode::kFailed);
}

TEST(Baseline, LetsAGlobCoverAsManyFailuresAsItMay) {
  BaselineEntry entry = fails("x.*");
  EXPECT_EQ(exit_code(applied(many(kDefaultMax, run::Verdict::kFailed), {entry})),
            run::ExitCode::kConformant);
  const run::SuiteResult over = applied(many(kDefaultMax + 1, run::Verdict::kFailed), {entry});
  EXPECT_THAT(over.baseline_errors,
              ElementsAre("known.yaml:10: the glob x.* covers 21 failing cases; its limit is 20 "
                          "(the default of max): narrow it, or set max: 21"));
  EXPECT_EQ(over.summary.failed, 21U);
  EXPECT_EQ(exit_code(over), run::ExitCode::kFailed);
  entry.max = 2;
  EXPECT_EQ(exit_code(applied(many(2, run::Verdict::kFailed), {entry})),
            run::ExitCode::kConformant);
  EXPECT_THAT(applied(many(3, run::Verdict::kFailed), {entry}).baseline_errors,
              ElementsAre(HasSubstr("covers 3 failing cases; its limit is 2: narrow it")));
  entry.max = 21;
  EXPECT_EQ(exit_code(applied(many(21, run::Verdict::kFailed), {entry})),
            run::ExitCode::kConformant);
}

TEST(Baseline, LimitsTheGlobsOfTheOtherListsToo) {
  const std::set<run::Verdict> all = {run::Verdict::kPassed, run::Verdict::kFailed,
                                      run::Verdict::kInconclusive};
  EXPECT_THAT(applied(many(21, run::Verdict::kInconclusive), {flaky("x.*", all)}).baseline_errors,
              ElementsAre(HasSubstr("covers 21 failing cases")));
  EXPECT_THAT(applied(many(21, run::Verdict::kPassed), {flaky("x.*", all)}).baseline_errors,
              IsEmpty());
  EXPECT_THAT(applied(many(21, run::Verdict::kSkipped), {skips("x.*")}).baseline_errors,
              ElementsAre(HasSubstr("covers 21 skipped cases")));
}

// --- cases that tell nothing --------------------------------------------------------------------

TEST(Baseline, NeitherConfirmsNorRejectsWithoutAVerdict) {
  for (const run::Verdict verdict : {run::Verdict::kSkipped, run::Verdict::kLost,
                                     run::Verdict::kNotRun, run::Verdict::kInconclusive}) {
    for (const BaselineEntry& entry :
         {fails("open", kSignature),
          flaky("open", {run::Verdict::kPassed, run::Verdict::kFailed})}) {
      const run::SuiteResult result = applied({{"open", verdict}, {"good"}}, {entry});
      EXPECT_EQ(result.cases[0].verdict, verdict);
      EXPECT_THAT(result.baseline_errors, IsEmpty());
      EXPECT_THAT(result.baseline_notes,
                  ElementsAre("not judged, since their cases were skipped, inconclusive or not "
                              "run: known.yaml:10 (open)"));
    }
  }
}

TEST(Baseline, NamesTenEntriesAtMostInANote) {
  std::vector<BaselineEntry> entries;
  for (const SampleCase& sample : many(12, run::Verdict::kNotRun))
    entries.push_back(fails(sample.id));
  EXPECT_THAT(applied(many(12, run::Verdict::kNotRun), entries).baseline_notes,
              ElementsAre(testing::EndsWith("known.yaml:19 (x.9) and 2 more")));
}

// --- flaky --------------------------------------------------------------------------------------

TEST(Baseline, AcceptsEachStatusOfAFlakyCaseAndCountsItHonestly) {
  const std::set<run::Verdict> all = {run::Verdict::kPassed, run::Verdict::kFailed,
                                      run::Verdict::kInconclusive};
  const run::SuiteResult pass = applied({{"f"}}, {flaky("f", all)});
  EXPECT_EQ(pass.summary.passed, 1U);
  EXPECT_THAT(
      pass.baseline_notes,
      ElementsAre("not needed this time, since their flaky cases passed: known.yaml:10 (f)"));
  const run::SuiteResult failure = applied({{"f", run::Verdict::kFailed}}, {flaky("f", all)});
  EXPECT_EQ(failure.summary.expected_failures, 1U);
  EXPECT_EQ(failure.summary.passed, 0U);
  EXPECT_EQ(failure.cases[0].baseline, "because");
  const run::SuiteResult open = applied({{"f", run::Verdict::kInconclusive}}, {flaky("f", all)});
  EXPECT_EQ(open.summary.expected_failures, 1U);
  EXPECT_EQ(open.summary.inconclusive, 0U);
  EXPECT_EQ(open.cases[0].baseline, "inconclusive this time: because");
  for (const run::SuiteResult* result : {&pass, &failure, &open}) {
    EXPECT_THAT(result->baseline_errors, IsEmpty());
    EXPECT_EQ(exit_code(*result), run::ExitCode::kConformant);
  }
}

TEST(Baseline, FailsAFlakyCaseThatEndsInAnotherWay) {
  const run::SuiteResult failure =
      applied({{"f", run::Verdict::kFailed}},
              {flaky("f", {run::Verdict::kPassed, run::Verdict::kInconclusive})});
  EXPECT_EQ(failure.cases[0].verdict, run::Verdict::kFailed);
  EXPECT_EQ(failure.cases[0].failure.message,
            "wrong; known.yaml:10 accepts passed, inconclusive only");
  EXPECT_EQ(signature(failure.cases[0].failure), kSignature);
  EXPECT_THAT(failure.baseline_errors, SizeIs(1));
  EXPECT_EQ(exit_code(failure), run::ExitCode::kFailed);
  const run::SuiteResult pass =
      applied({{"f"}}, {flaky("f", {run::Verdict::kFailed, run::Verdict::kInconclusive})});
  EXPECT_TRUE(pass.cases[0].unexpected_pass);
  EXPECT_EQ(exit_code(pass), run::ExitCode::kFailed);
}

TEST(Baseline, ComparesTheSignatureOfAFlakyCaseThatFails) {
  BaselineEntry entry = flaky("f", {run::Verdict::kPassed, run::Verdict::kFailed});
  entry.signature = kSignature;
  EXPECT_EQ(exit_code(applied({{"f", run::Verdict::kFailed}}, {entry})),
            run::ExitCode::kConformant);
  EXPECT_EQ(exit_code(applied({{"f", run::Verdict::kFailed, "R-MUST-1", "3"}}, {entry})),
            run::ExitCode::kFailed);
}

// --- skip ---------------------------------------------------------------------------------------

TEST(Baseline, SkipsACaseWithItsReason) {
  Sample run({{"a"}, {"crash.1"}, {"b"}, {"crash.2"}, {"c"}});
  const Baseline baseline = baseline_of({skips("crash.*")});
  std::vector<const scenario::Case*> selected;
  for (const scenario::Case& test_case : run.cases) selected.push_back(&test_case);
  const std::vector<const scenario::Case*> left = without_skipped(baseline, selected);
  EXPECT_THAT(left, ElementsAre(&run.cases[0], &run.cases[2], &run.cases[4]));
  run::SuiteResult result;
  for (const scenario::Case* test_case : left) {
    result.cases.push_back({.test_case = test_case, .verdict = run::Verdict::kPassed});
  }
  add_skipped(baseline, selected, result);
  apply(baseline, {.today = kToday, .whole_suite = true}, result);
  run::summarize(result, catalogue(), false);
  ASSERT_THAT(result.cases, SizeIs(5));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(result.cases[i].test_case, &run.cases[i]);
  EXPECT_EQ(result.cases[1].verdict, run::Verdict::kSkipped);
  EXPECT_EQ(result.cases[1].failure.message, "skipped by the baseline: because, T-1");
  EXPECT_EQ(result.cases[1].baseline, "because, T-1");
  EXPECT_EQ(result.cases[1].failure.position.line, run.cases[1].position.line);
  EXPECT_EQ(result.summary.skipped, 2U);
  EXPECT_EQ(result.summary.passed, 3U);
  EXPECT_THAT(result.baseline_errors, IsEmpty());
  EXPECT_THAT(result.baseline_notes, IsEmpty());
}

// What crashed the store may do so again: somebody has to decide first.
TEST(Baseline, SkipsStillAfterTheEntryHasExpired) {
  Sample run({{"crash"}});
  BaselineEntry entry = skips("crash");
  entry.expires = day(1);
  EXPECT_THAT(without_skipped(baseline_of({entry}), {&run.cases[0]}), IsEmpty());
}

// --- during the run -----------------------------------------------------------------------------

TEST(Baseline, KnowsDuringTheRunWhichFailureIsExpected) {
  Sample run({{"bad", run::Verdict::kFailed},
              {"other", run::Verdict::kFailed, "R-MUST-1", "3"},
              {"new", run::Verdict::kFailed},
              {"old", run::Verdict::kFailed},
              {"good"},
              {"late", run::Verdict::kInconclusive}});
  BaselineEntry old = fails("old");
  old.expires = day(9);
  const Baseline baseline =
      baseline_of({fails("bad", kSignature), fails("other", kSignature), old, fails("good"),
                   flaky("late", {run::Verdict::kPassed, run::Verdict::kInconclusive})});
  std::vector<bool> expected;
  for (run::CaseResult& result : run.result.cases) {
    expected.push_back(expects(baseline, {.today = kToday}, result));
  }
  EXPECT_THAT(expected, ElementsAre(true, false, false, false, false, true));
}

// --- what else decides --------------------------------------------------------------------------

// An endpoint that mixes dialects fails one case for each divergence. When that failure is known,
// no failure may be attributed to another case in its place.
TEST(Baseline, FailsNoSecondCaseForMixedForms) {
  const CaseText text{.more = "divergence: [set-not-applied]", .steps = R"(
- set: {key: k, value: "one"}
- set: {key: k, value: "two", options: [NX]}
  expect: not-applied
)"};
  std::vector<scenario::Case> cases;
  for (const char* id : {"one", "two", "three"}) {
    CaseText named = text;
    named.id = id;
    cases.push_back(case_of(named));
  }
  std::vector<const scenario::Case*> pointers;
  for (const scenario::Case& test_case : cases) pointers.push_back(&test_case);
  const auto count = std::make_shared<std::size_t>(0);
  FakeEndpoint endpoint({.behaviour = [count](const Published& request) {
    return Effects{reply(request, (*count)++ % 4 < 2 ? "-1\r\n" : ":-1\r\n")};
  }});
  const std::atomic<bool> stop{false};
  run::SuiteResult result =
      run::run_suite(endpoint, pointers, catalogue(), {.settings = settings()}, stop,
                     [](const auto&, auto, auto) {});
  ASSERT_EQ(result.summary.failed, 1U);
  const std::string seen = signature(result.cases[0].failure);
  EXPECT_THAT(seen, StartsWith("RESP-INVALID-1: the endpoint mixes both forms of set-not-applied"));
  apply(baseline_of({fails("one", seen)}), {.today = kToday, .whole_suite = true}, result);
  run::summarize(result, catalogue(), false);
  EXPECT_EQ(result.summary.failed, 0U);
  EXPECT_EQ(result.summary.passed, 2U);
  EXPECT_EQ(exit_code(result), run::ExitCode::kConformant);
}

}  // namespace
}  // namespace fencepost::baseline
