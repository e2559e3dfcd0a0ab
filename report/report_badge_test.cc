#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/report.h"
#include "report/report_sample.h"

namespace fencepost::report {
namespace {

using nlohmann::json;

// "message, colour" of a run; the counts are made first, as run_suite() does.
std::string badge(Sample run, std::size_t known_cases = 0) {
  run::summarize(run.result, test::catalogue(), false);
  ReportContext context = sample_context();
  context.known_cases = known_cases;
  const json out = json::parse(to_badge(run.result, test::catalogue(), context));
  return out.at("message").get<std::string>() + ", " + out.at("color").get<std::string>();
}

TEST(Badge, HasTheMembersOfAnEndpointBadge) {
  Sample run({{.id = "a"}});
  EXPECT_EQ(json::parse(to_badge(run.result, test::catalogue(), sample_context())),
            json::parse(R"({"schemaVersion": 1, "label": "state store", "message": "1/1 MUST",
                            "color": "brightgreen"})"));
}

TEST(Badge, CountsMustsWhoseEveryCaseHasPassed) {
  EXPECT_EQ(badge(Sample({{.id = "a", .requirements = "R-MUST-1, R-MUST-2"}, {.id = "b"}})),
            "2/2 MUST, brightgreen");
  EXPECT_EQ(badge(Sample({{.id = "a", .requirements = "R-MUST-1, R-MUST-2"},
                          {.id = "b", .verdict = run::Verdict::kFailed}})),
            "1/2 MUST, red");
  EXPECT_EQ(badge(Sample({{.id = "a"}, {.id = "b"}})), "1/1 MUST, brightgreen");
}

TEST(Badge, DoesNotCountOtherLevels) {
  EXPECT_EQ(badge(Sample({{.id = "a"}, {.id = "b", .requirements = "R-SHOULD-1, R-MAY-1"}})),
            "1/1 MUST, brightgreen");
  EXPECT_EQ(
      badge(Sample({{.id = "a"},
                    {.id = "b", .verdict = run::Verdict::kFailed, .requirements = "R-SHOULD-1"}})),
      "1/1 MUST, brightgreen");
}

TEST(Badge, ClaimsNothingForCasesThatDidNotPass) {
  const auto with = [](run::Verdict verdict) {
    return badge(
        Sample({{.id = "a"}, {.id = "b", .verdict = verdict, .requirements = "R-MUST-2"}}));
  };
  EXPECT_EQ(with(run::Verdict::kSkipped), "1/2 MUST, green");
  EXPECT_EQ(with(run::Verdict::kExpectedFailure), "1/2 MUST, green");
  EXPECT_EQ(with(run::Verdict::kInconclusive), "1/2 MUST, yellow");
  EXPECT_EQ(with(run::Verdict::kNotRun), "1/2 MUST, yellow");
}

TEST(Badge, IsGreyWithoutAVerdict) {
  Sample lost({{.id = "a", .verdict = run::Verdict::kLost}});
  lost.result.endpoint_lost = true;
  EXPECT_EQ(badge(std::move(lost)), "0/1 MUST, lightgrey");
  EXPECT_EQ(badge(Sample({})), "0/0 MUST, lightgrey");
}

TEST(Badge, SaysThatItIsAboutAPart) {
  EXPECT_EQ(badge(Sample({{.id = "a"}}), 1), "1/1 MUST, brightgreen");
  EXPECT_EQ(badge(Sample({{.id = "a"}}), 2), "1/1 MUST (part), green");
}

TEST(Badge, LeavesOutWhatNoClientCanCheck) {
  std::vector<scenario::LoadError> errors;
  const scenario::Catalogue catalogue =
      scenario::Catalogue::load({"requirements.yaml", R"(requirements:
- {id: R-MUST-1, level: must, text: T., binds: store, section: S, documents: [ga],
   source: article, observe: o}
- {id: R-MUST-2, level: must, text: T., binds: store, section: S, documents: [ga],
   source: article, untestable: nobody sees it}
)"},
                                errors);
  const Sample run(std::vector<SampleCase>{{.id = "a", .requirements = "R-MUST-1, R-MUST-2"}});
  const json out = json::parse(to_badge(run.result, catalogue, sample_context()));
  EXPECT_EQ(out.at("message"), "1/1 MUST");
}

TEST(Badge, FollowsTheVerdictThatAStaleBaselineGives) {
  Sample run({{.id = "a"}});
  run.result.baseline_errors = {"an entry matches no case"};
  const json out = json::parse(to_badge(run.result, test::catalogue(), sample_context()));
  EXPECT_EQ(out.at("color"), "red");
  EXPECT_EQ(out.at("isError"), true);
}

}  // namespace
}  // namespace fencepost::report
