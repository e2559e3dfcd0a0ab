#include "suite/run/change_log.h"

#include <algorithm>

#include "codec/command.h"

namespace fencepost::run {

void ChangeLog::note(const judge::Exchange& exchange, const std::string& client_id) {
  if (!exchange.reply || !exchange.reply->decoded) return;
  const codec::DecodedReply& reply = *exchange.reply->decoded;
  if (exchange.verb == codec::Verb::kKeynotify && reply.kind != codec::ReplyKind::kError) {
    const auto& command = exchange.command;
    if (command && command->stop) stops_.emplace(client_id, command->key);
    return;
  }
  const bool set = exchange.verb == codec::Verb::kSet && reply.kind == codec::ReplyKind::kOk;
  const bool removed = exchange.verb && codec::removes(*exchange.verb) &&
                       reply.kind == codec::ReplyKind::kCount && reply.count > 0;
  if (!set && !removed) return;
  const auto& command = exchange.command;
  if (!command) return;
  const std::string key(command->key);
  // Req: SET-PX-3. What was to expire later than this request came no longer does.
  std::erase_if(changes_, [&](const Change& change) {
    return change.writer.empty() && change.key == key && change.from > exchange.reply->time;
  });
  changes_.push_back({.key = key,
                      .operation = set ? codec::Operation::kSet : codec::Operation::kDelete,
                      .value = std::string(set ? command->value : std::string_view()),
                      .writer = client_id});
  constexpr std::chrono::milliseconds kMax = std::chrono::hours{1};  // no case waits for more
  if (!set || !command->expires_after || *command->expires_after > kMax) return;
  changes_.push_back({.key = key,
                      .operation = codec::Operation::kDelete,
                      .value = {},
                      .writer = {},
                      .from = exchange.sent + *command->expires_after});
}

bool ChangeLog::fits(const Change& change, const Notification& wanted, endpoint::Duration now) {
  return change.key == wanted.key && change.operation == wanted.operation && change.from <= now &&
         !change.notified.contains(wanted.observer) &&
         (!wanted.value || change.value == *wanted.value);
}

judge::Cause ChangeLog::take(const Notification& wanted, endpoint::Duration now) {
  const auto found = std::find_if(changes_.begin(), changes_.end(),
                                  [&](const Change& change) { return fits(change, wanted, now); });
  if (found == changes_.end()) return judge::Cause::kUnknown;
  found->notified.insert(wanted.observer);
  if (found->writer.empty()) return judge::Cause::kExpiry;
  return found->writer == wanted.observer ? judge::Cause::kOwnChange : judge::Cause::kOthersChange;
}

bool ChangeLog::take_expiry(const std::string& observer, std::string_view key,
                            endpoint::Duration now, endpoint::Duration most_late) {
  const auto found = std::find_if(changes_.begin(), changes_.end(), [&](const Change& change) {
    return change.writer.empty() && change.key == key && change.from <= now &&
           now - change.from <= most_late && !change.notified.contains(observer);
  });
  if (found == changes_.end()) return false;
  found->notified.insert(observer);
  return true;
}

void ChangeLog::give_back(const Notification& wanted, endpoint::Duration now) {
  const auto found = std::find_if(changes_.rbegin(), changes_.rend(), [&](const Change& change) {
    return change.key == wanted.key && change.operation == wanted.operation && change.from <= now &&
           change.notified.contains(wanted.observer);
  });
  if (found != changes_.rend()) found->notified.erase(wanted.observer);
}

bool ChangeLog::has(const Notification& wanted, endpoint::Duration now) const {
  return std::any_of(changes_.begin(), changes_.end(),
                     [&](const Change& change) { return fits(change, wanted, now); });
}

bool ChangeLog::has_stop_of(const std::string& observer) const {
  return std::any_of(stops_.begin(), stops_.end(),
                     [&](const auto& stop) { return stop.first == observer; });
}

bool ChangeLog::has_other_stop(const std::string& observer, std::string_view key) const {
  return std::any_of(stops_.begin(), stops_.end(), [&](const auto& stop) {
    return (stop.first == observer) != (stop.second == key);
  });
}

bool ChangeLog::is_set_again(std::string_view key, endpoint::Duration now) const {
  bool deleted = false;
  bool again = false;
  for (const Change& change : changes_) {
    if (change.key != key || change.from > now) continue;
    if (change.operation == codec::Operation::kSet) again = deleted;
    deleted = change.operation == codec::Operation::kDelete;
  }
  return again;
}

}  // namespace fencepost::run
