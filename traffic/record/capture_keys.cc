#include "traffic/record/capture_keys.h"

#include <fmt/format.h>

#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/resp3.h"
#include "traffic/record/plain_text.h"

namespace fencepost::record {
namespace {

using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;
using Kind = TimelineItem::Kind;

constexpr std::size_t kMaxNameLength = 48;

// What is found out about the beginning of one key, until nothing more can be.
struct Finding {
  KeyBeginning beginning{};
  bool exists_known = false;
  bool changed = false;  // since the beginning
};

// The caller that sets `changed` concludes first.
void conclude(Finding& finding, bool exists) {
  if (finding.exists_known) return;
  finding.exists_known = true;
  finding.beginning.exists = exists;
}

void see_value(Finding& finding, std::string_view value) {
  conclude(finding, true);
  if (!finding.changed && !finding.beginning.value) finding.beginning.value = std::string(value);
}

void see_refused(Finding& finding, ErrorCode error) {
  if (finding.changed) return;
  const bool lower = error == ErrorCode::kTokenLower;
  if (!lower && error != ErrorCode::kTokenRequired) return;
  conclude(finding, true);
  finding.beginning.fenced = true;
  finding.beginning.fenced_high |= lower;
}

void see_set(Finding& finding, const ReadExchange& read) {
  if (read.answered(ReplyKind::kNotApplied)) conclude(finding, true);
  if (!read.answered(ReplyKind::kOk)) return;
  conclude(finding, false);
  finding.changed = true;
}

void see_removal(Finding& finding, const ReadExchange& read) {
  if (read.answered(ReplyKind::kNotApplied)) conclude(finding, true);
  if (!read.answered(ReplyKind::kCount)) return;
  if (read.reply->count == 0) {
    conclude(finding, false);
  } else if (read.command->verb == Verb::kVdel) {
    see_value(finding, read.command->value);
  } else {
    conclude(finding, true);
  }
  finding.changed = true;
}

void see(Finding& finding, const ReadExchange& read, const std::string& client) {
  if (read.error) see_refused(finding, *read.error);
  if (!read.command || !read.reply) return;
  switch (read.command->verb) {
    case Verb::kSet:
      return see_set(finding, read);
    case Verb::kGet:
      if (read.answered(ReplyKind::kValue)) see_value(finding, read.reply->value);
      if (read.answered(ReplyKind::kMissing)) conclude(finding, false);
      return;
    case Verb::kDel:
    case Verb::kVdel:
      return see_removal(finding, read);
    case Verb::kKeynotify:
      if (read.command->stop && read.answered(ReplyKind::kOk)) {
        finding.beginning.observers.insert(client);
      }
      return;
  }
}

}  // namespace

std::string_view ReadExchange::key() const {
  return arguments.size() > 1 ? arguments[1] : std::string_view{};
}

std::optional<Verb> ReadExchange::verb() const {
  return arguments.empty() ? std::nullopt : codec::verb_named(arguments.front());
}

bool ReadExchange::shows_key() const {
  if (answered(ReplyKind::kNotApplied)) return true;
  if (command && command->verb == Verb::kSet) return false;
  return answered(ReplyKind::kValue) || (answered(ReplyKind::kCount) && reply->count > 0);
}

bool ReadExchange::shows_gone() const {
  return answered(ReplyKind::kMissing) || (answered(ReplyKind::kCount) && reply->count == 0) ||
         (answered(ReplyKind::kOk) && command && command->condition == codec::Condition::kIfAbsent);
}

ReadExchange read(const TimelineItem& exchange) {
  ReadExchange out;
  const std::string& payload = exchange.message->payload;
  if (const auto frame = codec::decode_command(payload);
      frame && frame->count <= codec::CommandFrame::kStored) {
    out.arguments.assign(frame->arguments.begin(),
                         frame->arguments.begin() + static_cast<std::ptrdiff_t>(frame->count));
  }
  if (const auto command =
          codec::parse_command(payload, codec::dialect(codec::DialectId::kDeployed))) {
    out.command = *command;
  }
  if (exchange.reply == nullptr) return out;
  if (const auto reply = codec::decode_reply(exchange.reply->payload)) {
    out.reply = *reply;
    if (reply->kind == ReplyKind::kError) out.error = codec::error_with_text(reply->value);
  }
  return out;
}

std::map<std::string, KeyBeginning> beginnings(const std::vector<const TimelineItem*>& items,
                                               bool from_start) {
  std::map<std::string, KeyBeginning> out;
  if (from_start) return out;
  std::map<std::string, Finding> findings;
  std::map<std::string, std::set<std::string>> registered;
  for (const TimelineItem* item : items) {
    if (item->kind == Kind::kNotification) {
      if (!registered[item->key].contains(item->client_id)) {
        findings[item->key].beginning.observers.insert(item->client_id);
      }
    }
    if (item->kind != Kind::kExchange) continue;
    const ReadExchange exchange = read(*item);
    if (exchange.key().empty()) continue;
    const std::string key(exchange.key());
    Finding& finding = findings[key];
    const bool was_registered = registered[key].contains(item->client_id);
    const std::set<std::string> before = finding.beginning.observers;
    see(finding, exchange, item->client_id);
    if (was_registered) finding.beginning.observers = before;
    if (exchange.command && exchange.command->verb == Verb::kKeynotify) {
      registered[key].insert(item->client_id);
    }
  }
  for (auto& [key, finding] : findings) out.emplace(key, std::move(finding.beginning));
  return out;
}

std::map<std::string, std::string> key_names(const std::vector<const TimelineItem*>& items) {
  std::map<std::string, std::string> out;
  std::set<std::string> used;
  std::size_t number = 0;
  const auto add = [&](const std::string& key) {
    if (key.empty() || out.contains(key)) return;
    ++number;
    const bool simple = key.size() <= kMaxNameLength && is_plain(key);
    std::string name = simple ? key : fmt::format("k{}", number);
    while (used.contains(name)) name += "-";
    used.insert(name);
    out.emplace(key, std::move(name));
  };
  for (const TimelineItem* item : items) {
    if (item->kind == Kind::kNotification) add(item->key);
    if (item->kind == Kind::kExchange) add(std::string(read(*item).key()));
  }
  return out;
}

void follow(KeyNow& key, const TimelineItem& exchange, const ReadExchange& read) {
  if (!read.command || !read.reply) return;
  const codec::Command& command = *read.command;
  const bool ok = read.answered(ReplyKind::kOk);
  switch (command.verb) {
    case Verb::kSet:
      if (!ok) return;
      key.exists = true;
      key.expired = false;
      key.fenced = key.fenced || exchange.message->property(codec::kTokenProperty) != nullptr;
      key.expires_after = command.expires_after;
      key.sent = exchange.sent;
      key.received = exchange.received;
      return;
    case Verb::kGet:
      if (read.answered(ReplyKind::kValue)) key.exists = true;
      return;
    case Verb::kDel:
    case Verb::kVdel:
      if (read.answered(ReplyKind::kCount) && read.reply->count > 0) remove(key, false);
      return;
    case Verb::kKeynotify:
      if (command.stop) {
        key.observers.erase(exchange.client_id);
      } else if (ok) {
        key.observers.insert(exchange.client_id);
      }
      return;
  }
}

void remove(KeyNow& key, bool expired) {
  key.exists = false;
  key.fenced = false;
  key.expired = expired;
  key.expires_after.reset();
  key.pending_observers = key.observers;
}

}  // namespace fencepost::record
