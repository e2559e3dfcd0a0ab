#include "workload/model_coverage.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "workload/naive_model.h"

namespace fencepost::workload {
namespace {

std::vector<std::uint32_t> coverage_of(const Trace& trace) {
  NaiveModel model({.clients = {"a", "b", "c", "d"}});
  record_model_coverage();
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Offered timestamp{.form = Offered::Form::kTimestamp, .timestamp = {1'000, 0, "n"}};
    static_cast<void>(model.apply({.index = i,
                                   .operation = trace[i],
                                   .timestamp = timestamp,
                                   .token = {},
                                   .now = {.wall_ms = 1'000}}));
  }
  return take_model_coverage();
}

TEST(ModelCoverage, TellsBranchesApartAndIsTheSameAgain) {
  const Trace get = {{.kind = Kind::kGet}};
  const Trace set_and_get = {{.kind = Kind::kSet, .value = "v"}, {.kind = Kind::kGet}};
  const auto missing = coverage_of(get);
  const auto found = coverage_of(set_and_get);
  EXPECT_GT(missing.size(), 5U);
  EXPECT_EQ(missing, coverage_of(get));
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  EXPECT_FALSE(std::includes(missing.begin(), missing.end(), found.begin(), found.end()));
}

TEST(ModelCoverage, CountsHowOften) {
  const auto once = coverage_of({{.kind = Kind::kGet}});
  const auto often = coverage_of(Trace(20, {.kind = Kind::kGet}));
  EXPECT_NE(once, often);
  // The first run of the loop comes from elsewhere: edges may be more, by a few.
  EXPECT_LE(often.size(), once.size() + 4);
}

TEST(ModelCoverage, RecordsNothingUnlessAsked) {
  const auto before = coverage_of({{.kind = Kind::kGet}});
  NaiveModel model({});
  const Operation del{.kind = Kind::kDel};
  static_cast<void>(
      model.apply({.operation = del, .timestamp = {}, .token = {}, .now = {.wall_ms = 1}}));
  record_model_coverage();
  EXPECT_TRUE(take_model_coverage().empty());
  EXPECT_EQ(before, coverage_of({{.kind = Kind::kGet}}));
}

}  // namespace
}  // namespace fencepost::workload
