// What a timestamp costs: each operation once per request is the budget of the store.
#include <benchmark/benchmark.h>

#include "hlc/hlc.h"

namespace fencepost::hlc {
namespace {

constexpr std::uint64_t kWallMs = 1'696'374'425'000;
constexpr std::string_view kShort = "1696374425000:1:StateStore";
constexpr std::string_view kPadded = "001696374425000:00001:0190f6a5-7c1e-7a44-9b0e-1f1df3c0a8d2";

void parse_text(benchmark::State& state, std::string_view text) {
  for (auto _ : state) {
    auto parsed = parse(text);
    benchmark::DoNotOptimize(parsed);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK_CAPTURE(parse_text, unpadded, kShort);
BENCHMARK_CAPTURE(parse_text, canonical_with_uuid, kPadded);
BENCHMARK_CAPTURE(parse_text, refused_at_the_last_field, "001696374425000:00001:");

void format_timestamp(benchmark::State& state, Padding padding) {
  const Timestamp timestamp = parse(kPadded).value();
  for (auto _ : state) {
    auto text = format(timestamp, padding);
    benchmark::DoNotOptimize(text);
  }
}
BENCHMARK_CAPTURE(format_timestamp, unpadded, Padding::kNone);
BENCHMARK_CAPTURE(format_timestamp, canonical, Padding::kCanonical);

void compare(benchmark::State& state, const Timestamp& a, const Timestamp& b) {
  // Escaped copies keep the compiler from deciding the comparison at compile time.
  Timestamp left = a;
  Timestamp right = b;
  for (auto _ : state) {
    benchmark::DoNotOptimize(left);
    benchmark::DoNotOptimize(right);
    bool less = left < right;
    benchmark::DoNotOptimize(less);
  }
}
BENCHMARK_CAPTURE(compare, wall_differs, Timestamp{kWallMs, 0, "StateStore"},
                  Timestamp{kWallMs + 1, 0, "StateStore"});
BENCHMARK_CAPTURE(compare, node_differs, Timestamp{kWallMs, 0, "StateStore1"},
                  Timestamp{kWallMs, 0, "StateStore2"});

void update(benchmark::State& state, std::uint64_t wall_step_ms) {
  Clock clock("StateStore");
  Timestamp remote{kWallMs, 0, "Client1"};
  std::uint64_t wall_ms = kWallMs;
  for (auto _ : state) {
    wall_ms += wall_step_ms;
    remote.wall_ms = wall_ms;
    auto version = clock.update(remote, wall_ms);
    benchmark::DoNotOptimize(version);
  }
}
BENCHMARK_CAPTURE(update, wall_clock_stands, 0);
BENCHMARK_CAPTURE(update, wall_clock_advances, 1);

void now(benchmark::State& state) {
  Clock clock("StateStore");
  for (auto _ : state) {
    auto version = clock.now(kWallMs);
    benchmark::DoNotOptimize(version);
  }
}
BENCHMARK(now);

}  // namespace
}  // namespace fencepost::hlc

BENCHMARK_MAIN();
