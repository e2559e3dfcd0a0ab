// Properties of what is concluded about a store's clock: the truth lies between the bounds, and no
// conforming store is ever called wrong.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "suite/judge/clock_estimate.h"
#include "suite/testing/fake_clock_store.h"

namespace fencepost::judge {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::ClockSimulation;
using test::ClockStore;
using test::holds;

template <typename Time>
Time between(Time least, Time most) {
  return Time{*rc::gen::inRange<typename Time::rep>(least.count(), most.count() + 1)};
}

// Any conforming store on any path that is not hopeless.
test::ClockStore some_conforming_store() {
  test::ClockStore out;
  out.offset = between<microseconds>(-24h, 24h);
  out.way_there = between<microseconds>(0us, 120ms);
  out.way_back = between<microseconds>(0us, 120ms);
  out.jitter = between<microseconds>(0us, 50ms);
  if (*rc::gen::arbitrary<bool>()) out.moved_ahead = between<milliseconds>(0ms, 60s);
  out.condition_first = *rc::gen::arbitrary<bool>();
  out.own_counter = *rc::gen::weightedElement<bool>({{4, false}, {1, true}});
  out.seed = *rc::gen::arbitrary<std::uint32_t>();
  return out;
}

microseconds some_start() {
  return test::ClockSimulation::kStart + between<microseconds>(0us, 10s);
}

RC_GTEST_PROP(ClockEstimateProperty, TheTruthLiesBetweenTheBounds, ()) {
  const test::ClockStore store = some_conforming_store();
  test::ClockSimulation simulation(store, some_start());
  const ClockEstimate estimate = estimate_clock(simulation);
  RC_ASSERT(test::holds(estimate.bounds, store.offset));
  RC_ASSERT(estimate.source == ClockSource::kVersions || estimate.source == ClockSource::kRefusals);
  RC_ASSERT(estimate.bounds.low_ms <= estimate.offset_ms);
  RC_ASSERT(estimate.offset_ms <= estimate.bounds.high_ms);
}

RC_GTEST_PROP(ClockEstimateProperty, TheBoundsAreAsNarrowAsThePathAllows, ()) {
  test::ClockStore store = some_conforming_store();
  store.way_there = store.way_there / 10;
  store.way_back = store.way_back / 10;
  store.jitter = store.jitter / 10;
  test::ClockSimulation simulation(store, some_start());
  const ClockEstimate estimate = estimate_clock(simulation);
  const auto round_trip =
      std::chrono::ceil<milliseconds>(store.way_there + store.way_back + 2 * store.jitter);
  const std::int64_t unit_ms = simulation.showed_whole_seconds() ? 1'000 : 0;  // by chance
  RC_ASSERT(estimate.bounds.high_ms - estimate.bounds.low_ms <=
            3 * (round_trip.count() + 2) + 2 * unit_ms);
}

RC_GTEST_PROP(ClockEstimateProperty, VersionsAreMovedOnlyWhereNothingElseTells, ()) {
  test::ClockStore store = some_conforming_store();
  store.condition_first = false;
  test::ClockSimulation simulation(store, some_start());
  const std::int64_t before_ms = simulation.last_version_ms();
  static_cast<void>(estimate_clock(simulation));
  RC_ASSERT(simulation.last_version_ms() <= std::max(before_ms, simulation.clock()));
}

// Whatever the store does with timestamps that are ahead: while its versions tell the time, they
// tell it right.
RC_GTEST_PROP(ClockEstimateProperty, AWrongLimitDeceivesNobody, ()) {
  test::ClockStore store = some_conforming_store();
  store.moved_ahead = 0ms;
  store.own_counter = false;
  store.limit = between<milliseconds>(0ms, 5min);
  if (*rc::gen::arbitrary<bool>()) store.limit.reset();
  test::ClockSimulation simulation(store, some_start());
  const ClockEstimate estimate = estimate_clock(simulation);
  RC_ASSERT(estimate.source == ClockSource::kVersions);
  RC_ASSERT(test::holds(estimate.bounds, store.offset));
}

// What a case concludes from a refusal, or from its absence, is true of every conforming store.
RC_GTEST_PROP(StoreClockProperty, NoConformingStoreIsRejected, ()) {
  const test::ClockStore store = some_conforming_store();
  test::ClockSimulation simulation(store, some_start());
  StoreClock clock(estimate_clock(simulation).bounds);
  const auto fuzz = between<milliseconds>(-500ms, 500ms).count();
  for (int i = 0; i < 10; ++i) {
    const bool within = i % 2 == 0;
    const std::int64_t now_ms = simulation.now_ms();
    const std::int64_t timestamp_ms =
        fuzz + (within ? clock.last_accepted_ms(now_ms) : clock.first_refused_ms(now_ms));
    const auto offered = simulation.offer(timestamp_ms, OfferKind::kPlain);
    if (offered->refused) {
      RC_ASSERT(!clock.surely_accepts(timestamp_ms, offered->when.sent_ms));
    } else {
      // With condition_first an offer is still a plain SET here, and refused where it must be.
      RC_ASSERT(!clock.surely_refuses(timestamp_ms, offered->when.received_ms));
    }
    const auto version = simulation.read_version();
    clock.note_new_version(version->wall_ms, version->when);
    RC_ASSERT(clock.bounds().high_ms * 1000 > store.offset.count());
  }
}

// And a wrong one is, as soon as its limit is off by more than is unknown of its clock.
RC_GTEST_PROP(StoreClockProperty, AWrongLimitIsProved, ()) {
  test::ClockStore store = some_conforming_store();
  store.moved_ahead = 0ms;
  store.own_counter = false;
  const bool too_small = *rc::gen::arbitrary<bool>();
  store.limit = too_small ? between<milliseconds>(0ms, 59s) : between<milliseconds>(61s, 5min);
  test::ClockSimulation simulation(store, some_start());
  const StoreClock clock(estimate_clock(simulation).bounds);
  const std::int64_t now_ms = simulation.now_ms();
  constexpr std::int64_t kRoundTripMs = 340;  // twice the longest way with its jitter
  const std::int64_t timestamp_ms =
      too_small ? clock.last_accepted_ms(now_ms) : clock.first_refused_ms(now_ms + kRoundTripMs);
  const auto offered = simulation.offer(timestamp_ms, OfferKind::kPlain);
  RC_ASSERT(offered->refused == too_small);
  const bool proved = too_small ? clock.surely_accepts(timestamp_ms, offered->when.sent_ms)
                                : clock.surely_refuses(timestamp_ms, offered->when.received_ms);
  RC_ASSERT(proved);
}

}  // namespace
}  // namespace fencepost::judge
