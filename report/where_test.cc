#include "report/where.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::report {
namespace {

// The members of a family with the axes a (3 values), b (2) and c (3); those fail that `fails`
// says.
class FamilyRun {
 public:
  template <typename Fails>
  explicit FamilyRun(const Fails& fails) {
    for (const std::string a : {"none", "one", "two"}) {
      for (const std::string b : {"off", "on"}) {
        for (const std::string c : {"x", "y", "z"}) {
          scenario::Case& test_case = cases_.emplace_back();
          test_case.family = "family";
          test_case.axes = {{"a", a}, {"b", b}, {"c", c}};
          result_.cases.push_back(
              {.test_case = &test_case,
               .verdict = fails(a, b, c) ? run::Verdict::kFailed : run::Verdict::kPassed});
        }
      }
    }
  }

  // Cases that stand alone.
  void fail_others(int count) {
    for (int i = 0; i < count; ++i) {
      result_.cases.push_back(
          {.test_case = &cases_.emplace_back(), .verdict = run::Verdict::kFailed});
    }
  }

  [[nodiscard]] std::string where() const {
    std::vector<const run::CaseResult*> failures;
    for (const run::CaseResult& each : result_.cases) {
      if (each.verdict == run::Verdict::kFailed) failures.push_back(&each);
    }
    return where_of(failures, result_);
  }

 private:
  std::deque<scenario::Case> cases_;
  run::SuiteResult result_;
};

TEST(Where, NamesOneAxisWhereThatIsEnough) {
  EXPECT_EQ(FamilyRun([](auto a, auto, auto) { return a == "two"; }).where(), "a is two");
  EXPECT_EQ(FamilyRun([](auto a, auto, auto) { return a != "none"; }).where(), "a is not none");
}

TEST(Where, NamesTwoAxesTogether) {
  EXPECT_EQ(FamilyRun([](auto a, auto b, auto) { return a != "none" && b == "on"; }).where(),
            "a is not none, and b is on");
  EXPECT_EQ(FamilyRun([](auto a, auto, auto c) { return a == "one" && c == "z"; }).where(),
            "a is one, and c is z");
}

TEST(Where, SaysNothingOfAFamilyThatHasFewOfTheFailures) {
  FamilyRun run([](auto a, auto, auto) { return a == "two"; });
  run.fail_others(12);
  EXPECT_EQ(run.where(), "a is two");
  run.fail_others(1);
  EXPECT_EQ(run.where(), "");
}

TEST(Where, SaysNothingThatIsNotKnown) {
  EXPECT_EQ(FamilyRun([](auto, auto, auto) { return true; }).where(), "") << "none passed";
  EXPECT_EQ(FamilyRun([](auto, auto, auto) { return false; }).where(), "");
  EXPECT_EQ(
      FamilyRun([](auto a, auto b, auto c) { return a == "one" && b == "on" && c == "z"; }).where(),
      "")
      << "a single failure";
  EXPECT_EQ(FamilyRun([](auto a, auto b, auto) { return (a == "one") != (b == "on"); }).where(), "")
      << "no values that are in common";
}

}  // namespace
}  // namespace fencepost::report
