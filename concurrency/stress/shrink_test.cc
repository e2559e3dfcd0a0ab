#include "concurrency/stress/shrink.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace fencepost::stress {
namespace {

TEST(Shrink, FindsTheSmallestRunThatFails) {
  const Attempt attempt = [](const RunSize& size, std::size_t /*number*/) {
    const bool fails = size.clients >= 3 && size.mix->name != "hot-key";
    return fails ? std::optional<std::size_t>(size.clients * 10) : std::nullopt;
  };
  const RunSize first{.mix = find_mix("everything"), .clients = 16};
  const Shrunk found = shrink(first, "x/g2/4-0-lock", attempt, {.tries = 4});
  EXPECT_EQ(found.size.mix, find_mix("lease"));
  EXPECT_EQ(found.size.clients, 3U);
  EXPECT_EQ(found.runs, 4U);
  EXPECT_EQ(found.failed, 4U);
  EXPECT_EQ(found.operations, 30U);
}

TEST(Shrink, CountsHowOftenItFails) {
  const Attempt attempt = [](const RunSize& size, std::size_t number) {
    const bool fails = size.clients == 16 && number % 2 == 1;
    return fails ? std::optional<std::size_t>(number) : std::nullopt;
  };
  const Shrunk found =
      shrink({.mix = find_mix("register"), .clients = 16}, "g1/0", attempt, {.tries = 6});
  EXPECT_EQ(found.size.clients, 16U);
  EXPECT_EQ(found.runs, 6U);
  EXPECT_EQ(found.failed, 3U);
  EXPECT_EQ(found.operations, 3U);
}

TEST(Shrink, KeepsTheFirstSizeWhereNothingFailsAgain) {
  std::size_t calls = 0;
  const Attempt attempt = [&](const RunSize&, std::size_t) -> std::optional<std::size_t> {
    ++calls;
    return std::nullopt;
  };
  const RunSize first{.mix = find_mix("register"), .clients = 16};
  EXPECT_EQ(shrink(first, "k", attempt, {.tries = 6}).failed, 0U);
  EXPECT_EQ(calls, 3U);
  EXPECT_EQ(shrink(first, "k", attempt, {.enough = [] { return true; }}).runs, 0U);
  EXPECT_EQ(calls, 3U);
}

TEST(MixOfKey, IsThatOfTheRowInItsName) {
  const Mix& everything = *find_mix("everything");
  EXPECT_EQ(mix_of_key(everything, "a/b/g1/0"), find_mix("hot-key"));
  EXPECT_EQ(mix_of_key(everything, "g12/6-1"), find_mix("observers"));
  EXPECT_EQ(mix_of_key(everything, "g12/66"), nullptr);
  EXPECT_EQ(mix_of_key(everything, "other"), nullptr);
}

Plan plan_of(std::size_t requests) {
  Plan out;
  for (std::size_t i = 0; i < requests; ++i) {
    out.push_back({.client = static_cast<std::uint32_t>(i % 4), .key = std::to_string(i)});
  }
  return out;
}

// A run fails when it has these requests, in their order.
std::function<bool(const Plan&)> needs(std::vector<std::string> keys) {
  return [keys = std::move(keys)](const Plan& plan) {
    std::size_t found = 0;
    for (const history::Operation& operation : plan) {
      if (found < keys.size() && operation.key == keys[found]) ++found;
    }
    return found == keys.size();
  };
}

std::vector<std::string> keys_of(const Plan& plan) {
  std::vector<std::string> out;
  for (const history::Operation& operation : plan) out.push_back(operation.key);
  return out;
}

TEST(ShrinkPlan, LeavesOutWhateverIsNotNeeded) {
  for (const std::vector<std::string>& needed :
       {std::vector<std::string>{"0"}, {"999"}, {"3", "500", "501", "998"}}) {
    const ShrunkPlan smallest = shrink_plan(plan_of(1'000), needs(needed), 1'000);
    EXPECT_EQ(keys_of(smallest.plan), needed);
    EXPECT_EQ(smallest.asked, 1'000U);
    EXPECT_LT(smallest.tries, 300U);
  }
  EXPECT_EQ(shrink_plan(plan_of(20), needs({"never"}), 1'000).plan.size(), 20U);
}

TEST(ShrinkPlan, EndsInTime) {
  const ShrunkPlan given_up = shrink_plan(plan_of(1'000), needs({"3", "500"}), 3);
  EXPECT_EQ(given_up.tries, 3U);
  EXPECT_TRUE(needs({"3", "500"})(given_up.plan));
  const auto at_once = [] { return true; };
  EXPECT_EQ(shrink_plan(plan_of(9), needs({"3"}), 100, at_once).tries, 0U);
}

}  // namespace
}  // namespace fencepost::stress
