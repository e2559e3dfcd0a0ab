#include "traffic/record/capture_versions.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "suite/scenario/timestamp_expression.h"
#include "traffic/record/plain_text.h"

namespace fencepost::record {
namespace {

using scenario::LiteralTimestamp;
using scenario::TimestampExpression;
using scenario::TimestampSpec;
using std::chrono::microseconds;

// Beyond this, timestamps stand as they are: they are as old, or as far ahead, on any clock.
constexpr std::int64_t kMaxDistanceMs = 1'000'000'000;
constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kNearLimitMs = 5'000;
constexpr std::int64_t kMinFromLimitMs = 100;
// Clocks that agree so well are right.
constexpr std::int64_t kSameMs = 2'000;
constexpr std::int64_t kSecondMs = 1'000;

bool is_out_of_reach(std::int64_t ahead) {
  return ahead < -kMaxDistanceMs || ahead > kMaxDistanceMs;
}

std::int64_t rounded_to_seconds(std::int64_t ms) {
  return (ms + (ms < 0 ? -kSecondMs / 2 : kSecondMs / 2)) / kSecondMs * kSecondMs;
}

// With the counter that was sent; 0 is that of any reading of the clock.
TimestampExpression moved(std::string_view base, std::int64_t offset_ms,
                          const hlc::Timestamp& timestamp) {
  TimestampExpression out{.base = std::string(base), .offset_ms = offset_ms};
  if (timestamp.counter != 0) out.counter = timestamp.counter;
  return out;
}

// What is far ahead of the store's clock, or near the limit.
std::optional<TimestampExpression> far_ahead(const hlc::Timestamp& timestamp, std::int64_t ahead,
                                             bool refused) {
  if (ahead <= kMinuteMs - kNearLimitMs) return std::nullopt;
  const std::int64_t over = ahead - kMinuteMs;
  if (over >= kNearLimitMs) return moved("now", rounded_to_seconds(ahead), timestamp);
  // On which side of the limit it was, the store knows better.
  const std::int64_t distance = std::max(over < 0 ? -over : over, kMinFromLimitMs);
  return moved(scenario::kSkewLimit, refused ? distance : -distance, timestamp);
}

}  // namespace

CaptureVersions::CaptureVersions(std::int64_t offset_ms, const std::vector<std::string>& tokens)
    : offset_ms_(offset_ms) {
  for (const std::string& text : tokens) {
    if (const auto token = hlc::parse(text)) tokens_.push_back(*token);
  }
  std::sort(tokens_.begin(), tokens_.end());
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end()), tokens_.end());
}

void CaptureVersions::note(const std::string& version, const std::string& name) {
  names_.emplace(version, name);
  if (const auto timestamp = hlc::parse(version)) saved_.emplace(*timestamp, name);
}

const std::string& CaptureVersions::save(const std::string& version) {
  if (!names_.contains(version)) note(version, fmt::format("v{}", ++count_));
  return names_.at(version);
}

const std::string* CaptureVersions::name_of(const std::string& version) const {
  const auto found = names_.find(version);
  return found == names_.end() ? nullptr : &found->second;
}

void CaptureVersions::alias(const std::string& version, const std::string& name) {
  note(version, name);
}

std::int64_t CaptureVersions::ahead_ms(const hlc::Timestamp& timestamp, microseconds time) const {
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::milliseconds>(time).count() + offset_ms_;
  return static_cast<std::int64_t>(std::min(timestamp.wall_ms, hlc::kMaxWallMs)) - now;
}

TimestampSpec CaptureVersions::timestamp(const std::string& text, microseconds time,
                                         bool refused) const {
  if (const std::string* name = name_of(text)) return TimestampExpression{.base = *name};
  const auto timestamp = hlc::parse(text);
  if (!timestamp) return LiteralTimestamp{text};
  const std::int64_t ahead = ahead_ms(*timestamp, time);
  if (is_out_of_reach(ahead)) return LiteralTimestamp{text};
  if (auto special = far_ahead(*timestamp, ahead, refused)) return *std::move(special);
  const bool same = ahead >= -kSameMs && ahead <= kSameMs;
  return moved("now", same ? 0 : rounded_to_seconds(ahead), *timestamp);
}

// Between the versions between which it was. If the clock readings are equal, the nodes decide: so
// the token is behind the version before it, and before any that the store gives out later.
TimestampExpression CaptureVersions::relative_token(const hlc::Timestamp& token,
                                                    std::int64_t ahead) {
  const auto place = std::lower_bound(tokens_.begin(), tokens_.end(), token);
  const auto rank = std::distance(tokens_.begin(), place) + 1;
  const auto after = saved_.upper_bound(token);
  if (after == saved_.begin()) {
    uses_start_ = true;
    const std::int64_t back = static_cast<std::int64_t>(tokens_.size()) - rank + 1;
    return {.base = std::string(kStartVersion), .offset_ms = -back * kSecondMs};
  }
  const std::string& floor = std::prev(after)->second;
  if (after == saved_.end() && ahead > kSameMs) {
    return moved(floor, rounded_to_seconds(ahead), token);
  }
  return {.base = floor, .node = fmt::format("~{:04}", rank)};
}

TimestampSpec CaptureVersions::token(const std::string& text, microseconds time, bool refused) {
  if (const std::string* name = name_of(text)) return TimestampExpression{.base = *name};
  const auto token = hlc::parse(text);
  if (!token) return LiteralTimestamp{text};
  if (const auto same = saved_.find(*token); same != saved_.end()) {
    return TimestampExpression{.base = same->second};
  }
  if (const auto same = written_.find(*token); same != written_.end()) return same->second;
  const std::int64_t ahead = ahead_ms(*token, time);
  if (is_out_of_reach(ahead)) return LiteralTimestamp{text};
  if (auto special = far_ahead(*token, ahead, refused)) {
    if (can_be_node(token->node)) special->node = token->node;
    return *std::move(special);
  }
  return written_.emplace(*token, relative_token(*token, ahead)).first->second;
}

}  // namespace fencepost::record
