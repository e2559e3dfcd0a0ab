#include "traffic/record/workload_scenario.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traffic/record/capture_sample.h"
#include "workload/trace_text.h"

namespace fencepost::record {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::optional<CaptureScenario> made_of(const std::string& trace,
                                       const WorkloadScenarioOptions& options = {}) {
  return workload_scenario(*workload::parse_trace(trace), options);
}

TEST(WorkloadScenario, ExpectsWhatTheReferenceStoreAnswers) {
  const auto made = made_of("c0 SET k0 \"v\" NX\nc1 SET k0 \"w\" NX\nc1 GET k0\n");
  ASSERT_TRUE(made);
  ASSERT_THAT(made->cases, SizeIs(1));
  const std::string text = made->text();
  std::vector<scenario::LoadError> errors;
  EXPECT_THAT(load_scenario({"made.yaml", text}, requirement_ids(), errors), SizeIs(1));
  for (const scenario::LoadError& error : errors) ADD_FAILURE() << describe(error);
  EXPECT_THAT(text, HasSubstr("not-applied"));
  EXPECT_THAT(text, HasSubstr("{value: v}"));
}

TEST(WorkloadScenario, IsTheSameInEachDialect) {
  const std::string trace = "c0 SET k0 \"v\" NX\nc0 SET k0 \"w\" NX\nc0 GET k0\n";
  const auto deployed = made_of(trace);
  const auto documented = made_of(trace, {.dialect = codec::DialectId::kDocumented});
  ASSERT_TRUE(deployed && documented);
  EXPECT_EQ(deployed->text(), documented->text());
}

TEST(WorkloadScenario, TellsNotificationsAndTheirEnd) {
  const auto made =
      made_of("c0 KEYNOTIFY k0\nc1 SET k0 \"v\"\nc0 disconnect\nc1 SET k0 \"w\"\nc0 GET k0\n");
  ASSERT_TRUE(made);
  const std::string text = made->text();
  EXPECT_THAT(text, HasSubstr("notification: {key:"));
  EXPECT_THAT(text, HasSubstr("disconnect"));
  EXPECT_EQ(text.find("notification:"), text.rfind("notification:"));
}

TEST(WorkloadScenario, TakesTheTitleAndTheWaitsThatAreAskedFor) {
  const std::string trace = "c0 SET k0 \"v\" PX 100\nwait 200 timer\nc0 GET k0\n";
  const auto made = made_of(trace, {.capture = {.title = "time runs out"}});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->cases[0].title, "time runs out");
  EXPECT_THAT(made->text(), HasSubstr("- wait: {until:"));
}

// Another conforming store might answer otherwise, or there is nothing to fail.
TEST(WorkloadScenario, IsNothingWhereItWouldProveNothing) {
  EXPECT_FALSE(made_of(""));
  EXPECT_FALSE(made_of("c0 disconnect\n"));
  EXPECT_FALSE(made_of("wait 5\n"));
}

TEST(WorkloadScenario, IsNothingWhereTheAnswerIsOpen) {
  std::size_t open = 0;
  const auto& texts = workload::malformed_texts();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string trace = "c0 SET k0 \"v\" ts=bad" + std::to_string(i) + "\nc0 GET k0\n";
    // That these are refused is settled, for one of two reasons.
    const bool is_great =
        texts[i].text.ends_with("5808:0:n") || texts[i].text.ends_with("1616:0:n");
    const bool is_open = !texts[i].open_as_timestamp.empty() && !is_great;
    EXPECT_EQ(made_of(trace).has_value(), !is_open) << texts[i].text;
    open += is_open ? 1 : 0;
  }
  EXPECT_GT(open, 0U);
}

}  // namespace
}  // namespace fencepost::record
