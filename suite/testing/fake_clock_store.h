// Test only: a store whose clock is known to the test, right or wrong in a given way, behind a way
// of a given length. It answers the questions of clock_estimate.h without a network in between.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

#include "hlc/hlc.h"
#include "suite/judge/clock_estimate.h"

namespace fencepost::test {

using std::chrono::microseconds;
using std::chrono::milliseconds;

struct ClockStore {
  microseconds offset{0};  // the store's clock minus ours
  microseconds way_there{50};
  microseconds way_back{50};
  microseconds jitter{0};       // up to so much more on each of them
  milliseconds moved_ahead{0};  // how far an earlier request has moved the versions
  std::optional<milliseconds> limit{
      60'000};                    // of timestamps ahead of the clock; none: all are taken
  milliseconds unit{1};           // of the clock
  bool condition_first = false;   // NX is checked before the timestamp
  bool own_counter = false;       // counters that are never reset
  bool follows_requests = false;  // versions are the timestamps of requests, however old
  int readings = 1'000'000;       // how many versions it gives, then none
  std::uint32_t seed = 1;
};

class ClockSimulation final : public judge::ClockProbe {
 public:
  explicit ClockSimulation(const ClockStore& store, microseconds start = kStart)
      : store_(store),
        now_(start),
        random_(store.seed),
        versions_("store", hlc::ClockLimits{.max_drift_ms = hlc::kMaxWallMs}) {
    if (store_.moved_ahead.count() > 0) {
      static_cast<void>(versions_.update(
          {to_wall(clock() + store_.moved_ahead.count()), 7, "earlier"}, to_wall(clock())));
    }
  }

  static constexpr microseconds kStart{1'767'225'600'003'123};

  std::int64_t now_ms() override { return now_.count() / 1000; }
  void pause_until(std::int64_t time_ms) override {
    now_ = std::max(now_, microseconds{time_ms * 1000});
  }

  std::optional<judge::VersionSeen> read_version() override {
    if (store_.readings-- <= 0) return std::nullopt;
    judge::VersionSeen out;
    out.when = exchange([&] {
      const auto version = versions_.update({1, 0, "client"}, to_wall(clock()));
      out.wall_ms = store_.follows_requests ? 1 : static_cast<std::int64_t>(version->wall_ms);
      whole_seconds_ = whole_seconds_ || out.wall_ms % 1'000 == 0;
      out.counter = store_.own_counter ? ++count_ : version->counter;
      if (store_.follows_requests) out.counter = 1;
    });
    return out;
  }

  std::optional<judge::Offered> offer(std::int64_t timestamp_ms, judge::OfferKind kind) override {
    ++offers_;
    judge::Offered out;
    out.when = exchange([&] {
      const bool in_vain = kind == judge::OfferKind::kInVain;
      const bool too_far = store_.limit && timestamp_ms - clock() > store_.limit->count();
      out.refused = too_far && !(in_vain && store_.condition_first);
      if (out.refused || in_vain) return;
      static_cast<void>(versions_.update({to_wall(timestamp_ms), 0, "client"}, to_wall(clock())));
    });
    return out;
  }

  // What the store's clock shows.
  [[nodiscard]] std::int64_t clock() const {
    const std::int64_t wall_ms = (now_ + store_.offset).count() / 1000;
    return wall_ms - wall_ms % store_.unit.count();
  }
  [[nodiscard]] std::int64_t last_version_ms() const {
    return static_cast<std::int64_t>(versions_.last().wall_ms);
  }
  [[nodiscard]] bool showed_whole_seconds() const { return whole_seconds_; }
  [[nodiscard]] int offers() const { return offers_; }
  [[nodiscard]] microseconds elapsed() const { return now_ - kStart; }

  // Runs `handle` when the request has reached the store.
  template <typename Handle>
  judge::Interval exchange(Handle handle) {
    const std::int64_t sent_ms = now_ms();
    now_ += store_.way_there + some_jitter();
    handle();
    now_ += store_.way_back + some_jitter();
    return {.sent_ms = sent_ms, .received_ms = now_ms()};
  }

 private:
  static std::uint64_t to_wall(std::int64_t wall_ms) { return static_cast<std::uint64_t>(wall_ms); }

  microseconds some_jitter() {
    const auto most = static_cast<std::uint64_t>(store_.jitter.count());
    return microseconds{static_cast<microseconds::rep>(random_() % (most + 1))};
  }

  ClockStore store_;
  microseconds now_;
  std::mt19937 random_;
  hlc::Clock versions_;
  std::uint64_t count_ = 0;
  int offers_ = 0;
  bool whole_seconds_ = false;
};

// Does the truth lie between the bounds?
[[nodiscard]] inline bool holds(const judge::ClockBounds& bounds, microseconds offset) {
  return milliseconds{bounds.low_ms} < offset && offset < milliseconds{bounds.high_ms};
}

}  // namespace fencepost::test
