#include "suite/judge/store_clock.h"

#include <algorithm>

#include <fmt/format.h>

namespace fencepost::judge {

std::int64_t wall_of(const hlc::Timestamp& timestamp) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 62U;  // no sum or difference wraps
  return static_cast<std::int64_t>(std::min(timestamp.wall_ms, kMax));
}

std::int64_t ClockBounds::estimate_ms() const {
  if (low_ms < 0 && high_ms > 0) return 0;
  return low_ms + (high_ms - low_ms) / 2;
}

std::string describe(const ClockBounds& bounds) {
  return fmt::format("between {} ms and {} ms", bounds.low_ms, bounds.high_ms);
}

// Our clock read at least sent_ms and less than received_ms + 1 when the store's read version_ms:
// both stand for a whole millisecond.
std::int64_t high_from_version(std::int64_t version_ms, const Interval& when) {
  return version_ms + 1 - when.sent_ms;
}

std::int64_t low_from_reading(std::int64_t version_ms, const Interval& when) {
  return version_ms - 1 - when.received_ms;
}

// A refusal says that the store's clock reads at most timestamp - limit - 1, an acceptance that it
// reads at least timestamp - limit.
std::int64_t high_from_refusal(std::int64_t timestamp_ms, const Interval& when) {
  return high_from_version(timestamp_ms - kSkewLimitMs - 1, when);
}

std::int64_t low_from_acceptance(std::int64_t timestamp_ms, const Interval& when) {
  return low_from_reading(timestamp_ms - kSkewLimitMs, when);
}

void StoreClock::note_new_version(std::int64_t version_ms, const Interval& when) {
  // The upper bound alone: a version may be ahead of the clock, by up to a minute after one legal
  // `__ts` (docs/decisions/0007-clock-offset.md).
  bounds_.high_ms = std::min(bounds_.high_ms, high_from_version(version_ms, when));
  note_version(version_ms);
}

void StoreClock::note_version(std::int64_t version_ms) {
  newest_version_ms_ = std::max(newest_version_ms_, version_ms);
}

// While our clock reads c the store's reads something from c + low to c + high.
std::int64_t StoreClock::last_accepted_ms(std::int64_t sent_ms) const {
  return sent_ms + bounds_.low_ms + kSkewLimitMs;
}

std::int64_t StoreClock::first_refused_ms(std::int64_t received_ms) const {
  return received_ms + bounds_.high_ms + kSkewLimitMs + 1;
}

bool StoreClock::surely_accepts(std::int64_t timestamp_ms, std::int64_t sent_ms) const {
  // A version that the store has made itself it takes as a token, however far ahead. Req:
  // LOCK-TOKEN-2
  return timestamp_ms <= std::max(last_accepted_ms(sent_ms), newest_version_ms_);
}

bool StoreClock::surely_refuses(std::int64_t timestamp_ms, std::int64_t received_ms) const {
  return timestamp_ms >= first_refused_ms(received_ms);
}

}  // namespace fencepost::judge
