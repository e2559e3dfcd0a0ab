#include "suite/scenario/covering.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::scenario {
namespace {

using Rows = std::vector<std::vector<std::size_t>>;

// Counted without the code that made the rows: which values of these axes stand together.
std::size_t combinations_in(const Rows& rows, const std::vector<std::size_t>& axes) {
  std::set<std::vector<std::size_t>> seen;
  for (const auto& row : rows) {
    std::vector<std::size_t> values;
    for (const std::size_t axis : axes) values.push_back(row[axis]);
    seen.insert(values);
  }
  return seen.size();
}

void expect_cover(const std::vector<std::size_t>& sizes, const std::vector<std::size_t>& triples) {
  const Rows rows = covering_rows(sizes, triples);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), sizes.size());
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) ASSERT_LT(row[axis], sizes[axis]);
  }
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      EXPECT_EQ(combinations_in(rows, {a, b}), sizes[a] * sizes[b]) << a << " and " << b;
    }
  }
  for (std::size_t c = 0; c < triples.size(); ++c) {
    for (std::size_t b = 0; b < c; ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        EXPECT_EQ(combinations_in(rows, {triples[a], triples[b], triples[c]}),
                  sizes[triples[a]] * sizes[triples[b]] * sizes[triples[c]]);
      }
    }
  }
  EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), rows.size()) << "a row stands twice";
}

TEST(Covering, HasEachPairAndEachTripleThatIsAskedFor) {
  expect_cover({2, 2}, {});
  expect_cover({1, 3, 1}, {});
  expect_cover({4, 2, 4, 5, 3, 3, 5, 2, 3, 5, 5, 3, 3, 5, 6}, {});
  expect_cover({4, 2, 4, 5, 3, 3, 5, 2, 3, 5, 5, 3, 3, 5, 6}, {0, 4, 10, 14});
  expect_cover({3, 3, 3, 3}, {0, 1, 2, 3});
}

// The largest product of two axes, or of three, is the least that there can be.
TEST(Covering, IsNotMuchLongerThanItHasToBe) {
  EXPECT_LE(covering_rows({4, 2, 4, 5, 3, 3, 5, 2, 3, 5, 5, 3, 3, 5, 6}, {}).size(), 60U);
  EXPECT_LE(covering_rows({3, 3, 3, 3}, {0, 1, 2, 3}).size(), 45U);
  EXPECT_EQ(covering_rows({2, 3}, {}).size(), 6U);
}

TEST(Covering, BeginsWithTheFirstValuesAndIsTheSameAgain) {
  const Rows rows = covering_rows({3, 4, 2}, {});
  EXPECT_EQ(rows.front(), std::vector<std::size_t>({0, 0, 0}));
  EXPECT_EQ(rows, covering_rows({3, 4, 2}, {}));
  EXPECT_EQ(covering_rows({5}, {}).size(), 1U) << "one axis has no pairs";
}

}  // namespace
}  // namespace fencepost::scenario
