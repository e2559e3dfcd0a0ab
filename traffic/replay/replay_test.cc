#include "traffic/replay/replay.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/scenario/scenario_fixture.h"
#include "suite/testing/failure_sample.h"

namespace fencepost::replay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kSignature = "SET-NX-1: wrong | want a | got b";

run::CaseResult passed() { return {.verdict = run::Verdict::kPassed}; }
run::CaseResult failed(const std::string& actual = "b",
                       const std::string& requirement = "SET-NX-1") {
  return {.verdict = run::Verdict::kFailed,
          .failure = test::failure(requirement, "wrong", "a", actual)};
}
run::CaseResult inconclusive() {
  return {.verdict = run::Verdict::kInconclusive, .failure = {.message = "too late"}};
}

scenario::Case case_of(std::optional<scenario::Recorded> recorded) {
  scenario::Case out;
  out.id = "one";
  out.recorded = std::move(recorded);
  return out;
}

const scenario::Recorded kRecorded{.by = "hand",
                                   .when = "2026-01-01T00:00:00Z",
                                   .seed = 7,
                                   .requirement = "SET-NX-1",
                                   .signature = kSignature,
                                   .message = "wrong",
                                   .actual = "b"};

// --- classification ------------------------------------------------------------------------------

TEST(Replay, ComparesWithWhatIsRecorded) {
  const struct {
    std::vector<run::CaseResult> results;
    Replayed recorded;  // of a case with a recorded failure
    Replayed plain;     // of one without
  } kTable[] = {
      {{passed()}, Replayed::kFixed, Replayed::kPasses},
      {{failed()}, Replayed::kStillFailing, Replayed::kFails},
      {{failed("c")}, Replayed::kChanged, Replayed::kFails},
      {{failed("c"), failed()}, Replayed::kStillFailing, Replayed::kFails},
      {{failed(), inconclusive()}, Replayed::kStillFailing, Replayed::kFails},
      {{passed(), failed(), inconclusive()}, Replayed::kFlaky, Replayed::kFlaky},
      {{passed(), inconclusive()}, Replayed::kInconclusive, Replayed::kInconclusive},
      {{{.verdict = run::Verdict::kSkipped}}, Replayed::kSkipped, Replayed::kSkipped},
      {{passed(), {.verdict = run::Verdict::kNotRun}}, Replayed::kNotRun, Replayed::kNotRun},
      {{{.verdict = run::Verdict::kLost}}, Replayed::kNotRun, Replayed::kNotRun},
  };
  const scenario::Case recorded = case_of(kRecorded);
  const scenario::Case plain = case_of(scenario::Recorded{.by = "record"});
  const scenario::Case bare = case_of({});
  for (const auto& row : kTable) {
    EXPECT_EQ(classify(recorded, row.results).outcome, row.recorded) << &row - kTable;
    EXPECT_EQ(classify(plain, row.results).outcome, row.plain) << &row - kTable;
    EXPECT_EQ(classify(bare, row.results).outcome, row.plain) << &row - kTable;
  }
}

TEST(Replay, KnowsAFailureByItsRequirementWhereThereIsNoSignature) {
  const scenario::Case test_case =
      case_of(scenario::Recorded{.by = "hand", .requirement = "SET-NX-1"});
  EXPECT_EQ(classify(test_case, {failed("anything")}).outcome, Replayed::kStillFailing);
  EXPECT_EQ(classify(test_case, {failed("b", "GET-HIT-1")}).outcome, Replayed::kChanged);
}

TEST(Replay, CountsAndShowsTheRunThatTellsMost) {
  const scenario::Case test_case = case_of(kRecorded);
  const Replay replay =
      classify(test_case, {passed(), failed("c"), failed(), inconclusive(), failed()});
  EXPECT_EQ(replay.runs, 5U);
  EXPECT_EQ(replay.passed, 1U);
  EXPECT_EQ(replay.failed, 3U);
  EXPECT_EQ(replay.inconclusive, 1U);
  EXPECT_FALSE(replay.always_alike);
  EXPECT_EQ(replay.result.failure.actual, "b");  // as recorded, though another one came first
}

TEST(Replay, RecordsAFailureThatItKnowsAgain) {
  const scenario::Recorded recorded = with_failure({.by = "explore"}, failed());
  EXPECT_EQ(recorded.signature, kSignature);
  EXPECT_EQ(recorded.requirement, "SET-NX-1");
  EXPECT_EQ(recorded.expected, "a");
  EXPECT_TRUE(is_as_recorded(recorded, failed()));
  EXPECT_FALSE(is_as_recorded(recorded, failed("c")));
}

// --- the whole -----------------------------------------------------------------------------------

ReplayRun run_of(const std::vector<Replayed>& outcomes) {
  ReplayRun out;
  for (const Replayed outcome : outcomes) out.cases.push_back({.outcome = outcome});
  return out;
}

TEST(ReplayRun, HasAnExitCode) {
  using enum Replayed;
  EXPECT_EQ(exit_code(run_of({kFixed, kPasses, kSkipped})), run::ExitCode::kConformant);
  for (const Replayed failure : {kStillFailing, kChanged, kFails, kFlaky}) {
    EXPECT_EQ(exit_code(run_of({kFixed, failure, kInconclusive})), run::ExitCode::kFailed);
  }
  EXPECT_EQ(exit_code(run_of({kFixed, kInconclusive})), run::ExitCode::kInconclusive);
  EXPECT_EQ(exit_code(run_of({kFixed, kNotRun})), run::ExitCode::kInconclusive);
  EXPECT_EQ(exit_code(run_of({kSkipped})), run::ExitCode::kNothingSelected);
  ReplayRun ended = run_of({kFixed, kNotRun});
  ended.interrupted = true;
  EXPECT_EQ(exit_code(ended), run::ExitCode::kInterrupted);
  ended.endpoint_lost = true;
  EXPECT_EQ(exit_code(ended), run::ExitCode::kUnreachable);
  ended.mixed_forms = {"set-not-applied"};
  EXPECT_EQ(exit_code(ended), run::ExitCode::kFailed);
  ended.not_begun = run::ExitCode::kUnreachable;
  EXPECT_EQ(exit_code(ended), run::ExitCode::kUnreachable);
  ended.load_errors = {"f:1:1: no"};
  EXPECT_EQ(exit_code(ended), run::ExitCode::kUsage);
}

TEST(ReplayRun, IsSummedUp) {
  EXPECT_EQ(summary(run_of({Replayed::kFlaky})), "1 case: 1 flaky");
  EXPECT_EQ(summary(run_of({Replayed::kFails, Replayed::kFixed, Replayed::kFails})),
            "3 cases: 1 fixed, 2 fail");
}

// --- healing -------------------------------------------------------------------------------------

TEST(ReplayHealing, DecidesWhatIsToBeWritten) {
  const scenario::Case test_case = case_of(kRecorded);
  const auto fixed = healed(classify(test_case, {passed()}));
  ASSERT_TRUE(fixed);
  EXPECT_EQ(*fixed, (scenario::Recorded{.by = "hand", .when = "2026-01-01T00:00:00Z", .seed = 7}));
  const auto changed = healed(classify(test_case, {failed("c"), failed("c")}));
  ASSERT_TRUE(changed);
  scenario::Recorded expected = kRecorded;
  expected.signature = "SET-NX-1: wrong | want a | got c";
  expected.actual = "c";
  EXPECT_EQ(*changed, expected);  // `expected` was not recorded, and is not added
}

TEST(ReplayHealing, LeavesAloneWhatIsNotCertain) {
  const scenario::Case test_case = case_of(kRecorded);
  const struct {
    std::vector<run::CaseResult> results;
    const char* reason;
  } kTable[] = {
      {{failed()}, "fails as recorded"},
      {{failed(), passed()}, "it failed in 1 of 2 runs"},
      {{failed("c"), failed("d")}, "differ from run to run"},
      {{failed("c"), inconclusive()}, "only 1 of 2 runs were judged"},
      {{passed(), inconclusive()}, "it is inconclusive: too late"},
      {{{.verdict = run::Verdict::kSkipped, .failure = {.message = "no quota"}}},
       "it is skipped: no quota"},
      {{passed(), {.verdict = run::Verdict::kNotRun}}, "it is not run"},
  };
  for (const auto& row : kTable) {
    const auto out = healed(classify(test_case, row.results));
    ASSERT_FALSE(out) << row.reason;
    EXPECT_THAT(out.error(), HasSubstr(row.reason));
  }
}

// Each is the text of `recorded` in a case, and what it is when the case is fixed and when it has
// changed.
struct Edit {
  const char* before;
  const char* fixed;
  const char* changed;
};

std::string healed_text(const std::string& before, const run::CaseResult& result) {
  const scenario::SourceFile file{"f", scenario::in_case(before)};
  const scenario::Loaded cases = scenario::load(file.content);
  EXPECT_THAT(cases.diagnostics(), IsEmpty()) << before;
  if (cases.cases.empty()) return {};
  const auto text =
      healed(classify(cases.cases.front(), {result})).and_then([&](const scenario::Recorded& to) {
        return heal(file, "one", to, scenario::kRequirements);
      });
  return text ? *text : "error: " + text.error();
}

const Edit kEdits[] = {
    {"recorded:  # found\n  # One.\n  by: hand\n\n  requirement: SET-NX-1\n  # Two.\n"
     "  seed: 1  # lucky\n# Three.\ntags: [x]",
     "recorded:  # found\n  # One.\n  by: hand\n\n  # Two.\n  seed: 1  # lucky\n# Three.\n"
     "tags: [x]",
     "recorded:  # found\n  # One.\n  by: hand\n\n  requirement: GET-HIT-1\n  # Two.\n"
     "  seed: 1  # lucky\n# Three.\ntags: [x]"},
    {"recorded:\n    signature:   \"x # y\"   # it's 'so'\n    by: hand\n    message: it's # no",
     "recorded:\n    # it's 'so'\n    by: hand\n    # no",
     "recorded:\n    signature:   'GET-HIT-1: wrong | want a | got it''s c'   # it's 'so'\n"
     "    by: hand\n    message: 'wrong' # no"},
    {"recorded: {by: hand, requirement: SET-NX-1, signature: 'a, b}', seed: 1}",
     "recorded: {by: hand, seed: 1}",
     "recorded: {by: hand, requirement: GET-HIT-1, signature: 'GET-HIT-1: wrong | want a | got "
     "it''s c', seed: 1}"},
    {"recorded: {requirement: SET-NX-1 , by: hand,\n  actual: \"\\\"\" }  # flow",
     "recorded: {by: hand }  # flow",
     "recorded: {requirement: GET-HIT-1 , by: hand,\n  actual: 'it''s c' }  # flow"},
    {"recorded: {by: hand, signature: a # b\n  }", "recorded: {by: hand # b\n  }",
     "recorded: {by: hand, signature: 'GET-HIT-1: wrong | want a | got it''s c' # b\n  }"},
    {"recorded:\n  by: hand\n  requirement: 'GET-HIT-1'\n  actual: x", "recorded:\n  by: hand",
     "error: it fails as recorded"},
};

TEST(ReplayHealing, LeavesAllOtherBytesAsTheyAre) {
  for (const Edit& edit : kEdits) {
    EXPECT_EQ(healed_text(edit.before, passed()), scenario::in_case(edit.fixed));
    const std::string changed = healed_text(edit.before, failed("it's c", "GET-HIT-1"));
    const bool refused = std::string(edit.changed).starts_with("error");
    EXPECT_EQ(changed, refused ? edit.changed : scenario::in_case(edit.changed));
  }
}

TEST(ReplayHealing, KeepsOtherCasesAndLineEnds) {
  std::string text =
      "area: x\r\ncases:\r\n- id: a\r\n  title: t\r\n  requirements: [GET-HIT-1]\r\n"
      "  recorded:\r\n    by: hand\r\n    requirement: SET-NX-1\r\n  steps: [{get: k, expect: "
      "ok}]\r\n";
  text += "- id: b\r\n" + text.substr(text.find("  title"));
  const auto out = heal({"f", text}, "b", {.by = "hand"}, scenario::kRequirements);
  ASSERT_TRUE(out) << out.error();
  const std::string member = "    requirement: SET-NX-1\r\n";
  const std::size_t at = text.rfind(member);
  EXPECT_EQ(*out, text.substr(0, at) + text.substr(at + member.size()));
}

TEST(ReplayHealing, RefusesWhatIsWrittenInAWayOfItsOwn) {
  for (const char* lines : {"recorded:\n  by: hand\n  signature: |\n    x\n",
                            "recorded:\n  by: hand\n  signature: a\n    b\n",
                            "recorded:\n  by: hand\n  signature: 'a\n    b'\n",
                            "recorded:\n  by: hand\n  \"signature\": a\n",
                            "recorded:\n  by: hand\n  ? signature\n  : a\n"}) {
    const std::string out = healed_text(lines, passed());
    EXPECT_THAT(out, HasSubstr("error: ")) << lines;
    EXPECT_THAT(out, HasSubstr("by hand")) << lines;
  }
}

TEST(ReplayHealing, RefusesACaseThatIsNotThere) {
  const auto out =
      heal({"f", scenario::in_case("")}, "one", {.by = "hand"}, scenario::kRequirements);
  EXPECT_FALSE(out);
}

}  // namespace
}  // namespace fencepost::replay
