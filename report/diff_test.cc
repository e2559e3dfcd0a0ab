#include "report/diff.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/diff_report.h"
#include "suite/testing/failure_sample.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::report {
namespace {

using namespace test;  // made for this test
using namespace std::chrono_literals;
using codec::DialectId;
using codec::Divergence;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

scenario::Library sample_library() {
  scenario::Library out;
  out.catalogue = catalogue();
  for (const std::string id : {"a", "b", "c", "d", "e"}) {
    out.cases.push_back(case_of({.id = id, .steps = "- get: k\n  expect: missing\n"}));
  }
  return out;
}

// What became of a case.
struct SampleCase {
  std::string id;
  run::Verdict verdict = run::Verdict::kPassed;
  std::string requirement = "R-MUST-1";
  std::string message = "the reply is not the expected one";
  std::string actual = "+OK\\r\\n";
  std::size_t step = 1;
  std::vector<judge::SeenForm> forms{};
  std::vector<std::pair<std::string, std::string>> open_points{};
  bool unexpected_pass = false;
  std::vector<endpoint::Duration> round_trips{};
};

class Diff : public testing::Test {
 protected:
  Report report(const std::vector<SampleCase>& all) {
    Report out{.file = "r.json", .result = {}, .context = {}};
    out.context.endpoint = "mqtt://host:1883";
    out.context.started = "2026-01-01T00:00:00Z";
    for (const SampleCase& sample : all) {
      run::CaseResult entry{.test_case = find(sample.id), .verdict = sample.verdict};
      entry.failure.position = entry.test_case->position;
      entry.forms = sample.forms;
      entry.open_points = sample.open_points;
      entry.round_trips = sample.round_trips;
      entry.unexpected_pass = sample.unexpected_pass;
      if (sample.verdict != run::Verdict::kPassed) {
        entry.failure =
            test::failure(sample.requirement, sample.message, "$-1\\r\\n", sample.actual);
        entry.failure.step = sample.step;
        entry.failure.position = entry.test_case->steps[0].position;
      }
      out.result.cases.push_back(std::move(entry));
    }
    run::summarize(out.result, library_.catalogue, false);
    return out;
  }

  Comparison compared(const std::vector<SampleCase>& a, const std::vector<SampleCase>& b) {
    a_ = report(a);
    b_ = report(b);
    return compare(a_, b_, library_.catalogue);
  }

  std::string text(const Comparison& found, bool colour = false) {
    return diff_text(found, {"one.json", "inproc:", a_, b_, library_.catalogue}, colour);
  }

  [[nodiscard]] const scenario::Case* find(const std::string& id) const {
    for (const scenario::Case& test_case : library_.cases) {
      if (test_case.id == id) return &test_case;
    }
    return nullptr;
  }

  scenario::Library library_ = sample_library();
  Report a_;
  Report b_;
};

std::vector<std::string> ids(const std::vector<CasePair>& pairs) {
  std::vector<std::string> out;
  for (const CasePair& pair : pairs) out.push_back(pair.test_case().id);
  return out;
}

// What differs by chance is no part of a failure: run/failure.h.
TEST_F(Diff, FindsNothingBetweenRunsThatDifferByChanceAlone) {
  const Comparison found = compared(
      {{.id = "a"},
       {.id = "b", .verdict = run::Verdict::kFailed, .actual = "at 001767225600000:00000"},
       {.id = "c", .verdict = run::Verdict::kFailed, .actual = "the store stood still for 12 ms"}},
      {{.id = "a"},
       {.id = "b", .verdict = run::Verdict::kFailed, .actual = "at 001767225612345:00003"},
       {.id = "c",
        .verdict = run::Verdict::kFailed,
        .actual = "the store stood still for 3000 ms"}});
  EXPECT_FALSE(found.differs());
  EXPECT_EQ(found.compared, 3U);
  EXPECT_EQ(exit_code(found), run::ExitCode::kConformant);
  EXPECT_EQ(diff_verdict(found), "they behave alike: 3 cases compared");
}

TEST_F(Diff, PutsTheMostImportantVerdictFirst) {
  const run::Verdict failed = run::Verdict::kFailed;
  const Comparison found = compared({{.id = "a", .verdict = failed, .requirement = "R-SHOULD-1"},
                                     {.id = "b"},
                                     {.id = "c", .verdict = failed, .requirement = "R-MUST-2"},
                                     {.id = "d"},
                                     {.id = "e"}},
                                    {{.id = "a"},
                                     {.id = "b", .verdict = failed, .requirement = "R-SHOULD-1"},
                                     {.id = "c"},
                                     {.id = "d", .verdict = failed},
                                     {.id = "e", .verdict = failed}});
  EXPECT_THAT(ids(found.verdicts), ElementsAre("d", "e", "c", "b", "a"));
  EXPECT_EQ(exit_code(found), run::ExitCode::kFailed);
  EXPECT_EQ(diff_verdict(found), "they differ in 5 verdicts; 5 cases compared");
}

// A baseline changes the verdict and not the endpoint.
TEST_F(Diff, LooksThroughBaselines) {
  const Comparison found =
      compared({{.id = "a", .verdict = run::Verdict::kFailed}, {.id = "b"}, {.id = "c"}},
               {{.id = "a", .verdict = run::Verdict::kExpectedFailure},
                {.id = "b", .verdict = run::Verdict::kFailed, .unexpected_pass = true},
                {.id = "c", .verdict = run::Verdict::kExpectedFailure}});
  EXPECT_THAT(ids(found.verdicts), ElementsAre("c"));
  EXPECT_THAT(found.failures, IsEmpty());
}

TEST_F(Diff, FindsCasesThatFailInAnotherWay) {
  const SampleCase same{.id = "a", .verdict = run::Verdict::kFailed};
  const std::pair<std::string, SampleCase> table[] = {
      {"another rule", {.id = "a", .verdict = run::Verdict::kFailed, .requirement = "R-MUST-2"}},
      {"another step", {.id = "a", .verdict = run::Verdict::kFailed, .step = 0}},
      {"another reason", {.id = "a", .verdict = run::Verdict::kFailed, .message = "no response"}},
      {"another reply", {.id = "a", .verdict = run::Verdict::kFailed, .actual = "-ERR x\\r\\n"}}};
  for (const auto& [what, other] : table) {
    SCOPED_TRACE(what);
    const Comparison found = compared({same}, {other});
    EXPECT_THAT(ids(found.failures), ElementsAre("a"));
    EXPECT_THAT(found.verdicts, IsEmpty());
    EXPECT_TRUE(found.differs());
    EXPECT_EQ(diff_verdict(found), "they differ in 1 way to fail; 1 case compared");
  }
}

TEST_F(Diff, FindsOtherFormsAndOutcomesInTheSameCase) {
  const judge::SeenForm deployed{Divergence::kSetNotApplied, DialectId::kDeployed};
  const judge::SeenForm documented{Divergence::kSetNotApplied, DialectId::kDocumented};
  const judge::SeenForm operation{Divergence::kDeleteOperation, DialectId::kDeployed};
  const Comparison found =
      compared({{.id = "a", .forms = {deployed, operation}, .open_points = {{"R-MAY-1", "x"}}},
                {.id = "b", .forms = {deployed}, .open_points = {{"R-MAY-1", "x"}}},
                {.id = "c", .open_points = {{"R-MAY-1", "x"}, {"R-MAY-1", "y"}}}},
               {{.id = "a", .forms = {documented}, .open_points = {{"R-MAY-1", "y"}}},
                {.id = "b", .forms = {documented}, .open_points = {{"R-MAY-1", "x"}}},
                {.id = "c", .open_points = {{"R-MAY-1", "y"}, {"R-MAY-1", "x"}}}});
  ASSERT_EQ(found.forms.size(), 1U);
  EXPECT_EQ(found.forms[0].what, "set-not-applied");
  EXPECT_THAT(found.forms[0].a, ElementsAre("deployed"));
  EXPECT_THAT(found.forms[0].b, ElementsAre("documented"));
  EXPECT_THAT(found.forms[0].cases, ElementsAre(find("a"), find("b")));
  ASSERT_EQ(found.open_points.size(), 1U);
  EXPECT_THAT(found.open_points[0].cases, ElementsAre(find("a")));
  EXPECT_EQ(diff_verdict(found),
            "they differ in 1 form of the dialects, 1 open point; 3 cases compared");
}

TEST_F(Diff, DoesNotJudgeWhatOneOfThemDidNotDecide) {
  for (const run::Verdict verdict : {run::Verdict::kInconclusive, run::Verdict::kSkipped,
                                     run::Verdict::kLost, run::Verdict::kNotRun}) {
    const Comparison found =
        compared({{.id = "a"}, {.id = "b"}}, {{.id = "a", .verdict = verdict}, {.id = "b"}});
    EXPECT_THAT(ids(found.undecided), ElementsAre("a"));
    EXPECT_FALSE(found.differs());
    EXPECT_EQ(found.compared, 1U);
    EXPECT_EQ(exit_code(found), run::ExitCode::kInconclusive);
  }
  EXPECT_THAT(compared({{.id = "a", .verdict = run::Verdict::kInconclusive}},
                       {{.id = "a", .verdict = run::Verdict::kInconclusive}})
                  .undecided,
              testing::SizeIs(1));
}

TEST_F(Diff, DoesNotMindWhatNeitherCanDo) {
  const Comparison found = compared({{.id = "a", .verdict = run::Verdict::kSkipped}, {.id = "b"}},
                                    {{.id = "a", .verdict = run::Verdict::kSkipped}, {.id = "b"}});
  EXPECT_EQ(found.skipped, 1U);
  EXPECT_EQ(exit_code(found), run::ExitCode::kConformant);
}

TEST_F(Diff, NamesCasesThatOnlyOneOfThemHas) {
  const Comparison found = compared({{.id = "a"}, {.id = "b"}}, {{.id = "b"}, {.id = "c"}});
  EXPECT_THAT(found.only_in_a, ElementsAre(find("a")));
  EXPECT_THAT(found.only_in_b, ElementsAre(find("c")));
  EXPECT_EQ(exit_code(found), run::ExitCode::kInconclusive);
  EXPECT_EQ(diff_verdict(found),
            "no difference, but not everything could be compared: 1 case compared, 2 not");
}

TEST_F(Diff, HasTheExitCodesOfTheContract) {
  const SampleCase failed{.id = "a", .verdict = run::Verdict::kFailed};
  Comparison found = compared({{.id = "a"}}, {failed});
  found.endpoint_lost = true;
  EXPECT_EQ(exit_code(found), run::ExitCode::kFailed);
  found = compared({{.id = "a"}}, {{.id = "a"}});
  found.endpoint_lost = true;
  EXPECT_EQ(exit_code(found), run::ExitCode::kUnreachable);
  found = compared({{.id = "a"}}, {{.id = "b"}});
  EXPECT_EQ(exit_code(found), run::ExitCode::kNothingSelected);
  EXPECT_EQ(diff_verdict(found), "nothing was compared");
}

TEST_F(Diff, SaysThatAnEndpointWasLost) {
  a_ = report({{.id = "a"}});
  b_ = report({{.id = "a"}});
  b_.result.endpoint_lost = true;
  EXPECT_TRUE(compare(a_, b_, library_.catalogue).endpoint_lost);
  EXPECT_TRUE(compare(b_, a_, library_.catalogue).endpoint_lost);
}

TEST_F(Diff, ComparesRoundTripsOfTheCasesThatItCompares) {
  const Comparison found = compared(
      {{.id = "a", .round_trips = {30ms, 10ms, 20ms}},
       {.id = "b", .round_trips = {99ms, 99ms, 99ms, 99ms}}},
      {{.id = "a", .round_trips = {50ms}}, {.id = "b", .verdict = run::Verdict::kSkipped}});
  EXPECT_EQ(found.latency.a, 20ms);
  EXPECT_EQ(found.latency.b, 50ms);
  EXPECT_DOUBLE_EQ(found.latency.ratio(), 2.5);
  EXPECT_EQ(found.unloaded.ratio(), 0);
  EXPECT_FALSE(found.differs());
}

TEST_F(Diff, TellsHowTheRunsThemselvesWereNotAlike) {
  a_ = report({{.id = "a"}});
  b_ = report({{.id = "a"}});
  b_.context.profile = codec::Profile::kDeployed;
  b_.context.strict = true;
  b_.context.seed = 9;
  const Comparison found = compare(a_, b_, library_.catalogue);
  EXPECT_THAT(found.conditions, ElementsAre("profile auto in A, deployed in B",
                                            "--strict off in A, on in B", "seed 0 in A, 9 in B"));
  EXPECT_EQ(exit_code(found), run::ExitCode::kConformant);
  EXPECT_THAT(text(found), HasSubstr("  not the same conditions: seed 0 in A, 9 in B\n"));
}

TEST_F(Diff, LeavesOutWhatIsNotSelected) {
  const Report part = selected(report({{.id = "a"}, {.id = "b"}, {.id = "c"}}),
                               {.run = {"a", "c"}, .skip = {"c"}}, library_.catalogue);
  ASSERT_EQ(part.result.cases.size(), 1U);
  EXPECT_EQ(part.result.cases[0].test_case->id, "a");
  EXPECT_EQ(part.result.summary.passed, 1U);
}

TEST_F(Diff, IsReadable) {
  const Comparison found =
      compared({{.id = "a"},
                {.id = "b", .verdict = run::Verdict::kFailed},
                {.id = "c", .open_points = {{"R-MAY-1", "x"}}},
                {.id = "d"}},
               {{.id = "a", .verdict = run::Verdict::kFailed, .requirement = "R-SHOULD-1"},
                {.id = "b", .verdict = run::Verdict::kFailed, .actual = "-1"},
                {.id = "c", .open_points = {{"R-MAY-1", "y"}}},
                {.id = "e"}});
  EXPECT_EQ(text(found), "fencepost diff " + std::string(suite_version()) + R"(
  A  one.json  profile auto, dialect unknown, 4 cases, started 2026-01-01T00:00:00Z
  B  inproc:  profile auto, dialect unknown, 4 cases, started 2026-01-01T00:00:00Z

1 case passes in one alone
  a: passed in A, warning in B  (A case)
      rule      R-SHOULD-1 (should): A recommendation.
      because   the reply is not the expected one, step 1 at t.yaml:7
      expected  $-1\r\n
      actual    +OK\r\n

1 case fails in both, not alike
  b  (A case)
    A failed
      rule      R-MUST-1 (must): The first rule.
      because   the reply is not the expected one, step 1 at t.yaml:7
      expected  $-1\r\n
      actual    +OK\r\n
    B failed
      rule      R-MUST-1 (must): The first rule.
      because   the reply is not the expected one, step 1 at t.yaml:7
      expected  $-1\r\n
      actual    -1

what the article leaves open differs in
  R-MAY-1: x in A, y in B  (1 case: c)

could not be compared
  1 case not among those of A: e
  1 case not among those of B: d

what varies, and decides nothing
  round trip (p50) in the cases 0.000 ms in A, 0.000 ms in B
  round trip (p50) before the run 0.000 ms in A, 0.000 ms in B
  clock offset 0 ms in A, 0 ms in B

they differ in 1 verdict, 1 way to fail, 1 open point; 3 cases compared
)");
  EXPECT_THAT(text(found, true), HasSubstr("\033[31mthey differ in"));
}

TEST_F(Diff, IsADocument) {
  const Comparison found = compared(
      {{.id = "a"}, {.id = "b"}},
      {{.id = "a", .verdict = run::Verdict::kFailed}, {.id = "b", .verdict = run::Verdict::kLost}});
  const auto out =
      nlohmann::json::parse(diff_json(found, {"one.json", "inproc:", a_, b_, library_.catalogue}));
  EXPECT_EQ(out["exit_code"], 1);
  EXPECT_EQ(out["differs"], true);
  EXPECT_EQ(out["a"]["name"], "one.json");
  EXPECT_EQ(out["compared"], 1);
  EXPECT_EQ(out["verdicts"], nlohmann::json::parse(R"([{"id": "a",
    "a": {"verdict": "passed", "requirement": "", "step": 0, "line": 3, "message": "",
          "expected": "", "actual": ""},
    "b": {"verdict": "failed", "requirement": "R-MUST-1", "step": 1, "line": 7,
          "message": "the reply is not the expected one", "expected": "$-1\\r\\n",
          "actual": "+OK\\r\\n"}}])"));
  EXPECT_EQ(out["undecided"][0]["b"]["verdict"], "lost");
}

}  // namespace
}  // namespace fencepost::report
