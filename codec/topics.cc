#include "codec/topics.h"

#include "codec/base16.h"

namespace fencepost::codec {
namespace {

constexpr std::string_view kNotifyInfix = "/command/notify/";

}  // namespace

std::string recommended_response_topic(std::string_view client_id) {
  std::string topic = "clients/";
  topic += client_id;
  topic += "/services/statestore/_any_/command/invoke/response";
  return topic;
}

bool has_notification_topic(std::string_view client_id, std::string_view key) {
  const std::size_t fixed = kStorePrefix.size() + 1 + kNotifyInfix.size();
  // Checked before the doubling, which cannot wrap for sizes that exist in memory.
  if (client_id.size() > kMaxTopicBytes || key.size() > kMaxTopicBytes) return false;
  return fixed + 2 * (client_id.size() + key.size()) <= kMaxTopicBytes;
}

std::optional<std::string> notification_topic(std::string_view client_id, std::string_view key) {
  if (!has_notification_topic(client_id, key)) return std::nullopt;
  std::string topic(kStorePrefix);
  topic += '/';
  topic += base16_encode(client_id);
  topic += kNotifyInfix;
  topic += base16_encode(key);
  return topic;
}

std::string notification_filter(std::string_view client_id) {
  std::string filter(kStorePrefix);
  filter += '/';
  filter += base16_encode(client_id);
  filter += kNotifyInfix;
  filter += '+';
  return filter;
}

std::optional<NotificationTarget> parse_notification_topic(std::string_view topic) {
  if (!topic.starts_with(kStorePrefix)) return std::nullopt;
  topic.remove_prefix(kStorePrefix.size());
  if (!topic.starts_with('/')) return std::nullopt;
  topic.remove_prefix(1);
  const std::size_t infix = topic.find(kNotifyInfix);
  if (infix == std::string_view::npos) return std::nullopt;
  std::optional<std::string> client_id = base16_decode(topic.substr(0, infix));
  std::optional<std::string> key = base16_decode(topic.substr(infix + kNotifyInfix.size()));
  if (!client_id || !key || client_id->empty() || key->empty()) return std::nullopt;
  return NotificationTarget{std::move(*client_id), std::move(*key)};
}

namespace {

// Takes the first level off `rest`; nothing is left when it was the last.
std::string_view next_level(std::optional<std::string_view>& rest) {
  const std::size_t slash = rest->find('/');
  const std::string_view level = rest->substr(0, slash);
  if (slash == std::string_view::npos) {
    rest = std::nullopt;
  } else {
    rest = rest->substr(slash + 1);
  }
  return level;
}

}  // namespace

bool filter_matches(std::string_view filter, std::string_view topic) {
  if (topic.starts_with('$') && (filter.starts_with('+') || filter.starts_with('#'))) return false;
  std::optional<std::string_view> wanted = filter;
  std::optional<std::string_view> given = topic;
  while (wanted) {
    const std::string_view level = next_level(wanted);
    if (level == "#") return true;  // also where `given` has ended: `a/#` matches `a` itself
    if (!given) return false;
    const std::string_view actual = next_level(given);
    if (level != "+" && level != actual) return false;
  }
  return !given;
}

std::optional<ResponseTopicFault> response_topic_fault(std::string_view topic) {
  if (topic.empty()) return ResponseTopicFault::kEmpty;
  if (topic.size() > kMaxTopicBytes) return ResponseTopicFault::kTooLong;
  if (topic == kRequestTopic) return ResponseTopicFault::kIsRequestTopic;
  if (topic.starts_with(kStorePrefix)) return ResponseTopicFault::kHasStorePrefix;
  if (topic.starts_with('$')) return ResponseTopicFault::kReservedPrefix;
  if (topic.find('\0') != std::string_view::npos) return ResponseTopicFault::kBadCharacter;
  // Two searches of the topic: find_first_of() would search its set once for every byte.
  if (topic.find('+') != std::string_view::npos || topic.find('#') != std::string_view::npos) {
    return ResponseTopicFault::kWildcard;
  }
  return std::nullopt;
}

}  // namespace fencepost::codec
