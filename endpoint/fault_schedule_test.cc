#include "endpoint/fault_schedule.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Strike> strikes_until(FaultSchedule schedule, std::chrono::nanoseconds end) {
  std::vector<Strike> out;
  while (const auto strike = schedule.due(end)) out.push_back(*strike);
  return out;
}

TEST(FaultSchedule, ReadsNames) {
  EXPECT_THAT(*parse_network_faults("none"), ElementsAre());
  EXPECT_EQ(parse_network_faults("all")->size(), kNetworkFaults.size() - 5) << "of the network";
  EXPECT_THAT(*parse_network_faults("reset,half-open,reset"),
              ElementsAre(NetworkFault::kReset, NetworkFault::kHalfOpen));
  EXPECT_THAT(parse_network_faults("reset,").error(),
              HasSubstr("\"\" is not none, all, or one of"));
  EXPECT_THAT(parse_network_faults("explode").error(), HasSubstr("withhold-response"));
}

TEST(FaultSchedule, KindsAreInTheOrderOfTheEnumeration) {
  for (const NetworkFaultKind& kind : kNetworkFaults) {
    EXPECT_EQ(kind_of(kind.fault).name, kind.name);
    EXPECT_LE(kind.shortest, kind.longest);
  }
}

TEST(FaultSchedule, FollowsFromTheSeed) {
  const auto all = *parse_network_faults("all");
  const auto first = strikes_until({7, all, 250ms}, 60s);
  const auto again = strikes_until({7, all, 250ms}, 60s);
  const auto other = strikes_until({8, all, 250ms}, 60s);
  ASSERT_EQ(first.size(), again.size());
  std::size_t same = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].at, again[i].at);
    EXPECT_EQ(first[i].fault, again[i].fault);
    EXPECT_EQ(first[i].pick, again[i].pick);
    if (i < other.size() && first[i].at == other[i].at) ++same;
  }
  EXPECT_LT(same, first.size() / 4);
}

TEST(FaultSchedule, StrikesWithEachKindAsOften) {
  const auto strikes = strikes_until({1, *parse_network_faults("all"), 250ms}, 100s);
  EXPECT_NEAR(static_cast<double>(strikes.size()), 400, 20);
  std::map<NetworkFault, std::size_t> times;
  std::chrono::nanoseconds last{0};
  for (const Strike& strike : strikes) {
    ++times[strike.fault];
    EXPECT_GE(strike.at - last, 125ms);
    EXPECT_LE(strike.at - last, 375ms);
    last = strike.at;
    EXPECT_GE(strike.length, kind_of(strike.fault).shortest);
    EXPECT_LE(strike.length, kind_of(strike.fault).longest);
  }
  EXPECT_EQ(times.size(), kNetworkFaults.size() - 5);
  for (const auto& [fault, count] : times) {
    EXPECT_NEAR(static_cast<double>(count), static_cast<double>(strikes.size()) / 13, 1);
  }
}

TEST(FaultSchedule, FollowsAPlan) {
  const FaultPlan plan{.strikes = {{.at = 1s, .fault = NetworkFault::kReset},
                                   {.at = 1s, .fault = NetworkFault::kStall},
                                   {.at = 3s, .fault = NetworkFault::kKill}}};
  const auto once = strikes_until(FaultSchedule(plan), 1h);
  ASSERT_EQ(once.size(), 3U);
  EXPECT_EQ(once[1].fault, NetworkFault::kStall);
  EXPECT_EQ(once[2].at, 3s);
  const auto again = strikes_until(FaultSchedule({.strikes = plan.strikes, .repeat = 10s}), 23s);
  ASSERT_EQ(again.size(), 9U);
  EXPECT_EQ(again[3].at, 11s);
  EXPECT_EQ(again[8].fault, NetworkFault::kKill);
  EXPECT_EQ(again[8].at, 23s);
}

TEST(FaultSchedule, WaitsForItsTime) {
  FaultSchedule schedule(3, {NetworkFault::kReset}, 100ms);
  EXPECT_FALSE(schedule.due(49ms).has_value());
  EXPECT_TRUE(schedule.due(150ms).has_value());
  EXPECT_FALSE(schedule.due(150ms).has_value());
}

}  // namespace
}  // namespace fencepost::endpoint
