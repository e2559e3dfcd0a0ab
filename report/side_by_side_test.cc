#include "report/side_by_side.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "suite/testing/failure_sample.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::report {
namespace {

using namespace test;  // made for this test
using codec::DialectId;
using codec::Divergence;
using run::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

scenario::Library library_of_cases() {
  scenario::Library out;
  out.catalogue = catalogue();
  for (const std::string id : {"a", "b", "c", "d", "e"}) {
    out.cases.push_back(case_of({.id = id, .steps = "- get: k\n  expect: missing\n"}));
  }
  return out;
}

// What became of a case.
struct EndedCase {
  std::string id;
  Verdict verdict = Verdict::kPassed;
  std::string requirement = "R-MUST-1";
  std::string message = "the reply is not the expected one";
  std::string actual = "+OK\\r\\n";
  std::size_t step = 1;
  std::vector<judge::SeenForm> forms{};
  std::vector<std::pair<std::string, std::string>> unspecified_points{};
  bool unexpected_pass = false;
};

class SideBySideTest : public testing::Test {
 protected:
  Column column(const std::string& name, const std::vector<EndedCase>& all,
                const ReportContext& context = {}) {
    run::SuiteResult result;
    for (const EndedCase& sample : all) {
      run::CaseResult entry{.test_case = find(sample.id), .verdict = sample.verdict};
      entry.forms = sample.forms;
      entry.unspecified_points = sample.unspecified_points;
      entry.unexpected_pass = sample.unexpected_pass;
      if (sample.verdict != Verdict::kPassed) {
        entry.failure =
            test::failure(sample.requirement, sample.message, "$-1\\r\\n", sample.actual);
        entry.failure.step = sample.step;
        entry.failure.position = entry.test_case->steps[0].position;
      }
      for (const auto& [divergence, dialect] : entry.forms)
        result.forms[divergence].insert(dialect);
      for (const auto& [id, outcome] : entry.unspecified_points)
        result.unspecified_points[id].insert(outcome);
      result.cases.push_back(std::move(entry));
    }
    run::summarize(result, library_.catalogue, context.strict);
    ReportContext said = context;
    said.endpoint = "mqtt://host:1883";
    said.started = "2026-01-01T00:00:00Z";
    auto out = read_column({name + ".json", to_json(result, library_.catalogue, said)}, name);
    EXPECT_TRUE(out) << (out ? "" : out.error());
    return out ? *out : Column{};
  }

  SideBySide compared(const std::vector<EndedCase>& a, const std::vector<EndedCase>& b) {
    return side_by_side({column("one", a), column("two", b)}, library_.catalogue);
  }

  [[nodiscard]] const scenario::Case* find(const std::string& id) const {
    for (const scenario::Case& test_case : library_.cases) {
      if (test_case.id == id) return &test_case;
    }
    return nullptr;
  }

  scenario::Library library_ = library_of_cases();
};

std::vector<std::string> ids(const std::vector<ComparedRow>& rows, bool differs) {
  std::vector<std::string> out;
  for (const ComparedRow& row : rows) {
    if (row.differs == differs) out.push_back(row.id);
  }
  return out;
}

// What differs by chance is no part of a failure: run/failure.h.
TEST_F(SideBySideTest, FindsNothingBetweenRunsThatDifferByChanceAlone) {
  const auto runs_at = [](const std::string& version, const std::string& time) {
    return std::vector<EndedCase>{
        {.id = "a"},
        {.id = "b", .verdict = Verdict::kFailed, .actual = "at " + version},
        {.id = "c", .verdict = Verdict::kFailed, .actual = "the store stood still for " + time}};
  };
  const SideBySide found = compared(runs_at("001767225600000:00000", "12 ms"),
                                    runs_at("001767225612345:00003", "3000 ms"));
  EXPECT_FALSE(found.differs());
  EXPECT_EQ(exit_code(found), run::ExitCode::kConformant);
  EXPECT_EQ(side_by_side_verdict(found), "2 runs: no difference; 3 cases compared");
}

TEST_F(SideBySideTest, PutsTheMostImportantCaseFirst) {
  const SideBySide found =
      compared({{.id = "a", .verdict = Verdict::kFailed, .requirement = "R-SHOULD-1"},
                {.id = "b", .verdict = Verdict::kFailed, .requirement = "R-MUST-2"},
                {.id = "c", .verdict = Verdict::kSkipped},
                {.id = "d"}},
               {{.id = "a"}, {.id = "b"}, {.id = "c"}, {.id = "d", .verdict = Verdict::kFailed}});
  ASSERT_EQ(found.cases.size(), 4U);
  EXPECT_THAT(ids(found.cases, true), ElementsAre("b", "d", "a"));
  EXPECT_THAT(ids(found.cases, false), ElementsAre("c"));
  EXPECT_EQ(exit_code(found), run::ExitCode::kFailed);
}

// A baseline changes the verdict and not the endpoint; so does --strict.
TEST_F(SideBySideTest, LooksThroughBaselines) {
  const SideBySide found =
      compared({{.id = "a", .verdict = Verdict::kFailed}, {.id = "b"}},
               {{.id = "a", .verdict = Verdict::kExpectedFailure},
                {.id = "b", .verdict = Verdict::kFailed, .unexpected_pass = true}});
  EXPECT_THAT(found.cases, IsEmpty());
}

TEST_F(SideBySideTest, FindsCasesThatFailInAnotherWay) {
  const EndedCase same{.id = "a", .verdict = Verdict::kFailed};
  const std::pair<std::string, EndedCase> table[] = {
      {"another rule", {.id = "a", .verdict = Verdict::kFailed, .requirement = "R-MUST-2"}},
      {"another step", {.id = "a", .verdict = Verdict::kFailed, .step = 0}},
      {"another reason", {.id = "a", .verdict = Verdict::kFailed, .message = "no response"}},
      {"another reply", {.id = "a", .verdict = Verdict::kFailed, .actual = "-ERR x\\r\\n"}}};
  for (const auto& [what, other] : table) {
    SCOPED_TRACE(what);
    const SideBySide found = compared({same}, {other});
    EXPECT_THAT(ids(found.cases, true), ElementsAre("a"));
    EXPECT_EQ(exit_code(found), run::ExitCode::kFailed);
  }
}

TEST_F(SideBySideTest, FindsOtherFormsAndOutcomesInTheSameCase) {
  const judge::SeenForm deployed{Divergence::kSetNotApplied, DialectId::kDeployed};
  const judge::SeenForm documented{Divergence::kSetNotApplied, DialectId::kDocumented};
  const judge::SeenForm operation{Divergence::kDeleteOperation, DialectId::kDeployed};
  const SideBySide found = compared(
      {{.id = "a", .forms = {deployed, operation}, .unspecified_points = {{"R-MAY-1", "x"}}},
       {.id = "b", .forms = {deployed}, .unspecified_points = {{"R-MAY-1", "x"}}},
       {.id = "c", .unspecified_points = {{"R-MAY-1", "x"}, {"R-MAY-1", "y"}}}},
      {{.id = "a", .forms = {documented}, .unspecified_points = {{"R-MAY-1", "y"}}},
       {.id = "b", .forms = {documented}, .unspecified_points = {{"R-MAY-1", "x"}}},
       {.id = "c", .unspecified_points = {{"R-MAY-1", "y"}, {"R-MAY-1", "x"}}}});
  EXPECT_THAT(ids(found.forms, true), ElementsAre("set-not-applied"));
  EXPECT_THAT(ids(found.forms, false), ElementsAre("delete-operation"));
  EXPECT_THAT(found.forms.back().cases, ElementsAre("a", "b"));
  EXPECT_THAT(found.forms.back().cells, ElementsAre("deployed", "documented"));
  ASSERT_EQ(found.unspecified_points.size(), 1U);
  EXPECT_THAT(found.unspecified_points[0].cases, ElementsAre("a"));
  EXPECT_EQ(side_by_side_verdict(found),
            "2 runs differ in 1 dialect form and 1 choice; 3 cases compared");
}

TEST_F(SideBySideTest, DoesNotJudgeWhatOneOfThemDidNotDecide) {
  for (const Verdict verdict :
       {Verdict::kInconclusive, Verdict::kSkipped, Verdict::kLost, Verdict::kNotRun}) {
    const SideBySide found =
        compared({{.id = "a"}, {.id = "b"}}, {{.id = "a", .verdict = verdict}, {.id = "b"}});
    EXPECT_THAT(ids(found.cases, false), ElementsAre("a"));
    EXPECT_FALSE(found.differs());
    EXPECT_EQ(found.compared, 1U);
    EXPECT_EQ(exit_code(found), run::ExitCode::kInconclusive);
  }
}

TEST_F(SideBySideTest, DoesNotMindWhatNoneCanDo) {
  const EndedCase skipped{.id = "a", .verdict = Verdict::kSkipped};
  const SideBySide found = compared({skipped, {.id = "b"}}, {skipped, {.id = "b"}});
  EXPECT_EQ(found.skipped, 1U);
  EXPECT_EQ(exit_code(found), run::ExitCode::kConformant);
}

TEST_F(SideBySideTest, NamesCasesThatOnlyOneOfThemHas) {
  const SideBySide found = compared({{.id = "a"}, {.id = "b"}}, {{.id = "b"}, {.id = "c"}});
  EXPECT_THAT(ids(found.cases, false), ElementsAre("a", "c"));
  EXPECT_EQ(exit_code(found), run::ExitCode::kInconclusive);
  EXPECT_EQ(side_by_side_verdict(found),
            "2 runs: no difference, but not everything could be compared; 1 case compared, 2 not");
  EXPECT_THAT(side_by_side_text(found, library_.catalogue, 100, false),
              HasSubstr("could not be compared\n"
                        "  missing in A, passed in B: 1 case: c\n"
                        "  missing in B, passed in A: 1 case: a\n"));
}

TEST_F(SideBySideTest, HasTheExitCodesOfTheContract) {
  SideBySide found = compared({{.id = "a"}}, {{.id = "a", .verdict = Verdict::kFailed}});
  found.columns[0].endpoint_lost = true;
  EXPECT_EQ(exit_code(found), run::ExitCode::kFailed);
  found = compared({{.id = "a"}}, {{.id = "a"}});
  found.columns[0].endpoint_lost = true;
  EXPECT_EQ(exit_code(found), run::ExitCode::kUnreachable);
  found = compared({{.id = "a"}}, {{.id = "b"}});
  EXPECT_EQ(exit_code(found), run::ExitCode::kNothingSelected);
  EXPECT_EQ(side_by_side_verdict(found), "2 runs: nothing was compared");
}

// Failures are compared by what was expected only where runs are judged alike.
TEST_F(SideBySideTest, TellsHowTheRunsThemselvesWereNotAlike) {
  ReportContext other;
  other.profile = codec::Profile::kDeployed;
  other.strict = true;
  other.seed = 9;
  const EndedCase one{.id = "a", .verdict = Verdict::kFailed};
  const EndedCase two{.id = "a", .verdict = Verdict::kFailed, .actual = "-ERR x\\r\\n"};
  const SideBySide found =
      side_by_side({column("one", {one}), column("two", {two}, other)}, library_.catalogue);
  EXPECT_EQ(exit_code(found), run::ExitCode::kConformant);
  const std::string text = side_by_side_text(found, library_.catalogue, 200, false);
  EXPECT_THAT(text, HasSubstr("edition auto, seed 0, "));
  EXPECT_THAT(text, HasSubstr("edition auto, --strict, seed 9, "));
}

// Of the same runs, as a whole and as a part: only the whole is a certificate.
TEST_F(SideBySideTest, CallsNoPartConformant) {
  const ReportContext part{.known_cases = 3};
  const SideBySide found =
      side_by_side({column("whole", {{.id = "a"}}), column("part", {{.id = "a"}}, part),
                    column("bad", {{.id = "a", .verdict = Verdict::kFailed}}, part)},
                   library_.catalogue);
  const std::string text = side_by_side_text(found, library_.catalogue, 200, false);
  EXPECT_THAT(text, HasSubstr("A  whole: conformant, "));
  EXPECT_THAT(text, HasSubstr("B  part: no failure in a part: 1 of 3 cases selected, "));
  EXPECT_THAT(text, HasSubstr("C  bad: NOT conformant: 1 of 3 cases selected, "));
  const auto columns =
      nlohmann::json::parse(side_by_side_json(found, library_.catalogue))["columns"];
  EXPECT_FALSE(columns[0].contains("part"));
  EXPECT_EQ(columns[1]["verdict"], "no failure in a part");
  EXPECT_EQ(columns[1]["part"], "1 of 3 cases selected");
  EXPECT_EQ(columns[2]["part"], "1 of 3 cases selected");
  EXPECT_THAT(side_by_side_html(found, library_.catalogue),
              HasSubstr("1 of 3 conformant, 1 no failure in a part"));
}

// Versions that did not count have the options of the selection alone.
TEST_F(SideBySideTest, KnowsAPartOfAnOlderVersionByItsOptions) {
  const auto part_of = [&](const ReportContext& context) {
    return column("old", {{.id = "a"}}, context).part;
  };
  EXPECT_EQ(part_of({}), "");
  EXPECT_EQ(part_of({.selection = {.run = {"a"}}}), "1 case selected");
  EXPECT_EQ(part_of({.selection = {.shard = 2, .shards = 3}}), "1 case selected");
}

TEST_F(SideBySideTest, SaysHowEachRunFails) {
  const SideBySide found =
      compared({{.id = "a"}, {.id = "b", .verdict = Verdict::kFailed}},
               {{.id = "a", .verdict = Verdict::kFailed, .requirement = "R-SHOULD-1"},
                {.id = "b", .verdict = Verdict::kFailed, .actual = "-1"}});
  const std::string text = side_by_side_text(found, library_.catalogue, 200, false);
  const std::string expected = "the reply is not the expected one, step 1 at line 7; expected $-1";
  EXPECT_THAT(text, HasSubstr("\ncases with different verdicts\n"
                              "  b: A case\n"
                              "      A: failed, R-MUST-1: " +
                              expected +
                              "\\r\\n, got +OK\\r\\n\n"
                              "      B: failed, R-MUST-1: " +
                              expected +
                              "\\r\\n, got -1\n"
                              "  a: A case\n"
                              "      A: passed\n"
                              "      B: warning, R-SHOULD-1: " +
                              expected + "\\r\\n, got +OK\\r\\n\n"));
  EXPECT_THAT(side_by_side_text(found, library_.catalogue, 200, true),
              HasSubstr("\033[31m2 runs differ in"));
}

TEST_F(SideBySideTest, IsADocument) {
  const SideBySide found =
      compared({{.id = "a"}, {.id = "b"}},
               {{.id = "a", .verdict = Verdict::kFailed}, {.id = "b", .verdict = Verdict::kLost}});
  const auto out = nlohmann::json::parse(side_by_side_json(found, library_.catalogue));
  EXPECT_EQ(out["exit_code"], 1);
  EXPECT_EQ(out["compared"], 1);
  EXPECT_EQ(out["cases"][0], nlohmann::json::parse(R"({"id": "a", "level": "must",
    "text": "A case", "differs": true, "cells": [{"verdict": "passed"},
        {"verdict": "failed", "requirement": "R-MUST-1", "step": 1, "line": 7,
         "message": "the reply is not the expected one", "expected": "$-1\\r\\n",
         "actual": "+OK\\r\\n"}]})"));
  EXPECT_EQ(out["cases"][1]["cells"][1]["verdict"], "lost");
}

}  // namespace
}  // namespace fencepost::report
