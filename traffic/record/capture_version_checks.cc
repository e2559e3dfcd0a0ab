#include "traffic/record/capture_version_checks.h"

#include <utility>

namespace fencepost::record {

using codec::ReplyKind;
using codec::Verb;
using scenario::TimestampCheck;

std::optional<TimestampCheck> VersionChecks::check(const TimelineItem& item,
                                                   const ReadExchange& exchange, KeyNow& key) {
  const std::string* version = item.reply->property(codec::kTimestampProperty);
  if (version == nullptr) {
    if (!exchange.answered(ReplyKind::kMissing)) return std::nullopt;
    return TimestampCheck{.absent = true};
  }
  if (!exchange.command) return std::nullopt;
  const bool sets = exchange.command->verb == Verb::kSet;
  if (sets && exchange.answered(ReplyKind::kOk)) return of_new(*version, item, key);
  const bool shows =
      (sets && exchange.answered(ReplyKind::kNotApplied)) || exchange.answered(ReplyKind::kValue);
  if (!shows) return std::nullopt;
  return of_known(*version, exchange, key);
}

TimestampCheck VersionChecks::of_known(const std::string& version, const ReadExchange& exchange,
                                       KeyNow& key) {
  if (const auto unnamed = unnamed_.find(std::string(exchange.key())); unnamed != unnamed_.end()) {
    if (key.last_version == unnamed->second) versions_.alias(version, unnamed->second);
    unnamed_.erase(unnamed);
  }
  if (const std::string* known = versions_.name_of(version)) {
    key.last_version = *known;
    return {.present = true, .equals = *known};
  }
  key.last_version = versions_.save(version);
  return {.present = true, .save = key.last_version};
}

TimestampCheck VersionChecks::of_new(const std::string& version, const TimelineItem& item,
                                     KeyNow& key) {
  // It is not new, for which the step is flagged.
  if (versions_.name_of(version) != nullptr) return {.present = true};
  TimestampCheck out{.present = true};
  const auto made = hlc::parse(version);
  const std::string* sent = item.message->property(codec::kTimestampProperty);
  if (made && sent != nullptr) {
    const auto timestamp = hlc::parse(*sent);
    if (timestamp && *timestamp < *made) out.greater_than.emplace_back("sent");
  }
  if (key.last_version && is_greater(version, *key.last_version)) {
    out.greater_than.push_back(*key.last_version);
  }
  key.last_version = versions_.save(version);
  saved_.emplace(*key.last_version, version);
  out.save = key.last_version;
  return out;
}

// As it was observed; of versions whose text is not known, as it has to be.
bool VersionChecks::is_greater(const std::string& version, const std::string& name) const {
  const auto before = saved_.find(name);
  if (before == saved_.end()) return true;
  const auto old = hlc::parse(before->second);
  const auto made = hlc::parse(version);
  return old && made && *old < *made;
}

}  // namespace fencepost::record
