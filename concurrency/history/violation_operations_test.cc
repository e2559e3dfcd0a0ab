#include "concurrency/history/violation_operations.h"

#include <gtest/gtest.h>

namespace fencepost::history {
namespace {

using std::chrono::milliseconds;

TEST(ViolationOperations, AreAsTheyWereGiven) {
  const hlc::Timestamp stamp{1, 2, "node"};
  const std::vector<Operation> all = {
      {.client = 3,
       .action = Action::kSet,
       .value = "v",
       .condition = codec::Condition::kIfAbsent,
       .expires_after = milliseconds{0},
       .timestamp = stamp,
       .token = hlc::Timestamp{1, 3, "node"},
       .called = Time{5},
       .returned = Time{7},
       .outcome = Outcome::kOk,
       .version = stamp,
       .resent = true},
      {.action = Action::kGet, .called = Time{8}, .outcome = Outcome::kValue, .read = "v"},
      {.action = Action::kCompareAndSet, .value = "w", .expected = "v"},
      {.action = Action::kDel, .outcome = Outcome::kRefused, .reason = "not authorized"}};
  ViolationOperations kept;
  Index number = 0;
  for (const Operation& each : all) kept.add(each, number += 2);
  number = 0;
  for (const Operation& each : all) EXPECT_EQ(kept.find(number += 2), each) << number;
  EXPECT_EQ(kept.find(3), std::nullopt);
  EXPECT_EQ(kept.find(10), std::nullopt);
}

TEST(ViolationOperations, AreForgottenButForThoseThatAreWanted) {
  ViolationOperations kept;
  for (Index i = 0; i < 4; ++i) kept.add({.client = i, .value = "v"}, i);
  kept.keep([](Index number) { return number % 2 == 1; });
  EXPECT_EQ(kept.find(2), std::nullopt);
  ASSERT_TRUE(kept.find(3));
  EXPECT_EQ(kept.find(3)->client, 3U);
}

}  // namespace
}  // namespace fencepost::history
