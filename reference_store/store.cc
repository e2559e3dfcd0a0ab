#include "reference_store/store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "codec/topics.h"

namespace fencepost::store {
namespace {

using codec::Command;
using codec::ErrorCode;
using codec::Operation;
using codec::ReplyKind;
using codec::Verb;

Outcome error(ErrorCode code) { return {.reply = {.kind = ReplyKind::kError, .error = code}}; }

Outcome count(std::int64_t number) {
  return {.reply = {.kind = ReplyKind::kCount, .count = number}};
}

template <typename T>
const T* pointer(const std::optional<T>& optional) {
  return optional ? &*optional : nullptr;
}

std::size_t bytes_of(std::string_view key, std::string_view value) {
  return kBytesOfAKey + key.size() + value.size();
}

// The store's clock follows what it has accepted, however far its wall clock steps back.
constexpr hlc::ClockLimits kStoreClock{.max_drift_ms = hlc::kMaxWallMs};

}  // namespace

Store::Store(StoreOptions options)
    : options_(std::move(options)), clock_(options_.node_id, kStoreClock) {}

Outcome Store::apply(const Caller& caller, const Request& request, const Instant& now,
                     std::vector<Event>& events) {
  expire(now, events);
  const Command& command = request.command;
  if (!options_.authorization.allows(caller, options_.rules.access_needed(command.verb),
                                     command.key)) {
    return error(ErrorCode::kNotAuthorized);
  }
  switch (command.verb) {
    case Verb::kSet:
      return set(request, now, events);
    case Verb::kGet:
      return get(command);
    case Verb::kDel:
    case Verb::kVdel:
      return remove(request, now, events);
    case Verb::kKeynotify:
      return command.stop ? stop(caller, command) : keynotify(caller, command);
  }
  return error(ErrorCode::kUnknownCommand);
}

Outcome Store::set(const Request& request, const Instant& now, std::vector<Event>& events) {
  const Command& command = request.command;
  const auto timestamp = options_.rules.check_timestamp(request.timestamp, now.wall_ms);
  if (!timestamp) return error(timestamp.error());
  const auto token = options_.rules.check_token(request.token, now.wall_ms);
  if (!token) return error(token.error());

  const auto found = entries_.find(command.key);
  const Entry* entry = found == entries_.end() ? nullptr : &found->second;
  const hlc::Timestamp* held = entry != nullptr ? pointer(entry->token) : nullptr;
  if (const auto refused = options_.rules.fencing_error(held, pointer(*token)))
    return error(*refused);
  const std::string* stored = entry != nullptr ? &entry->value : nullptr;
  if (!options_.rules.condition_holds(command.condition, stored, command.value)) {
    return {.reply = {.kind = ReplyKind::kNotApplied}, .version = entry->version};
  }
  if (entry == nullptr && !options_.rules.has_room(entries_.size(), options_.quota)) {
    return error(ErrorCode::kQuotaExceeded);
  }
  if (!has_memory_for(command, entry)) return error(ErrorCode::kQuotaExceeded);
  const auto version = options_.rules.version_of_set(clock_, *timestamp, now);
  if (!version) return error(ErrorCode::kMalformedTimestamp);  // kMaxRequestCounter keeps this away

  const hlc::Timestamp* kept = options_.rules.token_after(held, pointer(*token));
  std::optional<hlc::Timestamp> new_token;
  if (kept != nullptr) new_token = *kept;
  const auto held_deadline =
      entry != nullptr && entry->deadline ? std::optional((*entry->deadline)->first) : std::nullopt;
  const auto deadline = options_.rules.deadline_of_set(command, *timestamp, held_deadline, now);
  store(found, {.key = command.key,
                .value = command.value,
                .version = *version,
                .token = std::move(new_token),
                .deadline = deadline});
  notify(command.key, Operation::kSet, command.value, *version, events);
  return {.reply = {.kind = ReplyKind::kOk}, .version = *version};
}

Outcome Store::get(const Command& command) const {
  const auto found = entries_.find(command.key);
  if (found == entries_.end()) return {.reply = {.kind = ReplyKind::kMissing}};
  const Entry& entry = found->second;
  return {.reply = {.kind = ReplyKind::kValue, .value = entry.value}, .version = entry.version};
}

// DEL and VDEL.
Outcome Store::remove(const Request& request, const Instant& now, std::vector<Event>& events) {
  const Command& command = request.command;
  const auto token = options_.rules.check_token(request.token, now.wall_ms);
  if (!token) return error(token.error());
  const auto found = entries_.find(command.key);
  if (found == entries_.end()) return count(0);
  const Entry& entry = found->second;
  if (const auto refused = options_.rules.fencing_error(pointer(entry.token), pointer(*token))) {
    return error(*refused);
  }
  if (command.verb == Verb::kVdel && !options_.rules.value_matches(entry.value, command.value)) {
    return {.reply = {.kind = ReplyKind::kNotApplied}};
  }
  Outcome outcome = count(1);
  outcome.version = entry.version;
  erase(found);
  notify(command.key, Operation::kDelete, {}, *outcome.version, events);
  return outcome;
}

Outcome Store::keynotify(const Caller& caller, const Command& command) {
  // A registration that could never be served is refused rather than forgotten.
  if (!codec::has_notification_topic(caller.client_id, command.key)) {
    return error(ErrorCode::kSyntax);
  }
  const std::string client_id(caller.client_id);
  const auto registered = registrations_.find(client_id);
  const bool full = options_.max_registrations != 0 && registered != registrations_.end() &&
                    registered->second.size() >= options_.max_registrations;
  const std::string key(command.key);
  if (full && !registered->second.contains(key)) return error(ErrorCode::kQuotaExceeded);
  std::vector<std::string>& clients = observers_[key];
  if (std::find(clients.begin(), clients.end(), client_id) == clients.end()) {
    clients.emplace_back(client_id);
    registrations_[client_id].insert(key);
  }
  return {.reply = {.kind = ReplyKind::kOk}};
}

Outcome Store::stop(const Caller& caller, const Command& command) {
  const auto observed = observers_.find(command.key);
  if (observed == observers_.end()) return count(0);
  const std::vector<std::string>& clients = observed->second;
  if (std::find(clients.begin(), clients.end(), caller.client_id) == clients.end()) return count(0);
  unregister(command.key, caller.client_id);
  if (const auto own = registrations_.find(caller.client_id); own != registrations_.end()) {
    own->second.erase(std::string(command.key));
    if (own->second.empty()) registrations_.erase(own);
  }
  return {.reply = {.kind = ReplyKind::kOk}};
}

// From the list of the key alone.
void Store::unregister(std::string_view key, std::string_view client_id) {
  const auto observed = observers_.find(key);
  if (observed == observers_.end()) return;
  std::erase(observed->second, client_id);
  if (observed->second.empty()) observers_.erase(observed);
}

void Store::expire(const Instant& now, std::vector<Event>& events) {
  while (!deadlines_.empty() &&
         options_.rules.removal_time(deadlines_.begin()->first) <= now.steady) {
    const std::string key = deadlines_.begin()->second;
    const auto found = entries_.find(key);
    FENCEPOST_CHECK(found != entries_.end());
    const hlc::Timestamp version = found->second.version;
    erase(found);
    notify(key, Operation::kDelete, {}, version, events);
  }
}

std::optional<std::chrono::microseconds> Store::next_expiry() const {
  if (deadlines_.empty()) return std::nullopt;
  return options_.rules.removal_time(deadlines_.begin()->first);
}

void Store::disconnect(std::string_view client_id) {
  const auto own = registrations_.find(client_id);
  if (own != registrations_.end()) {
    for (const std::string& key : own->second) unregister(key, client_id);
    registrations_.erase(own);
  }
  if (!is_tampered_with_) return;
  for (auto observed = observers_.begin(); observed != observers_.end();) {
    std::erase(observed->second, client_id);
    observed = observed->second.empty() ? observers_.erase(observed) : std::next(observed);
  }
}

void Store::take_state(Store& from) {
  // The deadlines go along: entries point into them, and moving a map keeps its iterators.
  entries_ = std::exchange(from.entries_, {});
  deadlines_ = std::exchange(from.deadlines_, {});
  bytes_ = std::exchange(from.bytes_, 0);
  observers_ = std::exchange(from.observers_, {});
  registrations_ = std::exchange(from.registrations_, {});
  is_tampered_with_ = is_tampered_with_ || from.is_tampered_with_;
  clock_ = from.clock_;
}

bool Store::has_memory_for(const Command& command, const Entry* entry) const {
  const std::size_t freed = entry == nullptr ? 0 : entry->bytes;
  return options_.max_bytes == 0 ||
         bytes_ - freed + bytes_of(command.key, command.value) <= options_.max_bytes;
}

void Store::store(Entries::iterator found, Holding holding) {
  if (found == entries_.end()) found = entries_.try_emplace(std::string(holding.key)).first;
  Entry& entry = found->second;
  if (entry.deadline) deadlines_.erase(*entry.deadline);
  entry.deadline.reset();
  if (holding.deadline) entry.deadline = deadlines_.emplace(*holding.deadline, found->first);
  entry.value.assign(holding.value);
  bytes_ -= std::exchange(entry.bytes, bytes_of(holding.key, holding.value));
  bytes_ += entry.bytes;
  entry.version = std::move(holding.version);
  entry.token = std::move(holding.token);
  note_change(found->first);
}

void Store::erase(Entries::iterator found) {
  if (found->second.deadline) deadlines_.erase(*found->second.deadline);
  bytes_ -= found->second.bytes;
  note_change(found->first);
  entries_.erase(found);
}

void Store::report_changes(Journal& journal) {
  for (const std::string& key : changed_) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
      journal.on_gone(key);
      continue;
    }
    const Entry& entry = found->second;
    Holding holding{
        .key = key, .value = entry.value, .version = entry.version, .token = entry.token};
    if (entry.deadline) holding.deadline = (*entry.deadline)->first;
    journal.on_held(holding);
  }
  changed_.clear();
}

void Store::restore(const Holding& holding) { store(entries_.find(holding.key), holding); }

void Store::restore_clock(const hlc::Timestamp& last) {
  // One more than was given out; the wall clock of this machine is the business of later requests.
  (void)clock_.update(last, 0);
}

void Store::notify(std::string_view key, Operation operation, std::string_view value,
                   const hlc::Timestamp& version, std::vector<Event>& events) const {
  if (observers_.empty()) return;
  const auto observed = observers_.find(key);
  if (observed == observers_.end()) return;
  for (const std::string& client_id : observed->second) {
    events.push_back({.client_id = client_id,
                      .key = std::string(key),
                      .operation = operation,
                      .value = std::string(value),
                      .version = version});
  }
}

}  // namespace fencepost::store
