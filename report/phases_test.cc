// What every report says of the phases that follow the cases.
#include "report/phases.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/github.h"
#include "report/report.h"
#include "report/report_sample.h"
#include "report/requirement_states.h"

namespace fencepost::report {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

run::StressResult at_peace() {
  return {.workload = "everything",
          .clients = 16,
          .seed = 7,
          .duration = 2s,
          .requests = 1'000,
          .replies = 999,
          .refused = 3,
          .notifications = 12,
          .keys_ok = 40,
          .keys_unknown = 2,
          .command = "fencepost stress --seed 7"};
}

run::StressResult at_odds(const std::string& requirement = "R-MUST-1") {
  run::StressResult out = at_peace();
  out.findings.push_back(
      {.requirement = requirement,
       .key = "k\\x00<b>",
       .text = "a GET returned an older version",
       .operations = {
           {.client = 3,
            .called = 0us,
            .returned = 1'250us,
            .request = "SET \"a\"",
            .reply = "ok  version 1:0:n"},
           {.client = 12, .called = 2'000us, .request = "GET", .reply = "no reply (time-out)"}}});
  return out;
}

Sample passed_with(run::StressResult stress) {
  Sample out({{.id = "good"}});
  run::summarize(out.result, test::catalogue(), false);
  out.result.stress = std::move(stress);
  return out;
}

TEST(StressSection, FailsTheRunByARuleThatIsBrokenAndByNothingElse) {
  EXPECT_EQ(exit_code(passed_with(at_peace()).result), run::ExitCode::kConformant);
  EXPECT_EQ(exit_code(passed_with(at_odds()).result), run::ExitCode::kFailed);
  run::StressResult warned = at_odds();
  warned.findings.front().fails = false;
  EXPECT_EQ(exit_code(passed_with(warned).result), run::ExitCode::kConformant);
}

TEST(StressSection, SaysInOneLineWhatCameOfIt) {
  EXPECT_EQ(stress_text(at_peace()),
            "16 concurrent clients (everything): 1000 requests in 2.0 s: no rule broken, 2 of 42 "
            "keys could not be decided");
  EXPECT_THAT(stress_text(at_odds()), HasSubstr(": a rule is broken"));
  run::StressResult refused = at_peace();
  refused.refused = refused.replies;
  EXPECT_THAT(stress_text(refused), HasSubstr("every reply was a refusal"));
  EXPECT_EQ(stress_text({.workload = "hot-key", .clients = 16, .error = "cannot connect: x"}),
            "16 concurrent clients (hot-key): not run: cannot connect: x");
}

TEST(StressSection, IsReadAsItWasWritten) {
  run::StressResult all = at_odds();
  all.error = "all connections ended: x";
  all.simulated = true;
  all.findings.front().fails = false;
  for (const run::StressResult& each : {all, at_peace(), at_odds()}) {
    const json written = json::parse(stress_json(each).dump());
    JsonDiagnostic diagnostic;
    const run::StressResult read = read_stress(JsonMembers(written, "", diagnostic));
    EXPECT_FALSE(diagnostic.any()) << diagnostic.text();
    EXPECT_EQ(json::parse(stress_json(read).dump()), written);
  }
}

run::EnumerationResult enumerated() {
  return {.depth = 1,
          .bound = {"8 workloads: each of 4 requests, in each of 2 states of a key"},
          .workloads = 8,
          .of = 8,
          .requests = 40,
          .undecidable = 2,
          .open = {{"R-MAY-1", 2}},
          .duration = 1s,
          .command = "fencepost explore --exhaustive 1"};
}

TEST(Enumeration, SaysItsBound) {
  run::EnumerationResult out = enumerated();
  EXPECT_EQ(enumeration_text(out),
            "all 8 workloads of depth 1: 40 operations in 1.0 s, 95.0 % of them decided: no rule "
            "broken");
  out.workloads = 5;
  EXPECT_THAT(enumeration_text(out), HasSubstr("5 of 8 workloads of depth 1: "));
  out.undecided = "nothing is proved";
  EXPECT_THAT(enumeration_text(out), HasSubstr("decided: nothing is proved"));
  EXPECT_EQ(enumeration_text({.depth = 2, .of = 9, .error = "interrupted"}),
            "0 of 9 workloads of depth 2: not run: interrupted");
}

TEST(Enumeration, DecidesTheRunAndIsInEachReport) {
  Sample run({{.id = "good"}});
  run::summarize(run.result, test::catalogue(), false);
  run.result.enumeration = enumerated();
  EXPECT_EQ(exit_code(run.result), run::ExitCode::kConformant);
  run.result.enumeration->undecided = "nothing is proved";
  EXPECT_EQ(exit_code(run.result), run::ExitCode::kInconclusive);
  run.result.enumeration->findings.push_back(
      {.requirement = "R-MUST-1",
       .text = "+OK; a conforming store answers -1",
       .packets = {"sent      *4", "received  +OK"},
       .command = "fencepost explore --exhaustive 1 --example 7"});
  EXPECT_EQ(exit_code(run.result), run::ExitCode::kFailed);
  const ReportContext context = sample_context();
  for (const std::string& report : {to_html(run.result, test::catalogue(), context),
                                    to_junit(run.result, test::catalogue(), context),
                                    to_sarif(run.result, test::catalogue(), context),
                                    to_json(run.result, test::catalogue(), context)}) {
    EXPECT_THAT(report, AllOf(HasSubstr("received  +OK"), HasSubstr("--example 7"),
                              HasSubstr("a conforming store answers -1")));
  }
  EXPECT_THAT(github_summary(run.result, test::catalogue(), context, kMaxSummaryBytes),
              HasSubstr("### All short workloads (1)"));
  const json written = json::parse(enumeration_json(*run.result.enumeration).dump());
  JsonDiagnostic diagnostic;
  const auto read = read_enumeration(JsonMembers(written, "", diagnostic));
  EXPECT_FALSE(diagnostic.any()) << diagnostic.text();
  EXPECT_EQ(json::parse(enumeration_json(read).dump()), written);
}

TEST(StressSection, RejectsAnUnknownOperation) {
  json written = json::parse(stress_json(at_odds()).dump());
  written["findings"][0]["operations"][1]["called_ms"] = "soon";
  JsonDiagnostic diagnostic;
  (void)read_stress(JsonMembers(written, "/stress", diagnostic));
  EXPECT_THAT(diagnostic.text(), HasSubstr("/stress/findings/0/operations/1/called_ms"));
}

TEST(StressSection, AttributesTheRule) {
  const Sample run = passed_with(at_odds("R-MUST-2"));
  const auto states = requirement_states(run.result, {}, test::catalogue());
  const auto found = std::find_if(states.begin(), states.end(), [](const RequirementFinding& each) {
    return each.id == "R-MUST-2";
  });
  ASSERT_NE(found, states.end());
  EXPECT_EQ(found->state, RequirementState::kBroken);
  EXPECT_EQ(found->note, "concurrent clients");
}

TEST(StressSection, IsInEachReport) {
  const Sample run = passed_with(at_odds());
  const ReportContext context = sample_context();
  const std::string html = to_html(run.result, test::catalogue(), context);
  EXPECT_THAT(html, AllOf(HasSubstr("NOT conformant"), HasSubstr("client 12"),
                          HasSubstr("k\\x00&lt;b&gt;"), HasSubstr("fencepost stress --seed 7")));
  const std::string junit = to_junit(run.result, test::catalogue(), context);
  EXPECT_THAT(junit, AllOf(HasSubstr("clients-at-once"), HasSubstr("failures=\"1\""),
                           HasSubstr("R-MUST-1: a GET returned an older version")));
  const json sarif = json::parse(to_sarif(run.result, test::catalogue(), context));
  const json& result = sarif["runs"][0]["results"][0];
  EXPECT_EQ(result["ruleId"], "R-MUST-1");
  EXPECT_EQ(result["level"], "error");
  EXPECT_THAT(result["message"]["text"].get<std::string>(), HasSubstr("no reply (time-out)"));
  EXPECT_THAT(github_summary(run.result, test::catalogue(), context, kMaxSummaryBytes),
              AllOf(HasSubstr("NOT conformant"), HasSubstr("### Concurrent clients (1)")));
}

TEST(StressSection, IsATestOfItsOwnThatPassesOrIsSkipped) {
  const ReportContext context = sample_context();
  const std::string passed = to_junit(passed_with(at_peace()).result, test::catalogue(), context);
  EXPECT_THAT(passed, AllOf(HasSubstr("tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\""),
                            HasSubstr("no rule broken")));
  const Sample not_asked =
      passed_with({.workload = "everything", .clients = 16, .error = "cannot connect: x"});
  EXPECT_THAT(to_junit(not_asked.result, test::catalogue(), context),
              AllOf(HasSubstr("skipped=\"1\""), HasSubstr("cannot connect: x")));
  EXPECT_THAT(to_junit(passed_with(at_peace()).result, test::catalogue(), context),
              Not(HasSubstr("<failure")));
}

}  // namespace
}  // namespace fencepost::report
