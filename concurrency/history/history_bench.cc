// What the verdict on one hot key costs: time for each operation, and the memory of the checker.
// The histories are of a store that keeps the rules: 40 % reads, a third of the rest deletions.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include <benchmark/benchmark.h>

#include "concurrency/history/checker.h"
#include "concurrency/history/testing/random_history.h"

namespace {

// Bytes that are allocated now; the difference is what a checker holds.
std::atomic<std::size_t> allocated{0};

constexpr std::size_t kHead = alignof(std::max_align_t);

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size + kHead);
  if (memory == nullptr) throw std::bad_alloc();
  *static_cast<std::size_t*>(memory) = size;
  allocated += size;
  return static_cast<char*>(memory) + kHead;
}

void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  void* const head = static_cast<char*>(memory) - kHead;
  allocated -= *static_cast<std::size_t*>(head);
  std::free(head);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace fencepost::history {
namespace {

RandomOptions hot_key(benchmark::State& state) {
  RandomOptions options;
  options.operations = static_cast<std::size_t>(state.range(0));
  options.clients = static_cast<std::size_t>(state.range(1));
  options.values = 0;
  options.percent_reads = 40;
  options.percent_deletes = 20;
  return options;
}

// Where the search is given up, that is the error that is shown.
void judge_hot_key(benchmark::State& state, const RandomOptions& options) {
  workload::Random random(1);
  const std::vector<Operation> operations = random_history(options, random);
  std::size_t held = 0;
  for (auto _ : state) {
    const std::size_t before = allocated;
    Checker checker;
    for (const Operation& operation : operations) checker.add(operation);
    held = allocated - before;
    const std::vector<KeyVerdict> verdicts = checker.finish();
    if (verdicts.front().verdict.answer != Answer::kOk) {
      state.SkipWithError(verdicts.front().verdict.text.c_str());
    }
  }
  const auto count = static_cast<double>(operations.size());
  state.counters["time_per_operation"] = benchmark::Counter(
      count, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes_per_operation"] = static_cast<double>(held) / count;
}

void by_versions(benchmark::State& state) { judge_hot_key(state, hot_key(state)); }
BENCHMARK(by_versions)
    ->ArgNames({"operations", "clients"})
    ->ArgsProduct({{10'000, 100'000, 1'000'000}, {10, 50, 1'000}})
    ->Unit(benchmark::kMillisecond);

void with_expiry(benchmark::State& state) {
  RandomOptions options = hot_key(state);
  options.expiry = true;
  judge_hot_key(state, options);
}
BENCHMARK(with_expiry)
    ->ArgNames({"operations", "clients"})
    ->ArgsProduct({{10'000, 100'000}, {10, 50}})
    ->Unit(benchmark::kMillisecond);

void with_lost_replies(benchmark::State& state) {
  RandomOptions options = hot_key(state);
  options.percent_unknown = 1;
  judge_hot_key(state, options);
}
BENCHMARK(with_lost_replies)
    ->ArgNames({"operations", "clients"})
    ->ArgsProduct({{1'000, 10'000}, {10, 50}})
    ->Unit(benchmark::kMillisecond);

void with_tokens(benchmark::State& state) {
  RandomOptions options = hot_key(state);
  options.tokens = true;
  judge_hot_key(state, options);
}
BENCHMARK(with_tokens)
    ->ArgNames({"operations", "clients"})
    ->ArgsProduct({{10'000}, {10, 50}})
    ->Unit(benchmark::kMillisecond);

void with_fresh_versions_of_deletions(benchmark::State& state) {
  RandomOptions options = hot_key(state);
  options.deleted = RandomOptions::Deleted::kFresh;
  judge_hot_key(state, options);
}
BENCHMARK(with_fresh_versions_of_deletions)
    ->ArgNames({"operations", "clients"})
    ->ArgsProduct({{10'000}, {10, 50}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fencepost::history

BENCHMARK_MAIN();
