#include "suite/run/run_end.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

TEST(NothingRun, HasEachCaseAsNotRun) {
  const scenario::Case one = test::case_of({.id = "one", .steps = "- get: k\n  expect: missing\n"});
  const scenario::Case two = test::case_of({.id = "two", .steps = "- get: k\n  expect: missing\n"});
  for (const bool lost : {false, true}) {
    const SuiteResult out = nothing_run({&one, &two}, lost);
    ASSERT_EQ(out.cases.size(), 2U);
    EXPECT_EQ(out.cases[1].test_case, &two);
    EXPECT_EQ(out.cases[1].verdict, Verdict::kNotRun);
    EXPECT_EQ(out.cases[1].failure.position.line, two.position.line);
    EXPECT_EQ(out.summary.not_run, 2U);
    EXPECT_EQ(out.endpoint_lost, lost);
    EXPECT_EQ(exit_code(out), lost ? ExitCode::kUnreachable : ExitCode::kInconclusive);
  }
}

TEST(WhyStopped, SaysWhatKeptCasesFromRunning) {
  SuiteResult result;
  EXPECT_EQ(why_stopped(result, {.failures = 3, .most = 3}), "");
  result.interrupted = true;
  EXPECT_EQ(why_stopped(result, {}), "interrupted");
  EXPECT_EQ(why_stopped(result, {.failures = 5}), "interrupted");
  EXPECT_EQ(why_stopped(result, {.failures = 2, .most = 3}), "interrupted");
  EXPECT_EQ(why_stopped(result, {.failures = 1, .most = 1}),
            "stopped after 1 failure (--max-failures)");
  EXPECT_EQ(why_stopped(result, {.failures = 4, .most = 3}),
            "stopped after 4 failures (--max-failures)");
  result.endpoint_lost = true;
  result.lost_message = "gone";
  EXPECT_EQ(why_stopped(result, {.failures = 4, .most = 3}),
            "the endpoint was lost during the run: gone");
}

TEST(ExitCodeWithoutSkips, FailsARunThatSkippedAndElseIsWell) {
  for (const ExitCode code :
       {ExitCode::kConformant, ExitCode::kInconclusive, ExitCode::kNothingSelected}) {
    EXPECT_EQ(exit_code_without_skips(code, {.skipped = 1}), ExitCode::kFailed);
    EXPECT_EQ(exit_code_without_skips(code, {.passed = 1}), code);
  }
  for (const ExitCode code : {ExitCode::kFailed, ExitCode::kUsage, ExitCode::kUnreachable,
                              ExitCode::kInternal, ExitCode::kInterrupted}) {
    EXPECT_EQ(exit_code_without_skips(code, {.skipped = 1}), code);
  }
}

TEST(ExitCode, FailsWhereConcurrentClientsSawARuleBroken) {
  SuiteResult result{.cases = {{}}, .summary = {.passed = 1}};
  EXPECT_EQ(exit_code(result), ExitCode::kConformant);
  result.stress = StressResult{.findings = {{.fails = false}}};
  EXPECT_EQ(exit_code(result), ExitCode::kConformant);
  result.stress->findings.push_back({.fails = true});
  EXPECT_EQ(exit_code(result), ExitCode::kFailed);
}

TEST(TellingWhy, TakesAMomentFromTheFirstCallOn) {
  std::chrono::steady_clock::time_point now{};
  TellingWhy telling([&] { return now; });
  EXPECT_FALSE(telling.is_over());
  telling.begin();
  EXPECT_FALSE(telling.is_over());
  now += TellingWhy::kTime / 2;
  telling.begin();  // of a further failure
  now += TellingWhy::kTime / 2;
  EXPECT_TRUE(telling.is_over());
}

}  // namespace
}  // namespace fencepost::run
