// No false alarm: whatever trace there is, the scenario made of it loads, and the reference store
// passes it, in both dialects.

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/command_support.h"
#include "codec/dialect.h"
#include "conformance/run/case_runner.h"
#include "conformance/run/suite.h"
#include "conformance/scenario/library.h"
#include "conformance/scenario/scenario_loader.h"
#include "conformance/search/live_plan.h"
#include "conformance/search/trace_scenario.h"
#include "endpoint/in_process.h"
#include "reference_store/faults/fault.h"
#include "workload/random.h"
#include "workload/trace_mutator.h"

namespace fencepost::search {
namespace {

constexpr std::size_t kTraces = 3'000;

std::set<std::string> requirement_ids() {
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = load_library(scenario::built_in_files(), errors);
  return library.catalogue.ids();
}

workload::Trace random_trace(workload::Random& random) {
  workload::Trace trace;
  const std::size_t length = 1 + random.below(24);
  for (std::size_t i = 0; i < length; ++i) trace.push_back(workload::random_operation(random));
  for (std::size_t i = random.below(8); i > 0; --i) workload::mutate(trace, random, 32);
  return trace;
}

struct Tally {
  std::size_t ran = 0;
  std::size_t steps = 0;
  std::set<std::string> cited;
};

void expect_pass(const scenario::Case& test_case, codec::DialectId dialect,
                 const std::string& text) {
  const auto endpoint = endpoint::make_in_process_endpoint({.service = {.dialect = dialect}});
  auto session = endpoint->open_session();
  ASSERT_TRUE(session);
  const codec::Profile profile = dialect == codec::DialectId::kDeployed
                                     ? codec::Profile::kDeployed
                                     : codec::Profile::kDocumented;
  const run::CaseResult result =
      run::run_case(test_case, **session, {.profile = profile, .run_id = "r"});
  EXPECT_EQ(name(result.verdict), name(run::Verdict::kPassed))
      << result.message << "\nexpected " << result.expected << "\nactual   " << result.actual
      << "\nline " << result.position.line << "\n"
      << text;
}

TEST(TraceScenarioProp, ReferenceStorePassesEveryScenario) {
  const std::set<std::string> ids = requirement_ids();
  Tally tally;
  for (std::uint64_t seed = 1; seed <= kTraces && !HasFailure(); ++seed) {
    workload::Random random(seed);
    const LivePlan plan = plan_live(random_trace(random), {});
    if (plan.requests() == 0) continue;
    const std::string text = scenario_text(plan, {.id = "fuzz-live.x", .title = "It's right"});
    std::vector<scenario::LoadError> errors;
    const std::vector<scenario::Case> cases = load_scenario({"x.yaml", text}, ids, errors);
    ASSERT_TRUE(errors.empty()) << scenario::describe(errors.front()) << "\n" << text;
    ASSERT_EQ(cases.size(), 1U);
    for (const codec::DialectId dialect : codec::kDialects) {
      expect_pass(cases.front(), dialect, text);
    }
    ++tally.ran;
    tally.steps += cases.front().steps.size();
    tally.cited.insert(cases.front().requirements.begin(), cases.front().requirements.end());
  }
  EXPECT_GT(tally.ran, kTraces * 9 / 10);
  EXPECT_GT(tally.steps, 10 * tally.ran);
  RecordProperty("requirements", static_cast<int>(tally.cited.size()));
  EXPECT_GT(tally.cited.size(), 40U);
}

// Nor do stores fail that are right in another way. Their clocks are measured first.
TEST(TraceScenarioProp, UnusualStoresFailNoScenario) {
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = load_library(scenario::built_in_files(), errors);
  const std::set<std::string> ids = library.catalogue.ids();
  constexpr std::uint64_t kTracesOfEach = 150;
  std::size_t stores = 0;
  for (const store::Fault& fault : store::faults()) {
    if (fault.kind != store::FaultKind::kBenign) continue;
    ++stores;
    std::vector<scenario::Case> cases;
    for (std::uint64_t seed = 1; cases.size() < kTracesOfEach; ++seed) {
      workload::Random random(stores * kTraces + seed);
      const LivePlan plan = plan_live(random_trace(random), {});
      if (plan.requests() == 0) continue;
      const std::string id = "fuzz-live." + std::to_string(seed);
      const std::string text = scenario_text(plan, {.id = id, .title = "t"});
      for (scenario::Case& loaded : load_scenario({id, text}, ids, errors))
        cases.push_back(std::move(loaded));
      ASSERT_TRUE(errors.empty()) << text;
    }
    const auto endpoint = endpoint::make_in_process_endpoint(
        {.make_store = [&](const store::ServiceOptions& options) {
          return fault.make(options, 1);
        }});
    run::SuiteOptions suite;
    suite.settings.run_id = "r";
    ASSERT_TRUE(cli::prepare(*endpoint, {}, 2, suite)) << fault.id;
    std::vector<const scenario::Case*> all;
    for (const scenario::Case& test_case : cases) all.push_back(&test_case);
    const std::atomic<bool> stop{false};
    const run::SuiteResult ran = run_suite(*endpoint, all, library.catalogue, suite, stop,
                                           [](const run::CaseResult&, std::size_t, std::size_t) {});
    for (const run::CaseResult& result : ran.cases) {
      EXPECT_NE(result.verdict, run::Verdict::kFailed)
          << fault.id << ": " << result.message << "\nexpected " << result.expected << "\nactual   "
          << result.actual << "\nline " << result.position.line << "\n"
          << result.test_case->source;
    }
    // What is slow makes cases inconclusive whose keys expire; most have none.
    EXPECT_GT(ran.summary.passed, all.size() / 4) << fault.id;
  }
  EXPECT_GT(stores, 10U);
}

// What is planned is planned again the same, so that a trace that was shrunk stands for itself.
TEST(TraceScenarioProp, PlanOfItsOperationsIsTheSame) {
  for (std::uint64_t seed = 1; seed <= kTraces; ++seed) {
    workload::Random random(seed);
    const LivePlan plan = plan_live(random_trace(random), {});
    if (plan.requests() == 0) continue;
    LiveOptions options;
    options.closing = false;
    options.max_operations = plan.steps.size();
    const LivePlan again = plan_live(plan.operations(), options);
    const ScenarioWords words{.id = "fuzz-live.x", .title = "t"};
    ASSERT_EQ(scenario_text(again, words), scenario_text(plan, words)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fencepost::search
