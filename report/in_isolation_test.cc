#include "report/in_isolation.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report.h"
#include "report/report_sample.h"
#include "suite/testing/failure_sample.h"

namespace fencepost::report {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A store that fails `id` only in runs of at least this number of cases.
struct Store {
  std::string id = "set.nx.one";
  std::size_t from = 1;
  std::size_t runs_left = 100;
  std::vector<std::size_t> runs{};  // how many cases each had

  std::optional<run::SuiteResult> run(const std::vector<const scenario::Case*>& cases) {
    if (runs_left-- == 0) return std::nullopt;
    runs.push_back(cases.size());
    run::SuiteResult out;
    for (const scenario::Case* test_case : cases) {
      run::CaseResult entry{.test_case = test_case, .verdict = run::Verdict::kPassed};
      if (test_case->id == id && cases.size() >= from) {
        entry.verdict = run::Verdict::kFailed;
        entry.failure = test::failure("R-MUST-1", "wrong");
      }
      out.cases.push_back(std::move(entry));
    }
    return out;
  }
};

Sample sample() {
  return Sample({{.id = "set.nx.one", .verdict = run::Verdict::kFailed, .message = "wrong"},
                 {.id = "set.nx.two"},
                 {.id = "set.px.one"},
                 {.id = "get.one"}});
}

// The run after it was tried, and the command to repeat its failure.
std::string tried(Sample& run, Store& store) {
  std::vector<const scenario::Case*> cases;
  for (const scenario::Case& test_case : run.cases) cases.push_back(&test_case);
  try_alone(run.result, cases, test::catalogue(), false,
            [&](const auto& some) { return store.run(some); });
  return reproduce_command(sample_context(), run.result.cases[0]);
}

TEST(Alone, AFailureThatHappensAgainIsShownByItsCase) {
  Sample run = sample();
  Store store;
  EXPECT_EQ(tried(run, store), "fencepost certify --seed 7 --run set.nx.one");
  EXPECT_TRUE(run.result.cases[0].alone->fails);
  EXPECT_FALSE(run.result.cases[1].alone);
  EXPECT_THAT(store.runs, ElementsAre(1));
}

TEST(Alone, OneThatNeedsNeighboursIsShownByTheFewestThatDo) {
  for (const auto& [from, command] : std::vector<std::pair<std::size_t, std::string>>{
           {2, "fencepost certify --seed 7 --run 'set.nx.*'"},
           {3, "fencepost certify --seed 7 --run 'set.*'"},
           {4, "fencepost certify --seed 7"}}) {
    Sample run = sample();
    Store store{.from = from};
    EXPECT_EQ(tried(run, store), command);
    EXPECT_FALSE(run.result.cases[0].alone->fails);
  }
}

TEST(Alone, OneThatTheWholeRunShowsIsGivenItsSelection) {
  Sample run = sample();
  Store store{.from = 4};
  (void)tried(run, store);
  ReportContext context = sample_context();
  context.selection.skip = {"a b*"};
  EXPECT_EQ(reproduce_command(context, run.result.cases[0]),
            "fencepost certify --seed 7 --skip 'a b*'");
}

TEST(Alone, EndsWhenThereIsNoTimeLeft) {
  Sample run = sample();
  Store none{.runs_left = 0};
  EXPECT_EQ(tried(run, none), "fencepost certify --seed 7 --run set.nx.one");
  EXPECT_FALSE(run.result.cases[0].alone);
  Store one{.from = 2, .runs_left = 1};
  EXPECT_EQ(tried(run, one), "fencepost certify --seed 7");
}

TEST(Alone, WhatCannotBeDecidedSaysNothing) {
  Sample run = sample();
  std::vector<const scenario::Case*> cases = {&run.cases[0]};
  try_alone(run.result, cases, test::catalogue(), false, [&](const auto&) {
    run::SuiteResult out;
    out.cases.push_back({.test_case = &run.cases[0], .verdict = run::Verdict::kInconclusive});
    return std::optional(out);
  });
  EXPECT_FALSE(run.result.cases[0].alone);
}

TEST(IsQuick, WhereNoCaseWaitsForLongOrTimeIsStepped) {
  const scenario::Case quick = test::case_of({.steps = "- get: k\n  expect: missing\n"});
  const scenario::Case slow = test::case_of({.steps = "- wait: 5s\n- get: k\n  expect: missing\n"});
  endpoint::Capabilities live;
  EXPECT_TRUE(is_quick({&quick}, live));
  EXPECT_FALSE(is_quick({&quick, &slow}, live));
  live.transport = false;
  EXPECT_TRUE(is_quick({&quick, &slow}, live));
}

class RunAgainTest : public testing::Test {
 protected:
  std::optional<run::SuiteResult> again(test::Script script, bool late = false) {
    test::FakeEndpoint endpoint(std::move(script));
    const scenario::Case one = test::case_of({.id = "one", .steps = kGet});
    const scenario::Case two = test::case_of({.id = "two", .steps = kGet});
    auto out = run_again(endpoint, {&one, &two}, test::catalogue(),
                         {.settings = test::settings(), .jobs = 1}, [late] { return late; });
    requests_ = endpoint.published().size();
    return out;
  }

  static constexpr const char* kGet = "- get: k\n  expect: missing\n";
  std::size_t requests_ = 0;
};

TEST_F(RunAgainTest, HasTheVerdictOfEachCase) {
  const auto out = again({.behaviour = test::reference_store()});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->summary.passed, 2U);
}

TEST_F(RunAgainTest, EndsAfterACaseWhenItIsLate) {
  const auto out = again({.behaviour = test::reference_store()}, true);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->summary.passed, 1U);
  EXPECT_EQ(out->summary.not_run, 1U);
}

TEST_F(RunAgainTest, RunsAnInconclusiveCaseOnce) {
  const auto out = again({});  // a store that says nothing
  ASSERT_TRUE(out);
  EXPECT_FALSE(out->cases[0].first_attempt);
}

TEST_F(RunAgainTest, IsNothingWhereTheEndpointIsLost) {
  const auto gone = [] {
    return std::optional(endpoint::Error{endpoint::ErrorKind::kLost, "gone"});
  };
  EXPECT_FALSE(again({.on_reach = gone, .on_open = gone}));
}

TEST(Alone, TriesNothingInARunThatDidNotFail) {
  Sample run({{.id = "set.nx.one"}});
  Store store;
  (void)tried(run, store);
  EXPECT_THAT(store.runs, IsEmpty());
}

}  // namespace
}  // namespace fencepost::report
