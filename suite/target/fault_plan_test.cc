#include "suite/target/fault_plan.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::target {
namespace {

using namespace std::chrono_literals;
using endpoint::NetworkFault;
using ::testing::IsEmpty;

TEST(FaultPlan, SaysWhatHappensWhen) {
  std::vector<scenario::LoadError> errors;
  const auto plan = load_fault_plan({"night.yaml", R"(
disturbances:
  - {at: 5s, kind: kill}
  - {at: 500ms, kind: stall, for: 300ms, direction: to-broker, connection: 3}
  - {at: 2s, kind: stop}
repeat: 1m
)"},
                                    errors);
  EXPECT_THAT(errors, IsEmpty());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->repeat, 60s);
  ASSERT_EQ(plan->strikes.size(), 3U);
  const endpoint::Strike& stall = plan->strikes[0];
  EXPECT_EQ(stall.at, 500ms);
  EXPECT_EQ(stall.fault, NetworkFault::kStall);
  EXPECT_EQ(stall.length, 300ms);
  EXPECT_TRUE(stall.up);
  EXPECT_EQ(stall.pick, 3U);
  EXPECT_EQ(plan->strikes[1].fault, NetworkFault::kStop);
  EXPECT_EQ(plan->strikes[1].length, 1s) << "the longest";
  EXPECT_EQ(plan->strikes[2].fault, NetworkFault::kKill);
}

TEST(FaultPlan, NamesWhatIsWrong) {
  const std::pair<const char*, std::string> wrong[] = {
      {"disturbances: []", "p.yaml:1:15: disturbances must be a list, not empty"},
      {"repeat: 1s", "p.yaml:1:1: the plan needs the key \"disturbances\""},
      {"disturbances: [{at: 1s, kind: all}]",
       "p.yaml:1:31: kind must be one of delay, jitter, split, rate, stall, half-open, close, "
       "reset, "
       "takeover, refuse, cut-packet, withhold-puback, withhold-response, stop, restart, kill, "
       "partition, failover, not \"all\""},
      {"disturbances: [{at: 1s, kind: stall, for: 2s}]",
       "p.yaml:1:43: stall lasts at most 1000 ms"},
      {"disturbances: [{at: 1s, kind: kill, for: 2s}]",
       "p.yaml:1:42: kill takes no time; leave out `for`"},
      {"disturbances: [{at: 1s, kind: kill, connection: 2}]",
       "p.yaml:1:49: kill strikes the broker and no connection; leave out `connection`"},
      {"disturbances: [{at: 1s, kind: half-open, direction: to-broker}]",
       "p.yaml:1:53: half-open has no direction; leave out `direction`"},
      {"disturbances: [{at: 1s, kind: stall, direction: up}]",
       "p.yaml:1:49: direction must be to-broker or to-client, not \"up\""},
      {"{disturbances: [{at: 2s, kind: reset}], repeat: 2s}",
       "p.yaml:1:49: repeat must be later than each `at`"},
      {"disturbances: [{kind: reset}]", "p.yaml:1:16: a disturbance needs the key \"at\""},
  };
  for (const auto& [content, text] : wrong) {
    std::vector<scenario::LoadError> errors;
    EXPECT_FALSE(load_fault_plan({"p.yaml", content}, errors)) << content;
    ASSERT_FALSE(errors.empty()) << content;
    EXPECT_EQ(describe(errors.front()), text);
  }
}

}  // namespace
}  // namespace fencepost::target
