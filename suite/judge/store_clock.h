// What can be said of the clock of a store from outside. The clock itself never shows: there are
// only requests that were sent and answered at times of our own clock, versions, and refusals of
// timestamps that are "more than one minute ahead". docs/decisions/0007-clock-offset.md says why
// each conclusion holds. Pure.
//
//   StoreClock clock(bounds);
//   clock.surely_accepts(timestamp_ms, sent_ms);      // a store that refuses it is wrong
//   clock.surely_refuses(timestamp_ms, received_ms);  // a store that takes it is wrong
//
// All times are milliseconds since the Unix epoch, and read as such: a reading stands for the whole
// millisecond. "Offset" is the store's clock minus ours.
#pragma once

#include <cstdint>
#include <string>

#include "hlc/hlc.h"

namespace fencepost::judge {

// More than this ahead of the store's clock is too far. (Req: HLC-SKEW-1, HLC-SKEW-2)
inline constexpr std::int64_t kSkewLimitMs = 60'000;

// Our clock when a request was sent and when its reply had come: the store has handled it in
// between.
struct Interval {
  std::int64_t sent_ms = 0;
  std::int64_t received_ms = 0;
};

// The offset is greater than low_ms and less than high_ms. Without a measurement: what the article
// requires of clients, that their clocks are within a minute of the store's.
struct ClockBounds {
  std::int64_t low_ms = -kSkewLimitMs;
  std::int64_t high_ms = kSkewLimitMs;

  // Zero when it lies between the bounds, for then no difference has been shown; else the middle.
  [[nodiscard]] std::int64_t estimate_ms() const;

  friend bool operator==(const ClockBounds&, const ClockBounds&) = default;
};

// The wall clock of a timestamp as a number to reckon with: the farthest future is cut off.
[[nodiscard]] std::int64_t wall_of(const hlc::Timestamp& timestamp);

// `between -3 ms and 2 ms`: for people.
[[nodiscard]] std::string describe(const ClockBounds& bounds);

// What single observations prove. A version is a reading of the store's clock or ahead of it.
[[nodiscard]] std::int64_t high_from_version(std::int64_t version_ms, const Interval& when);
// Only for a version that is known to be a reading.
[[nodiscard]] std::int64_t low_from_reading(std::int64_t version_ms, const Interval& when);
// A timestamp was refused as too far ahead, or was not.
[[nodiscard]] std::int64_t high_from_refusal(std::int64_t timestamp_ms, const Interval& when);
[[nodiscard]] std::int64_t low_from_acceptance(std::int64_t timestamp_ms, const Interval& when);

// What is known while a case runs: the bounds, and the versions that it has seen.
class StoreClock {
 public:
  explicit StoreClock(ClockBounds bounds) : bounds_(bounds) {}

  // A SET that was carried out was given this version, which can lower the upper bound.
  void note_new_version(std::int64_t version_ms, const Interval& when);
  // The store has shown this version, new or old: it must take it back, as a fencing token say.
  void note_version(std::int64_t version_ms);

  [[nodiscard]] const ClockBounds& bounds() const { return bounds_; }

  // No conforming store refuses this timestamp as too far ahead in a request sent at `sent_ms`.
  [[nodiscard]] bool surely_accepts(std::int64_t timestamp_ms, std::int64_t sent_ms) const;

  // Every conforming store refuses it in a request that was answered at `received_ms`.
  [[nodiscard]] bool surely_refuses(std::int64_t timestamp_ms, std::int64_t received_ms) const;

  // The greatest timestamp that is surely accepted in a request sent at `sent_ms`, and the least
  // that is surely refused in one that is answered by `received_ms`.
  [[nodiscard]] std::int64_t last_accepted_ms(std::int64_t sent_ms) const;
  [[nodiscard]] std::int64_t first_refused_ms(std::int64_t received_ms) const;

 private:
  ClockBounds bounds_;
  std::int64_t newest_version_ms_ = 0;
};

}  // namespace fencepost::judge
