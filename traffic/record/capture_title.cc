#include "traffic/record/capture_title.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codec/notification.h"
#include "codec/topics.h"
#include "traffic/record/capture_keys.h"
#include "traffic/record/plain_text.h"

namespace fencepost::record {
namespace {

using codec::ReplyKind;
using Kind = TimelineItem::Kind;

constexpr std::size_t kMaxActs = 5;    // in a title
constexpr std::size_t kMaxWords = 3;   // acts in an id
constexpr std::size_t kLongKey = 100;  // bytes

// The request without its key and value: "SET NX PX".
std::string request_of(const ReadExchange& exchange) {
  if (!exchange.command) {
    const auto verb = exchange.verb();
    return verb ? "malformed " + std::string(codec::name(*verb)) : "no command";
  }
  const codec::Command& command = *exchange.command;
  std::string out(codec::name(command.verb));
  if (command.condition == codec::Condition::kIfAbsent) out += " NX";
  if (command.condition == codec::Condition::kIfAbsentOrEqual) out += " NEX";
  if (command.expires_after) out += " PX";
  if (command.stop) out += " STOP";
  return out;
}

// Its outcome, where it is not the usual one.
std::string_view outcome_of(const TimelineItem& item, const ReadExchange& exchange) {
  if (item.reply == nullptr) return " (no response)";
  if (!exchange.reply) return " (malformed response)";
  switch (exchange.reply->kind) {
    case ReplyKind::kError:
      return " (refused)";
    case ReplyKind::kNotApplied:
      return " (not applied)";
    case ReplyKind::kMissing:
      return " (no such key)";
    case ReplyKind::kCount:
      if (exchange.reply->count != 0) return "";
      return exchange.verb() == codec::Verb::kKeynotify ? " (was not observed)" : " (no such key)";
    case ReplyKind::kOk:
    case ReplyKind::kValue:
      break;
  }
  return "";
}

std::string act_of(const TimelineItem& item) {
  if (item.kind == Kind::kDisconnection) return "a disconnect";
  if (item.kind == Kind::kNotification) {
    const auto decoded = codec::decode_notification(item.message->payload);
    const bool deleted = decoded && decoded->operation == codec::Operation::kDelete;
    return deleted ? "a notification of a deletion" : "a notification of a SET";
  }
  const ReadExchange exchange = read(item);
  std::string out = request_of(exchange);
  if (item.message->property(codec::kTokenProperty) != nullptr) out += " with a token";
  return out + std::string(outcome_of(item, exchange));
}

std::string kind_of(const std::string& key) {
  if (key.size() > kLongKey) return "a long key";
  return is_plain(key) ? "one key" : "a key that is not plain text";
}

std::string number_of(std::size_t count, std::string_view one, std::string_view many) {
  return count == 1 ? std::string(one) : fmt::format("{} {}", count, many);
}

// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& parts) {
  if (parts.size() < 2) return parts.empty() ? "" : parts.front();
  const std::vector<std::string> first(parts.begin(), parts.end() - 1);
  return fmt::format("{} and {}", fmt::join(first, ", "), parts.back());
}

std::string slug_of(const std::vector<std::string>& acts) {
  std::vector<std::string> words;
  for (const std::string& act : acts) {
    const std::string request = act.substr(0, act.find(" with a token"));
    std::string word;
    for (const char c : request.substr(0, request.find(" ("))) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      } else if (c == ' ') {
        word += '-';
      }
    }
    const bool known = std::find(words.begin(), words.end(), word) != words.end();
    if (known || word.starts_with("a-")) continue;  // not a request
    words.push_back(std::move(word));
    if (words.size() == kMaxWords) break;
  }
  return words.empty() ? "nothing-asked" : fmt::format("{}", fmt::join(words, "."));
}

}  // namespace

CaptureTitle title_of(const std::vector<const TimelineItem*>& items) {
  std::vector<std::string> acts;
  std::set<std::string> keys;
  std::set<std::string> clients;
  for (const TimelineItem* item : items) {
    std::string act = act_of(*item);
    if (std::find(acts.begin(), acts.end(), act) == acts.end()) acts.push_back(std::move(act));
    clients.insert(item->client_id);
    const std::string key =
        item->kind == Kind::kExchange ? std::string(read(*item).key()) : item->key;
    if (!key.empty()) keys.insert(key);
  }
  CaptureTitle out{.slug = slug_of(acts)};
  if (acts.size() > kMaxActs) {
    const std::size_t left = acts.size() - kMaxActs;
    acts.resize(kMaxActs);
    acts.push_back(fmt::format("{} more", left));
  }
  const std::string about = keys.empty()       ? "no key"
                            : keys.size() == 1 ? kind_of(*keys.begin())
                                               : fmt::format("{} keys", keys.size());
  out.text = fmt::format("{}: {}, {}", listed(acts), about,
                         number_of(clients.size(), "one client", "clients"));
  return out;
}

}  // namespace fencepost::record
