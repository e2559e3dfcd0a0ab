#include "suite/judge/clock_estimate.h"

#include <algorithm>

namespace fencepost::judge {
namespace {

// A preflight is what people wait for before the first case, so this is the limit for the whole. An
// estimate that is wider than it could be is still right: it makes more cases inconclusive.
constexpr std::int64_t kBudgetMs = 3'000;
constexpr std::int64_t kReadingBudgetMs = 1'000;  // of the former
constexpr std::int64_t kBetweenReadingsMs = 20;   // time enough to tell a clock that stands still
constexpr int kMaxReadings = 5;
constexpr std::int64_t kSecondMs = 1'000;
constexpr int kMaxOffers = 60;
constexpr std::int64_t kFirstAllowanceMs = 50;  // for the way of a request to the store
constexpr std::int64_t kDayMs = 24LL * 60 * 60 * 1000;
constexpr std::int64_t kMaxClockDifferenceMs = 100LL * 366 * kDayMs;  // a century

class Estimator {
 public:
  explicit Estimator(ClockProbe& probe) : probe_(probe), start_ms_(probe.now_ms()) {}

  ClockEstimate run() {
    const bool reading = read_versions();
    if (!seen_version_) return {};
    if (reading) return done(ClockSource::kVersions);
    const std::int64_t high_ms = bounds_.high_ms;
    if (measure_by_refusals()) return done(ClockSource::kRefusals);
    if (high_ms < -kDayMs && refuses_by_our_clock()) return done(ClockSource::kRefusals);
    // What a store that breaks the rule has accepted can have moved its versions by any distance,
    // so that they bound its clock on one side only.
    bounds_ = {.low_ms = std::min(-kSkewLimitMs, high_ms - kSkewLimitMs), .high_ms = high_ms};
    return done(ClockSource::kVersionBound);
  }

 private:
  // A clock that shows whole seconds differs from ours now more and now less.
  [[nodiscard]] ClockEstimate done(ClockSource source) const {
    const std::int64_t unit_ms = whole_seconds_ ? kSecondMs : 0;
    const ClockBounds bounds{.low_ms = bounds_.low_ms - unit_ms,
                             .high_ms = bounds_.high_ms + unit_ms};
    return {.offset_ms = bounds.estimate_ms(), .bounds = bounds, .source = source};
  }

  [[nodiscard]] bool over(std::int64_t budget_ms) {
    return probe_.now_ms() - start_ms_ >= budget_ms;
  }

  // --- versions

  // True when versions are readings of the store's clock, which have bounded the offset; else they
  // have given the upper bound alone.
  bool read_versions() {
    std::optional<VersionSeen> last;
    for (int i = 0; i < kMaxReadings; ++i) {
      // Two readings are the least that proves anything.
      if (i >= 2 && over(kReadingBudgetMs)) return false;
      if (last) probe_.pause_until(last->when.received_ms + kBetweenReadingsMs);
      const auto seen = probe_.read_version();
      if (!seen) return false;
      note_version(*seen);
      if (last && accept_readings(*last, *seen)) return true;
      last = seen;
    }
    return false;
  }

  void note_version(const VersionSeen& seen) {
    const std::int64_t high = high_from_version(seen.wall_ms, seen.when);
    bounds_.high_ms = seen_version_ ? std::min(bounds_.high_ms, high) : high;
    seen_version_ = true;
    if (seen.wall_ms % kSecondMs != 0) whole_seconds_ = false;
    round_trip_ms_ = std::max(round_trip_ms_, seen.when.received_ms - seen.when.sent_ms);
  }

  // A version is the greatest of the store's clock, the request and the versions before (HLC), so
  // it bounds the clock from above, always; from below only when the clock was the greatest of
  // them. A version that was moved ahead, by any request, stands still until the clock has caught
  // up, or has a counter that says where it comes from. A reading goes along with our clock.
  bool accept_readings(const VersionSeen& first, const VersionSeen& second) {
    if (first.counter != 0 || second.counter != 0) return false;
    const std::int64_t low = std::max(low_from_reading(first.wall_ms, first.when),
                                      low_from_reading(second.wall_ms, second.when));
    const std::int64_t high = std::min(high_from_version(first.wall_ms, first.when),
                                       high_from_version(second.wall_ms, second.when));
    if (low >= high) return false;
    bounds_ = {.low_ms = low, .high_ms = high};
    return true;
  }

  // --- refusals

  // Narrows the bounds; false when the store's refusals do not fit them.
  bool measure_by_refusals() {
    const auto kind = usable_offers();
    if (!kind || !find_acceptance(*kind)) return false;
    narrow(*kind);
    return bounds_.low_ms < bounds_.high_ms;
  }

  // Versions of the distant past, and refusals that do not fit them: either the clock stands there
  // and the limit is wrong, or the limit is right and it is the versions that follow old requests.
  // Refusals a minute ahead of our own clock show the latter. Req: HLC-SKEW-4
  bool refuses_by_our_clock() {
    bounds_ = {};
    return measure_by_refusals() && bounds_.low_ms > -kSkewLimitMs &&
           bounds_.high_ms < kSkewLimitMs;
  }

  // A timestamp that every conforming store refuses shows which kind of offer, if any, is judged by
  // its timestamp: a store may look at the condition of a SET first.
  std::optional<OfferKind> usable_offers() {
    // In vain first: a SET whose condition fails leaves no value behind. A plain one that is
    // accepted makes a version up to a minute ahead of the store's clock, which all later ones then
    // exceed.
    for (const OfferKind kind : {OfferKind::kInVain, OfferKind::kPlain}) {
      const auto refused = refuses_what_it_must(kind);
      if (refused && *refused) return kind;
    }
    return std::nullopt;
  }

  // Nothing when the store's answers do not tell.
  std::optional<bool> refuses_what_it_must(OfferKind kind) {
    std::int64_t allowance_ms = round_trip_ms_ + kFirstAllowanceMs;
    while (!over(kBudgetMs)) {
      // A clock with long ticks is ahead of what a version showed once the next tick has come.
      const std::int64_t timestamp_ms =
          StoreClock(bounds_).first_refused_ms(probe_.now_ms() + allowance_ms) + kSecondMs;
      const auto offered = offer(timestamp_ms, kind);
      if (!offered) return std::nullopt;
      if (offered->refused) return true;
      if (StoreClock(bounds_).surely_refuses(timestamp_ms, offered->when.received_ms)) return false;
      allowance_ms = 2 * (offered->when.received_ms - offered->when.sent_ms) + kFirstAllowanceMs;
    }
    return std::nullopt;
  }

  // Makes an offer and keeps what it proves.
  std::optional<Offered> offer(std::int64_t timestamp_ms, OfferKind kind) {
    if (++offers_ > kMaxOffers) return std::nullopt;
    const auto offered = probe_.offer(timestamp_ms, kind);
    if (!offered) return std::nullopt;
    round_trip_ms_ = std::max(round_trip_ms_, offered->when.received_ms - offered->when.sent_ms);
    if (offered->refused) {
      bounds_.high_ms = std::min(bounds_.high_ms, high_from_refusal(timestamp_ms, offered->when));
    }
    return offered;
  }

  // Finds a timestamp that is accepted, which bounds the offset from below. The versions of a
  // conforming store are a minute ahead at most, unless its clock was set back.
  bool find_acceptance(OfferKind kind) {
    for (std::int64_t back_ms = kSkewLimitMs; back_ms < kMaxClockDifferenceMs && !over(kBudgetMs);
         back_ms *= 2) {
      const std::int64_t timestamp_ms = probe_.now_ms() + bounds_.high_ms - back_ms + kSkewLimitMs;
      const auto offered = offer(timestamp_ms, kind);
      if (!offered) return false;
      if (!offered->refused) {
        bounds_.low_ms = low_from_acceptance(timestamp_ms, offered->when);
        return true;
      }
    }
    return false;
  }

  // Halves the interval until it is hardly wider than a round trip, which an offer cannot better.
  void narrow(OfferKind kind) {
    while (bounds_.high_ms - bounds_.low_ms > 3 * (round_trip_ms_ + 1) && !over(kBudgetMs)) {
      const std::int64_t middle_ms = bounds_.low_ms + (bounds_.high_ms - bounds_.low_ms) / 2;
      const std::int64_t timestamp_ms = probe_.now_ms() + middle_ms + kSkewLimitMs;
      const auto offered = offer(timestamp_ms, kind);
      if (!offered) return;
      if (!offered->refused) {
        bounds_.low_ms = std::max(bounds_.low_ms, low_from_acceptance(timestamp_ms, offered->when));
      }
    }
  }

  ClockProbe& probe_;
  std::int64_t start_ms_;
  ClockBounds bounds_;
  bool seen_version_ = false;
  bool whole_seconds_ = true;       // all that the versions have shown so far
  std::int64_t round_trip_ms_ = 0;  // the longest
  int offers_ = 0;
};

}  // namespace

std::string_view name(ClockSource source) {
  switch (source) {
    case ClockSource::kVersions:
      return "versions";
    case ClockSource::kRefusals:
      return "refusals";
    case ClockSource::kVersionBound:
      return "version-bound";
    case ClockSource::kAssumed:
      return "assumed";
  }
  return "unknown";
}

std::optional<ClockSource> clock_source_named(std::string_view wanted) {
  for (const ClockSource source : {ClockSource::kVersions, ClockSource::kRefusals,
                                   ClockSource::kVersionBound, ClockSource::kAssumed}) {
    if (name(source) == wanted) return source;
  }
  return std::nullopt;
}

ClockEstimate estimate_clock(ClockProbe& probe) { return Estimator(probe).run(); }

}  // namespace fencepost::judge
