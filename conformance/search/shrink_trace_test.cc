#include "conformance/search/shrink_trace.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "conformance/search/trace_scenario.h"
#include "workload/random.h"
#include "workload/trace_mutator.h"

namespace fencepost::search {
namespace {

using workload::Kind;
using workload::StampBase;
using workload::Trace;

// A store on which every plan fails that `wrong` is true of.
template <typename Wrong>
FirstFailing failing_where(const Wrong& wrong) {
  return [wrong](const std::vector<LivePlan>& plans) -> std::optional<std::size_t> {
    const auto found = std::find_if(plans.begin(), plans.end(), wrong);
    if (found == plans.end()) return std::nullopt;
    return static_cast<std::size_t>(found - plans.begin());
  };
}

bool has_refused_nx(const LivePlan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const LiveStep& step) {
    return step.operation.condition == codec::Condition::kIfAbsent &&
           step.expected.kind == codec::ReplyKind::kNotApplied;
  });
}

bool has_lower_token(const LivePlan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const LiveStep& step) {
    return step.expected.kind == codec::ReplyKind::kError &&
           step.expected.error == codec::ErrorCode::kTokenLower;
  });
}

// The first random plan that `wrong` is true of.
template <typename Wrong>
LivePlan failing_plan(const Wrong& wrong) {
  for (std::uint64_t seed = 1;; ++seed) {
    workload::Random random(seed);
    Trace trace;
    while (trace.size() < 16) trace.push_back(workload::random_operation(random));
    LivePlan plan = plan_live(trace, {});
    if (plan.steps.size() > 15 && wrong(plan)) return plan;
  }
}

TEST(Shrink, LeavesTheTwoRequestsThatMatter) {
  const Shrunk shrunk = shrink(failing_plan(has_refused_nx), failing_where(has_refused_nx));
  EXPECT_EQ(scenario_text(shrunk.plan, {.id = "x", .title = "t"}),
            "area: fuzz-live\n"
            "cases:\n"
            "  - id: x\n"
            "    title: 't'\n"
            "    requirements: [SET-OK-1, SET-NX-2]\n"
            "    divergence: [set-not-applied]\n"
            "    clients: {a: {}}\n"
            "    steps:\n"
            "      - set: {key: \"k\", value: \"v\"}\n"
            "        expect: {reply: ok, ts: {save: v1, greater_than: [sent]}, cites: SET-OK-1}\n"
            "      - set: {key: \"k\", value: \"v\", options: [NX]}\n"
            "        expect: {reply: not-applied, ts: {equals: v1}, cites: SET-NX-2}\n");
}

TEST(Shrink, KeepsTokensApart) {
  const Shrunk shrunk = shrink(failing_plan(has_lower_token), failing_where(has_lower_token));
  EXPECT_EQ(shrunk.plan.steps.size(), 2U);
  EXPECT_EQ(size_of(shrunk.plan).steps, 3U);
  EXPECT_TRUE(size_of(shrunk.plan).starts_with_version);
  EXPECT_TRUE(has_lower_token(shrunk.plan));
}

TEST(Shrink, KeepsWhatCannotBeSmaller) {
  const LivePlan plan = failing_plan([](const LivePlan&) { return true; });
  const Shrunk shrunk =
      shrink(plan, [](const std::vector<LivePlan>&) { return std::optional<std::size_t>(); });
  EXPECT_EQ(shrunk.plan.operations(), plan.operations());
  EXPECT_GT(shrunk.tried, 10U);
}

}  // namespace
}  // namespace fencepost::search
