// How fast traces of 64 random operations run on the reference store and the naive model, compared
// after each step.
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "fuzz/store_driver.h"
#include "workload/random.h"
#include "workload/trace_bytes.h"
#include "workload/trace_mutator.h"

namespace fencepost::fuzz {
namespace {

std::vector<std::string> random_traces() {
  constexpr std::size_t kTraces = 256;
  constexpr std::size_t kOperations = 64;
  workload::Random random(1);
  std::vector<std::string> inputs(kTraces);
  for (std::string& input : inputs) {
    workload::Trace trace(kOperations);
    for (workload::Operation& operation : trace) operation = workload::random_operation(random);
    input = encode_trace(trace);
  }
  return inputs;
}

void run_trace(benchmark::State& state) {
  const std::vector<std::string> inputs = random_traces();
  StoreDriver driver;
  workload::Trace trace;
  std::size_t next = 0;
  for (auto _ : state) {
    workload::decode_trace(inputs[next++ % inputs.size()], trace);
    FENCEPOST_CHECK(!driver.run(trace));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(run_trace);

void decode(benchmark::State& state) {
  const std::vector<std::string> inputs = random_traces();
  workload::Trace trace;
  std::size_t next = 0;
  for (auto _ : state) {
    workload::decode_trace(inputs[next++ % inputs.size()], trace);
    benchmark::DoNotOptimize(trace.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(decode);

}  // namespace
}  // namespace fencepost::fuzz

BENCHMARK_MAIN();
