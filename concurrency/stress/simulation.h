// A stress run against a store that is a function call away, in simulated time: when requests
// reach the store, and replies their clients, is drawn by a seed. The same options always give the
// same history.
//
//   const SimulatedRun run = simulate(*handler, {.mix = find_mix("hot-key"), .seed = 7});
//   if (!run.judged.violations.empty()) use(run.operations);
//
// Pure, apart from what the store is; thread safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "concurrency/stress/online_checker.h"
#include "concurrency/stress/traffic.h"
#include "reference_store/service.h"

namespace fencepost::stress {

struct SimulationOptions {
  const Mix* mix = nullptr;
  std::uint64_t seed = 1;
  std::uint32_t clients = 16;
  std::uint64_t requests = 5'000;            // and no more
  history::Time duration = history::kNever;  // of requests, simulated
  double rate = 0;                           // as TrafficOptions has it
  // How many of 10,000 messages to and from the store are lost; how many of 10,000 requests end
  // their client's connection.
  std::size_t lost_in_10000 = 1;
  std::size_t broken_in_10000 = 1;
  const Plan* plan = nullptr;  // the requests instead of the mix; must outlive the run
  bool stop_at_violation = true;
  bool keep_operations = false;  // all, in the result
  history::CheckLimits limits{};
  std::optional<history::Bounds> bounds{};              // else simulated_bounds()
  decltype(TrafficOptions::check_reply) check_reply{};  // as there
};

struct SimulatedRun {
  Judged judged{};
  TrafficCounts counts{};
  std::vector<DeliveryFinding> deliveries{};
  DeliveryDoubts doubts{};                       // but for what the simulation has lost itself
  history::Time duration{0};                     // simulated
  std::vector<history::Operation> operations{};  // where they are kept: by number
};

// What may be slower in a simulation than a history says, and how much a store may be late.
[[nodiscard]] history::Bounds simulated_bounds();

// `store` begins empty. Events also go to `journal` if there is one. `stopped` is called now and
// then; an interrupted run judges what there is.
[[nodiscard]] SimulatedRun simulate(
    store::Handler& store, const SimulationOptions& options, Journal* journal = nullptr,
    const std::function<bool(const SimulatedRun&)>& stopped = nullptr);

}  // namespace fencepost::stress
