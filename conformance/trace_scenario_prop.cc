// No false alarm: whatever trace there is, the scenario made of it loads, and the reference store
// passes it, in both dialects.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codec/dialect.h"
#include "conformance/case_runner.h"
#include "conformance/library.h"
#include "conformance/live_plan.h"
#include "conformance/scenario_loader.h"
#include "conformance/trace_scenario.h"
#include "endpoint/in_process.h"
#include "reference_store/faults/fault.h"
#include "workload/random.h"
#include "workload/trace_mutator.h"

namespace fencepost::conformance {
namespace {

constexpr std::size_t kTraces = 4'000;

std::set<std::string> requirement_ids() {
  std::vector<LoadError> errors;
  const Library library = load_library(built_in_files(), errors);
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

// On the reference store, or on one of a fault.
void expect_pass(const Case& test_case, codec::DialectId dialect, const std::string& text,
                 const store::Fault* fault = nullptr) {
  endpoint::InProcessOptions options{.service = {.dialect = dialect}};
  if (fault != nullptr) {
    options.make_store = [fault](const store::ServiceOptions& service) {
      return fault->make(service, 1);
    };
  }
  const auto endpoint = endpoint::make_in_process_endpoint(std::move(options));
  auto session = endpoint->open_session();
  ASSERT_TRUE(session);
  const Profile profile =
      dialect == codec::DialectId::kDeployed ? Profile::kDeployed : Profile::kDocumented;
  const CaseResult result = run_case(test_case, **session, {.profile = profile, .run_id = "r"});
  EXPECT_EQ(name(result.verdict), name(Verdict::kPassed))
      << result.message << "\nexpected " << result.expected << "\nactual   " << result.actual
      << "\nline " << result.position.line << (fault == nullptr ? "" : fault->id) << "\n"
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
    std::vector<LoadError> errors;
    const std::vector<Case> cases = load_scenario({"x.yaml", text}, ids, errors);
    ASSERT_TRUE(errors.empty()) << describe(errors.front()) << "\n" << text;
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

// Nor do stores fail that are right in another way.
TEST(TraceScenarioProp, UnusualStoresPassEveryScenario) {
  const std::set<std::string> ids = requirement_ids();
  constexpr std::uint64_t kTracesOfEach = 150;
  std::size_t stores = 0;
  for (const store::Fault& fault : store::faults()) {
    if (fault.kind != store::FaultKind::kBenign || HasFailure()) continue;
    ++stores;
    for (std::uint64_t seed = 1; seed <= kTracesOfEach && !HasFailure(); ++seed) {
      workload::Random random(stores * kTraces + seed);
      const LivePlan plan = plan_live(random_trace(random), {});
      if (plan.requests() == 0) continue;
      const std::string text = scenario_text(plan, {.id = "fuzz-live.x", .title = "t"});
      std::vector<LoadError> errors;
      const std::vector<Case> cases = load_scenario({"x.yaml", text}, ids, errors);
      ASSERT_EQ(cases.size(), 1U) << text;
      const auto dialect = codec::kDialects.at(seed % codec::kDialects.size());
      expect_pass(cases.front(), dialect, text, &fault);
    }
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
}  // namespace fencepost::conformance
