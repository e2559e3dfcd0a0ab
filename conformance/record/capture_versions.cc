#include "conformance/record/capture_versions.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "conformance/scenario/scenario_words.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;

// Beyond this, timestamps stand as they are: they are as old, or as far ahead, on any clock.
constexpr std::int64_t kFarthestMs = 1'000'000'000;
constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kNearLimitMs = 5'000;
constexpr std::int64_t kLeastFromLimitMs = 100;
// Clocks that agree so well are right.
constexpr std::int64_t kSameMs = 2'000;
constexpr std::int64_t kSecondMs = 1'000;

std::string literal(const std::string& text) {
  return "{text: " + scenario::double_quoted(text) + "}";
}

std::string with_counter(std::string base, const hlc::Timestamp& timestamp) {
  if (timestamp.counter != 0) base += fmt::format(" counter = {}", timestamp.counter);
  return base;
}

std::int64_t rounded_to_seconds(std::int64_t ms) {
  return (ms + (ms < 0 ? -kSecondMs / 2 : kSecondMs / 2)) / kSecondMs * kSecondMs;
}

// So that the text of a node can stand between quotes.
bool is_simple(const std::string& node) {
  return std::all_of(node.begin(), node.end(),
                     [](char c) { return scenario::is_plain_byte(c) && c != ' '; });
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

// What is far from the store's clock in either direction, or near the limit ahead of it.
std::optional<std::string> CaptureVersions::far(const std::string& text, std::int64_t ahead,
                                                bool refused) {
  if (ahead < -kFarthestMs || ahead > kFarthestMs) return literal(text);
  if (ahead <= kMinuteMs - kNearLimitMs) return std::nullopt;
  const std::int64_t over = ahead - kMinuteMs;
  if (over >= kNearLimitMs) return scenario::moved("now", rounded_to_seconds(ahead));
  // On which side of the limit it was, the store knows better.
  const std::int64_t distance = std::max(over < 0 ? -over : over, kLeastFromLimitMs);
  return scenario::moved("skew-limit", refused ? distance : -distance);
}

std::string CaptureVersions::timestamp(const std::string& text, microseconds time,
                                       bool refused) const {
  if (const std::string* name = name_of(text)) return *name;
  const auto timestamp = hlc::parse(text);
  if (!timestamp) return literal(text);
  const std::int64_t ahead = ahead_ms(*timestamp, time);
  std::string out;
  if (auto special = far(text, ahead, refused)) {
    if (special->starts_with('{')) return *special;
    out = with_counter(std::move(*special), *timestamp);
  } else if (ahead >= -kSameMs && ahead <= kSameMs) {
    out = with_counter("now", *timestamp);
  } else {
    out = with_counter(scenario::moved("now", rounded_to_seconds(ahead)), *timestamp);
  }
  return out == "now" ? out : scenario::single_quoted(out);
}

// Between the versions between which it was. Of one clock reading, nodes decide: so the token is
// behind the version before it, and before any that the store gives out later.
std::string CaptureVersions::relative_token(const hlc::Timestamp& token, std::int64_t ahead) {
  const auto place = std::lower_bound(tokens_.begin(), tokens_.end(), token);
  const auto rank = std::distance(tokens_.begin(), place) + 1;
  const auto after = saved_.upper_bound(token);
  if (after == saved_.begin()) {
    uses_start_ = true;
    const std::int64_t back = static_cast<std::int64_t>(tokens_.size()) - rank + 1;
    return scenario::moved(kStartVersion, -back * kSecondMs);
  }
  const std::string& floor = std::prev(after)->second;
  if (after == saved_.end() && ahead > kSameMs) {
    return with_counter(scenario::moved(floor, rounded_to_seconds(ahead)), token);
  }
  return fmt::format("{} node \"~{:04}\"", floor, rank);
}

std::string CaptureVersions::token(const std::string& text, microseconds time, bool refused) {
  if (const std::string* name = name_of(text)) return *name;
  const auto token = hlc::parse(text);
  if (!token) return literal(text);
  if (const auto same = saved_.find(*token); same != saved_.end()) return same->second;
  if (const auto same = written_.find(*token); same != written_.end()) return same->second;
  const std::int64_t ahead = ahead_ms(*token, time);
  if (auto special = far(text, ahead, refused)) {
    if (special->starts_with('{')) return *special;
    std::string out = with_counter(std::move(*special), *token);
    if (is_simple(token->node)) out += fmt::format(" node \"{}\"", token->node);
    return scenario::single_quoted(out);
  }
  return written_.emplace(*token, scenario::single_quoted(relative_token(*token, ahead)))
      .first->second;
}

}  // namespace fencepost::record
