// SARIF logs: what is a result, of which kind, level and place. tests/junit_sarif_test.py checks
// real ones against the schema of the standard and with its authors' own validator.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/report.h"
#include "report/report_sample.h"

namespace fencepost::report {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

json run_of(const Sample& run, const ReportContext& context = sample_context()) {
  const json log = json::parse(to_sarif(run.result, test::catalogue(), context));
  EXPECT_EQ(log.at("version"), "2.1.0");
  EXPECT_THAT(log.at("runs"), SizeIs(1));
  return log.at("runs").at(0);
}

// `case: ruleId kind level`, of each result.
std::vector<std::string> as_text(const json& run) {
  std::vector<std::string> out;
  for (const json& result : run.at("results")) {
    out.push_back(fmt::format("{}: {} {} {}", result.at("properties").at("case").get<std::string>(),
                              result.at("ruleId").get<std::string>(),
                              result.at("kind").get<std::string>(),
                              result.at("level").get<std::string>()));
  }
  return out;
}

TEST(Sarif, HasAResultForEachProblemAndNoneForAPass) {
  EXPECT_THAT(as_text(run_of(every_verdict())),
              ElementsAre("bad: R-MUST-1 fail error", "warns: R-SHOULD-1 fail warning",
                          "late: R-MUST-1 open none"));
}

TEST(Sarif, MakesErrorsOfWarningsInAStrictRun) {
  EXPECT_THAT(as_text(run_of(every_verdict(), sample_context(true))),
              ElementsAre("warns: R-SHOULD-1 fail error", "bad: R-MUST-1 fail error",
                          "late: R-MUST-1 open none"));
}

TEST(Sarif, SuppressesAnExpectedFailureAndNothingElse) {
  const json run = run_of(with_baseline());
  EXPECT_THAT(as_text(run),
              ElementsAre("known: R-MUST-1 fail error", "outdated: R-SHOULD-1 fail error"));
  EXPECT_EQ(run.at("results").at(0).at("suppressions"),
            json::parse(R"([{"kind": "external", "status": "accepted",
                             "justification": "NEX not honoured, ACME-12"}])"));
  EXPECT_EQ(run.at("results").at(1).at("suppressions"), json::array());
}

TEST(Sarif, SaysNothingOfSuppressionsWhereThereAreNone) {
  const json run = run_of(every_verdict());
  for (const json& result : run.at("results")) {
    EXPECT_FALSE(result.contains("suppressions"));
  }
}

TEST(Sarif, KeepsTheLevelThatAnExpectedFailureWouldHave) {
  const Sample run({{.id = "a",
                     .verdict = run::Verdict::kExpectedFailure,
                     .requirements = "R-SHOULD-1",
                     .baseline = "later"}});
  EXPECT_THAT(as_text(run_of(run)), ElementsAre("a: R-SHOULD-1 fail warning"));
  EXPECT_THAT(as_text(run_of(run, sample_context(true))), ElementsAre("a: R-SHOULD-1 fail error"));
}

TEST(Sarif, HasARuleForEachRequirementThatTheRunCouldBreak) {
  const json run = run_of(every_verdict());
  const json& rules = run.at("tool").at("driver").at("rules");
  ASSERT_THAT(rules, SizeIs(2));  // not those that no case cites
  EXPECT_EQ(rules.at(0).at("id"), "R-MUST-1");
  EXPECT_EQ(rules.at(0).at("shortDescription").at("text"), "The first rule.");
  EXPECT_EQ(rules.at(0).at("fullDescription").at("text"), "The first rule.");
  EXPECT_EQ(rules.at(0).at("defaultConfiguration").at("level"), "error");
  EXPECT_EQ(rules.at(1).at("defaultConfiguration").at("level"), "warning");
  EXPECT_FALSE(rules.at(0).contains("helpUri"));
  for (const json& result : run.at("results")) {
    EXPECT_EQ(rules.at(result.at("ruleIndex").get<std::size_t>()).at("id"), result.at("ruleId"));
  }
}

TEST(Sarif, NamesARuleThatOnlyAFailureCites) {
  Sample run({{.id = "a", .verdict = run::Verdict::kFailed}});
  run.result.cases[0].failure.requirement = "R-SHOULD-1";
  const json out = run_of(run);
  EXPECT_EQ(out.at("results").at(0).at("ruleIndex"), 1);
  EXPECT_EQ(out.at("tool").at("driver").at("rules").at(1).at("id"), "R-SHOULD-1");
}

TEST(Sarif, CutsAShortDescriptionBehindItsFirstSentence) {
  std::vector<scenario::LoadError> errors;
  const scenario::Catalogue catalogue =
      scenario::Catalogue::load({"requirements.yaml", R"(requirements:
- {id: R-MUST-1, level: must, text: "Of `a. b` and 1.5 one. {n} follows.", binds: store,
   section: S, documents: [ga], source: article, observe: o}
)"},
                                errors);
  const Sample run({{.id = "a"}});
  const json log = json::parse(to_sarif(run.result, catalogue, sample_context()));
  const json& rule = log.at("runs").at(0).at("tool").at("driver").at("rules").at(0);
  EXPECT_EQ(rule.at("shortDescription").at("text"), "Of `a. b` and 1.5 one.");
  EXPECT_EQ(rule.at("fullDescription").at("text"), "Of `a. b` and 1.5 one. {{n}} follows.");
}

TEST(Sarif, SaysWhatWasExpectedAndSeen) {
  EXPECT_EQ(run_of(every_verdict()).at("results").at(0).at("message").at("text"),
            "wrong; want no such key, got +OK.\nExpected: $-1\\r\\n\nActual: +OK\\r\\n\nCase: bad "
            "(A case)\n"
            "Reproduce: fencepost certify --seed 7 --run bad");
}

TEST(Sarif, PointsAtTheStepAndShowsTheCase) {
  const json physical =
      run_of(every_verdict()).at("results").at(0).at("locations").at(0).at("physicalLocation");
  EXPECT_EQ(physical.at("artifactLocation").at("uri"), "t.yaml");
  EXPECT_EQ(physical.at("region").at("startLine"), test::kFirstStepLine);
  EXPECT_THAT(physical.at("region").at("snippet").at("text").get<std::string>(),
              HasSubstr("- get: k"));
  EXPECT_EQ(physical.at("contextRegion").at("startLine"), 3);
  EXPECT_EQ(physical.at("contextRegion").at("endLine"), 8);
  EXPECT_THAT(physical.at("contextRegion").at("snippet").at("text").get<std::string>(),
              StartsWith("- id: bad"));
}

TEST(Sarif, WritesPathsAsUris) {
  const auto uri = [](const std::string& file) {
    Sample run({{.id = "a", .verdict = run::Verdict::kFailed}});
    run.result.cases[0].failure.position.file = file;
    return run_of(run)
        .at("results")
        .at(0)
        .at("locations")
        .at(0)
        .at("physicalLocation")
        .at("artifactLocation")
        .at("uri")
        .get<std::string>();
  };
  EXPECT_EQ(uri("scenarios/set/nx.yaml"), "scenarios/set/nx.yaml");
  EXPECT_EQ(uri("my cases/50%:a.yaml"), "my%20cases/50%25%3Aa.yaml");
  EXPECT_EQ(uri("/tmp/\xc3\xa9.yaml"), "file:///tmp/%C3%A9.yaml");
}

// Failures with one cause are one alert, which stays the same alert.
TEST(Sarif, IdentifiesADifferenceByItsRuleAndAnythingElseByItsCase) {
  const json results = run_of(every_verdict()).at("results");
  const json first = results.at(0).at("partialFingerprints");
  EXPECT_EQ(first.at("difference/v1"), "R-MUST-1:1");
  EXPECT_EQ(results.at(2).at("partialFingerprints").at("caseId/v1"), "late");
  Sample other({{.id = "better", .verdict = run::Verdict::kFailed, .message = "wrong elsewhere"},
                {.id = "bad", .verdict = run::Verdict::kFailed, .message = "wrong"}});
  ReportContext again = sample_context();
  again.seed = 8;
  again.endpoint = "mqtt://other:1883";
  const json found = run_of(other, again).at("results");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.at(0).at("partialFingerprints"), first);
  EXPECT_NE(results.at(1).at("partialFingerprints"), first);
}

TEST(Sarif, HasOneResultForADifferenceWithItsOtherCasesAndItsExchange) {
  std::vector<SampleCase> sample;
  for (int i = 0; i < 120; ++i) {
    sample.push_back({.id = fmt::format("c{:03}", i),
                      .verdict = run::Verdict::kFailed,
                      .message = "wrong",
                      .actual = "+OK\\r\\n"});
  }
  sample[7].requirements = "R-SHOULD-1";
  Sample run(sample);
  run.result.cases[7].failure.requirement = "R-MUST-1";
  run.result.cases[0].transcript = {
      {.client = "a", .direction = run::Direction::kEvent, .summary = "connected"}};
  const json results = run_of(run).at("results");
  ASSERT_THAT(results, SizeIs(1));
  const json& found = results.at(0);
  EXPECT_THAT(found.at("message").at("text").get<std::string>(),
              HasSubstr("\nAlso: 119 others: c001, c002, "));
  EXPECT_THAT(found.at("relatedLocations"), SizeIs(100));
  EXPECT_EQ(found.at("relatedLocations").at(0).at("message").at("text"), "c001");
  const json& properties = found.at("properties");
  EXPECT_EQ(properties.at("difference"), "D1");
  EXPECT_EQ(properties.at("case"), "c000");
  EXPECT_THAT(properties.at("cases"), SizeIs(120));
  EXPECT_THAT(properties.at("blocked"), ElementsAre("c007"));
  EXPECT_THAT(properties.at("causes"), ElementsAre("wrong; want no such key, got +OK"));
  EXPECT_THAT(properties.at("exchange").at(0).get<std::string>(), HasSubstr("connected"));
}

TEST(Sarif, SaysHowTheRunWas) {
  const json run = run_of(with_baseline());
  const json& invocation = run.at("invocations").at(0);
  EXPECT_EQ(invocation.at("commandLine"), "fencepost certify --seed 7");
  EXPECT_EQ(invocation.at("startTimeUtc"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(invocation.at("exitCode"), 1);
  EXPECT_EQ(invocation.at("exitCodeDescription"), "failed");
  EXPECT_EQ(invocation.at("executionSuccessful"), true);
  EXPECT_THAT(invocation.at("toolExecutionNotifications"), IsEmpty());
  const json& diagnostic = invocation.at("toolConfigurationNotifications").at(0);
  EXPECT_EQ(diagnostic.at("message").at("text"), "known.yaml:4: the entry gone.* matches no case");
  EXPECT_EQ(diagnostic.at("level"), "error");
  EXPECT_EQ(diagnostic.at("descriptor"), json::parse(R"({"id": "baseline-entry", "index": 2})"));
  EXPECT_EQ(run.at("tool").at("driver").at("notifications").at(2).at("id"), "baseline-entry");
  EXPECT_EQ(run.at("automationDetails").at("id"), "fencepost/auto/");
  EXPECT_EQ(run.at("properties").at("expectedFailures"), 1);
}

TEST(Sarif, NotifiesOfWhatWasNotRun) {
  ReportContext stopped = sample_context();
  stopped.stopped_because = "the endpoint was lost during the run: bad {luck}";
  const json run = run_of(every_verdict(), stopped);
  const json& invocation = run.at("invocations").at(0);
  EXPECT_EQ(invocation.at("executionSuccessful"), false);
  ASSERT_THAT(invocation.at("toolExecutionNotifications"), SizeIs(2));
  EXPECT_EQ(invocation.at("toolExecutionNotifications").at(0).at("message").at("text"),
            "the endpoint was lost during the run: bad {{luck}}. 2 of 7 cases were not run.");
  const json& kinds = run.at("tool").at("driver").at("notifications");
  for (const json& entry : invocation.at("toolExecutionNotifications")) {
    const json& descriptor = entry.at("descriptor");
    EXPECT_EQ(kinds.at(descriptor.at("index").get<std::size_t>()).at("id"), descriptor.at("id"));
  }
}

TEST(Sarif, HoldsEveryByte) {
  const json run = run_of(any_bytes());
  EXPECT_THAT(
      run.at("results").at(0).at("message").at("text").get<std::string>(),
      HasSubstr("\nActual: \\x00\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08\t\n\\x0b\\x0c\\x0d\\x0e"));
  EXPECT_THAT(run.dump(), testing::Not(HasSubstr("\xef\xbf\xbd")));  // nothing was replaced
}

}  // namespace
}  // namespace fencepost::report
