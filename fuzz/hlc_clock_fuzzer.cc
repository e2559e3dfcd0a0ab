// Three nodes whose clocks tick, stop and jump either way, and messages between them, some forged.
// Each step is as the paper has it, and after both its past and its message.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "fuzz/input_reader.h"
#include "hlc/testing/naive_hlc.h"

using namespace fencepost::hlc;

namespace {
constexpr std::array kNumbers = {0UL, 1UL, 3UL, 59'999UL, 60'000UL, 60'001UL, ~0UL / 2, ~0UL};
constexpr std::size_t kMaxEvents = 64;  // more say nothing new

// One step of a node; whether its clock took it.
bool step(Clock& clock, const Timestamp* message, std::uint64_t wall_ms,
          const ClockLimits& limits) {
  const Timestamp last = clock.last();
  const auto expected = naive::next(last, message, wall_ms, limits);
  const auto got = message != nullptr ? clock.update(*message, wall_ms) : clock.now(wall_ms);
  FENCEPOST_CHECK(got == expected);
  FENCEPOST_CHECK(clock.last() == got.value_or(last));
  FENCEPOST_CHECK(!got || (*got > last && (message == nullptr || *got > *message)));
  return got.has_value();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fencepost::fuzz::InputReader in(data, size);
  const ClockLimits limits{.max_drift_ms = in.pick(kNumbers), .max_counter = in.pick(kNumbers)};
  std::array clocks = {Clock("a", limits), Clock("b", limits), Clock("B", limits)};
  std::array walls = {in.number(), in.number(), in.number()};
  std::vector<Timestamp> events;
  events.reserve(kMaxEvents);
  bool forged = false;
  while (!in.at_end() && events.size() < kMaxEvents) {
    const unsigned what = in.byte() % 24;
    const unsigned node = what / 8;
    if (what % 8 == 0) walls[node] += in.pick(kNumbers);
    if (what % 8 == 1) walls[node] -= in.pick(kNumbers);
    if (what % 8 < 2) continue;
    Timestamp message{walls[node], 0, "forged"};
    if (what % 8 == 2) message = {walls[node] + in.pick(kNumbers), in.pick(kNumbers), "forged"};
    const bool received = what % 8 == 3 && !events.empty();
    if (received) message = events[in.byte() % events.size()];
    const bool local = what % 8 != 2 && !received;
    if (!step(clocks[node], local ? nullptr : &message, walls[node], limits)) continue;
    forged = forged || what % 8 == 2;
    const Timestamp& now = events.emplace_back(clocks[node].last());
    if (forged) continue;
    // A counter grows by one for an event; clocks begin with one at wall clock 0, which is not a
    // time.
    const auto alike = std::count_if(events.begin(), events.end(), [&](const Timestamp& event) {
      return event.wall_ms == now.wall_ms;
    });
    FENCEPOST_CHECK(now.counter < static_cast<std::uint64_t>(alike) + (now.wall_ms == 0));
  }
  return 0;
}
