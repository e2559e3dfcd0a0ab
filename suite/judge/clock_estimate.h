// How far the clock of a store is from ours, found out with a few requests. The store is behind an
// interface, so that tests can play any, right or wrong. docs/decisions/0007-clock-offset.md
// explains the method.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "suite/judge/store_clock.h"

namespace fencepost::judge {

// How the bounds were obtained, and so what they rest on.
enum class ClockSource {
  kVersions,  // versions that went along with our clock: readings of the store's
  kRefusals,  // versions were ahead of the store's clock; measured by what it refuses as too far
              // ahead
  kVersionBound,  // the store refuses other timestamps than it should, or is too slow: only that a
                  // version is not behind its clock
  kAssumed,       // nothing: what the article requires
};
[[nodiscard]] std::string_view name(ClockSource source);
[[nodiscard]] std::optional<ClockSource> clock_source_named(std::string_view name);

struct ClockEstimate {
  std::int64_t offset_ms = 0;  // the store's clock minus ours: bounds.estimate_ms()
  ClockBounds bounds{};
  ClockSource source = ClockSource::kAssumed;
};

// The version that a SET with a timestamp of the distant past was given.
struct VersionSeen {
  std::int64_t wall_ms = 0;
  std::uint64_t counter = 0;
  Interval when{};
};

// The store's answer to a timestamp.
struct Offered {
  bool refused = false;  // as too far ahead; else it was not
  Interval when{};
};

enum class OfferKind {
  kInVain,  // a SET of an existing key with NX: a conforming store refuses it or does nothing
  kPlain,   // a SET that, unless it is refused, moves the store's versions
};

class ClockProbe {
 public:
  virtual ~ClockProbe() = default;
  [[nodiscard]] virtual std::int64_t now_ms() = 0;  // our clock
  virtual void pause_until(std::int64_t time_ms) = 0;
  // Nothing when the store's answer is of no use; the estimate is then made from what there is.
  [[nodiscard]] virtual std::optional<VersionSeen> read_version() = 0;
  [[nodiscard]] virtual std::optional<Offered> offer(std::int64_t timestamp_ms, OfferKind kind) = 0;
};

// Takes at most 3 s more than the last two answers need. About 3 requests, or about 20 when the
// versions of the store have been moved ahead of its clock.
[[nodiscard]] ClockEstimate estimate_clock(ClockProbe& probe);

}  // namespace fencepost::judge
