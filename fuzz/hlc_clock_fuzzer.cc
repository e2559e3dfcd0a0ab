// Three nodes whose clocks tick, stop and jump either way, and messages between them, some forged.
// Each step is held against the rule of Kulkarni, Demirbas et al. (2014), figure 5, in numbers that
// do not wrap. (A cause is before its effect, as each step is after both its past and its message.)
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "fuzz/input_reader.h"
#include "hlc/hlc.h"

namespace {

using namespace fencepost::hlc;
__extension__ using Wide = unsigned __int128;
constexpr std::array<std::uint64_t, 8> kNumbers = {0,      1,      3,           59'999,
                                                   60'000, 60'001, ~0ULL >> 1U, ~0ULL};

struct Event {
  Timestamp at;
  std::uint64_t known;  // the events before it that it knows of, a bit for each
};

struct Node {
  Clock clock;
  std::uint64_t wall_ms = 0;
  std::uint64_t known = 0;
};

// A step by a message; a local event is one by the clock's own last timestamp.
bool step(Node& node, const Timestamp* message, const ClockLimits& limits) {
  const Timestamp l = node.clock.last();
  const Timestamp& m = message != nullptr ? *message : l;
  const std::uint64_t wall = std::max({l.wall_ms, m.wall_ms, node.wall_ms});
  Wide counter = 0;
  if (wall == l.wall_ms) counter = Wide{l.counter} + 1;
  if (wall == m.wall_ms) counter = std::max(counter, Wide{m.counter} + 1);
  const bool overflow = counter > limits.max_counter;
  const bool drift = wall > Wide{node.wall_ms} + limits.max_drift_ms;

  const auto got =
      message != nullptr ? node.clock.update(m, node.wall_ms) : node.clock.now(node.wall_ms);
  FENCEPOST_CHECK(got.has_value() == (!overflow && !drift));
  FENCEPOST_CHECK(node.clock.last() == got.value_or(l));
  if (!got) {
    FENCEPOST_CHECK(got.error() == (overflow ? ClockErrorCode::kOverflow : ClockErrorCode::kDrift));
    return false;
  }
  FENCEPOST_CHECK(got->wall_ms == wall && got->counter == counter && got->node == l.node);
  FENCEPOST_CHECK(*got > l && *got > m);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fencepost::fuzz::InputReader in(data, size);
  const ClockLimits limits{.max_drift_ms = in.pick(kNumbers), .max_counter = in.pick(kNumbers)};
  std::array<Node, 3> nodes = {Node{Clock("a", limits)}, Node{Clock("b", limits)},
                               Node{Clock("B", limits)}};
  for (Node& node : nodes) node.wall_ms = in.number();
  std::vector<Event> events;
  bool forged = false;
  while (!in.at_end() && events.size() < 64) {  // so many that a set of them is one number
    const unsigned what = in.byte();
    Node& node = nodes[what / 8 % nodes.size()];
    Event event{{node.wall_ms, 0, "forged"}, node.known};
    const Timestamp* message = nullptr;
    if (what % 8 == 0) node.wall_ms += in.pick(kNumbers);
    if (what % 8 == 1) node.wall_ms -= in.pick(kNumbers);
    if (what % 8 < 2) continue;
    if (what % 8 == 2) {
      event.at.wall_ms += in.pick(kNumbers);
      event.at.counter = in.pick(kNumbers);
      message = &event.at;
    } else if (what % 8 < 5 && !events.empty()) {
      const std::size_t i = in.byte() % events.size();
      message = &events[i].at;
      event.known |= events[i].known | 1ULL << i;
    }
    if (!step(node, message, limits)) continue;
    forged = forged || what % 8 == 2;
    event.at = node.clock.last();
    std::size_t alike = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if ((event.known >> i & 1U) != 0 && events[i].at.wall_ms == event.at.wall_ms) ++alike;
    }
    FENCEPOST_CHECK(forged || event.at.wall_ms == 0 || event.at.counter <= alike);
    node.known = event.known | 1ULL << events.size();
    events.push_back(event);
  }
  return 0;
}
