#include "concurrency/stress/simulation.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/gate.h"
#include "reference_store/faults/fault.h"
#include "reference_store/service.h"

namespace fencepost::stress {
namespace {

using history::Action;
using history::Operation;
using history::Outcome;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t kRequests = 1'500;

SimulatedRun run_of(store::Handler& store, SimulationOptions options) {
  options.keep_operations = true;
  return simulate(store, options);
}

TEST(Simulation, FindsNothingInAConformingStoreWhateverItIsSent) {
  for (const Mix& mix : mixes()) {
    for (const codec::DialectId dialect : codec::kDialects) {
      store::Service store({.dialect = dialect});
      const SimulatedRun run = run_of(store, {.mix = &mix,
                                              .seed = 11,
                                              .requests = kRequests,
                                              .lost_in_10000 = 20,
                                              .broken_in_10000 = 20});
      EXPECT_THAT(run.judged.violations, IsEmpty()) << mix.name;
      EXPECT_EQ(run.judged.unknown_keys, 0U) << mix.name;
      EXPECT_EQ(run.judged.operations, kRequests) << mix.name;
      EXPECT_EQ(run.judged.operations, run.operations.size()) << mix.name;
      EXPECT_GT(run.judged.decided, kRequests / 2) << mix.name;
      EXPECT_GT(run.counts.timed_out + run.counts.lost, 0U) << mix.name;
    }
  }
}

TEST(Simulation, IsTheSameForTheSameSeedAndAnotherForAnother) {
  const auto history_of = [](std::uint64_t seed) {
    store::Service store;
    return run_of(store, {.mix = find_mix("everything"), .seed = seed, .requests = 500}).operations;
  };
  const std::vector<Operation> first = history_of(3);
  EXPECT_EQ(first, history_of(3));
  EXPECT_NE(first, history_of(4));
}

TEST(Simulation, RunsRequestsConcurrently) {
  store::Service store;
  const SimulatedRun run =
      run_of(store, {.mix = find_mix("hot-key"), .seed = 1, .requests = kRequests});
  std::size_t meets = 0;
  history::Time latest{0};
  for (const Operation& each : run.operations) {
    if (each.called < latest) ++meets;
    if (each.returned != history::kNever) latest = std::max(latest, each.returned);
  }
  EXPECT_GT(meets, kRequests / 2);
}

// Answers SETs of another client's value with what was there before, for a while.
class StaleStore final : public store::Handler {
 public:
  store::Handling handle(const store::Caller& caller, const codec::Message& request,
                         const store::Instant& now, std::vector<store::Delivery>& out) override {
    const auto handling = store_.handle(caller, request, now, out);
    const bool get = request.payload.find("GET") != std::string::npos;
    if (get && out.back().message.payload.starts_with('$')) {
      std::swap(out.back().message.payload, last_payload_);
      if (out.back().message.payload.empty()) out.back().message.payload = last_payload_;
    }
    return handling;
  }
  void expire(const store::Instant& now, std::vector<store::Delivery>& out) override {
    store_.expire(now, out);
  }
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override {
    return store_.next_expiry();
  }
  void disconnect(std::string_view client_id) override { store_.disconnect(client_id); }

 private:
  store::Service store_;
  std::string last_payload_;
};

TEST(Simulation, StopsAtAViolationAndNamesItsOperations) {
  StaleStore store;
  const SimulatedRun run =
      run_of(store, {.mix = find_mix("register"),
                     .seed = 5,
                     .requests = all_or_in_gate<std::uint64_t>(100'000, 10'000)});
  ASSERT_THAT(run.judged.violations, Not(IsEmpty()));
  EXPECT_EQ(run.judged.violations.front().verdict.requirement, "VER-GET-2");
  EXPECT_THAT(run.deliveries, IsEmpty());
  const history::KeyVerdict& found = run.judged.violations.front();
  ASSERT_EQ(found.verdict.shown.size(), found.verdict.operations.size());
  for (const Operation& each : found.verdict.shown) EXPECT_EQ(each.key, found.key);
}

// What was on its way when a run ended is no reply that was owed.
TEST(Simulation, ThatIsInterruptedFindsNothing) {
  for (const Mix& mix : mixes()) {
    for (std::size_t until : all_or_in_gate<std::vector<std::size_t>>({1, 3, 20}, {1, 3})) {
      store::Service store;
      const SimulatedRun run = simulate(store, {.mix = &mix, .seed = until, .requests = 1'000'000},
                                        nullptr, [&](const SimulatedRun&) { return --until == 0; });
      EXPECT_THAT(run.judged.violations, IsEmpty()) << mix.name;
      EXPECT_THAT(run.deliveries, IsEmpty()) << mix.name;
      EXPECT_EQ(run.doubts.all(), 0U) << mix.name;
      EXPECT_GT(run.counts.timed_out, 0U) << mix.name;
    }
  }
}

// Variants that conform and let replies or requests wait: the last ones, too, are waited for.
TEST(Simulation, LosesNothingThatAStoreHoldsBack) {
  for (const store::Fault& fault : store::overlap_variants()) {
    for (std::uint64_t seed = 1; seed <= all_or_in_gate<std::uint64_t>(2, 1); ++seed) {
      SimulationOptions options{.mix = find_mix("everything"),
                                .seed = seed,
                                .clients = 4,
                                .duration = std::chrono::milliseconds{200}};
      const SimulatedRun ended = simulate(*fault.make({}, seed), options);
      EXPECT_THAT(ended.judged.violations, IsEmpty()) << fault.id;
      EXPECT_THAT(ended.deliveries, IsEmpty()) << fault.id;
      options.lost_in_10000 = options.broken_in_10000 = 0;
      EXPECT_EQ(simulate(*fault.make({}, seed), options).counts.unknown(), 0U) << fault.id;
      const SimulatedRun interrupted = simulate(*fault.make({}, seed), options, nullptr,
                                                [](const SimulatedRun&) { return true; });
      EXPECT_THAT(interrupted.deliveries, IsEmpty()) << fault.id;
      EXPECT_EQ(interrupted.doubts.all(), 0U) << fault.id;
    }
  }
}

TEST(Mixes, HaveNamesOfTheirOwnAndAskWhatTheySay) {
  EXPECT_EQ(find_mix("no-such"), nullptr);
  for (const Mix& mix : mixes()) {
    ASSERT_EQ(find_mix(mix.name), &mix);
    Script script({.mix = &mix, .clients = 16, .seed = 1, .prefix = "p/"});
    std::set<std::string> values;
    for (std::uint32_t i = 0; i < 2'000; ++i) {
      Operation operation = script.next(i % 16);
      EXPECT_TRUE(operation.key.starts_with("p/g1/")) << operation.key;
      EXPECT_FALSE(operation.condition != codec::Condition::kAlways &&
                   operation.action != Action::kSet);
      const bool unique = operation.action == Action::kSet &&
                          operation.condition != codec::Condition::kIfAbsentOrEqual;
      if (unique) {
        EXPECT_TRUE(values.insert(operation.value).second) << operation.value;
      }
      operation.outcome = operation.action == Action::kSet ? Outcome::kOk : Outcome::kMissing;
      script.answered(operation);
    }
  }
}

TEST(Script, WhatAClientAsksDoesNotDependOnTheOthers) {
  const auto asked = [](bool alone) {
    Script script({.mix = find_mix("everything"), .clients = 8, .seed = 9, .prefix = "p/"});
    std::vector<Operation> out;
    for (int i = 0; i < 200; ++i) {
      if (!alone) static_cast<void>(script.next(1));
      out.push_back(script.next(5));
    }
    return out;
  };
  EXPECT_EQ(asked(true), asked(false));
}

}  // namespace
}  // namespace fencepost::stress
