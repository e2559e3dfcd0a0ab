#include "reference_store/variants/variant_store.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "codec/topics.h"
#include "reference_store/variants/variant_gate.h"

namespace fencepost::store {
namespace {

using codec::Condition;
using codec::ErrorCode;
using codec::Operation;
using codec::ReplyKind;
using codec::Verb;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t kMinuteMs = 60'000;
constexpr milliseconds kLag{100};
constexpr milliseconds kCounted{2000};
constexpr milliseconds kNoticesAnEndAfter{50};
constexpr milliseconds kNotifiesAfter{20};
constexpr std::size_t kLongKey = 1'000;

// The deadline of what was to live for longer than a clock counts.
microseconds after(microseconds now, milliseconds wait) {
  constexpr microseconds kEnd = microseconds::max() / 2;
  if (wait > std::chrono::duration_cast<milliseconds>(kEnd)) return kEnd;
  return std::min(kEnd, now + wait);
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Access access_of(Verb verb) {
  return verb == Verb::kGet || verb == Verb::kKeynotify ? Access::kRead : Access::kWrite;
}

}  // namespace

VariantStore::VariantStore(const ServiceOptions& options, const Decisions& decisions)
    : dialect_(codec::dialect(options.dialect)),
      options_(options.store),
      is_(decisions),
      messages_(dialect_, is_) {
  if (is_.is<"node-id", "0">()) options_.node_id = "0";
  if (is_.is<"node-id", "$store">()) options_.node_id = "$store";
  if (is_.is<"node-id", "-1">()) options_.node_id = "-1";
  if (is_.is<"node-id", "uuid">()) options_.node_id = "b4f0c2de-5f7e-4c38-9d6a-0b1a4c7d9e21";
}

Handling VariantStore::handle(const Caller& caller, const codec::Message& request,
                              const Instant& now, std::vector<Delivery>& out) {
  // Who is here again has been away.
  if (leaving_.erase(std::string(caller.client_id)) > 0) end_registrations(caller.client_id);
  const Gate gate = gate_of(request, is_);
  if (gate == Gate::kDisconnect) return Handling::kDisconnect;
  if (gate == Gate::kSilence) return Handling::kIgnored;
  expire(now, out);
  if (gate == Gate::kError) {
    out.push_back({.client_id = {}, .message = messages_.response(request, error({}, now))});
    return Handling::kAnswered;
  }
  // A request of another protocol version is answered without being carried out.
  writer_ = caller.client_id;
  const VariantAnswer answer =
      status_of(request, is_) == kExecuted ? serve(caller, request, now) : VariantAnswer{};
  writer_.clear();
  Delivery reply{.client_id = {}, .message = messages_.response(request, answer)};
  const bool after = is_.is<"notification-order", "after-response">();
  const bool answers = gate == Gate::kServe;
  if (after && answers) out.push_back(reply);
  send_notifications(now, out);
  if (!answers) return Handling::kDisconnect;
  if (!after) out.push_back(std::move(reply));
  return Handling::kAnswered;
}

// ---- Requests

VariantAnswer VariantStore::serve(const Caller& caller, const codec::Message& request,
                                  const Instant& now) {
  std::optional<VariantAnswer> first;
  for (const ReadRequest& read : read_requests(request.payload, is_)) {
    VariantAnswer answer;
    if (read.error) {
      answer = error(*read.error, now);
    } else {
      const VariantCommand command = interpret(read.arguments, is_, dialect_);
      answer = apply({.caller = caller, .request = request, .now = now, .command = command});
    }
    // The value of a reply is a view into the store, which the next request may change.
    if (!first) first = answer;
  }
  return *first;
}

VariantAnswer VariantStore::apply(const Context& context) {
  const VariantCommand& command = context.command;
  if (command.array_reply) return {.array = true};
  if (!command.verb) return refuse(command.objections, context.now);
  std::vector<Objection> objections = command.objections;
  if (command.has_key &&
      !options_.authorization.allows(context.caller, access_of(*command.verb), command.key)) {
    objections.push_back({Check::kAuthorization, {ErrorCode::kNotAuthorized}});
  }
  if (command.has_key && objects_to_key(command.key)) objections.push_back({Check::kKey, {}});
  if (const auto wrong = objection_to_timestamp(context)) {
    objections.push_back({Check::kTimestamp, *wrong});
  }
  if (!command.has_key) return refuse(objections, context.now);
  VariantAnswer answer;
  switch (*command.verb) {
    case Verb::kSet:
      return set(context, std::move(objections));
    case Verb::kGet:
      answer = get(context, std::move(objections));
      break;
    case Verb::kDel:
    case Verb::kVdel:
      answer = remove(context, std::move(objections));
      break;
    case Verb::kKeynotify:
      answer = keynotify(context, std::move(objections));
      break;
  }
  if (answer.reply.kind != ReplyKind::kError) move_clock(context);
  return answer;
}

bool VariantStore::objects_to_key(std::string_view key) const {
  if (key.size() >= kLongKey && is_.is<"key-of-1000-bytes", "refused">()) return true;
  const bool printable =
      std::all_of(key.begin(), key.end(), [](char c) { return c >= ' ' && c < 0x7f; });
  return !printable && is_.is<"bytes-of-keys", "printable">();
}

VariantStore::Stamp VariantStore::read_property(const codec::Message& request,
                                                std::string_view name, const Instant& now) const {
  const bool is_token = name == codec::kTokenProperty;
  std::vector<std::string> texts;
  for (const auto& [key, value] : request.user_properties) {
    std::string lower = key;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (key == name || (is_.is<"ts-name-case", "ignored">() && lower == name)) {
      texts.push_back(is_.is<"blanks-around-ts", "ignored">() ? trimmed(value) : value);
    }
  }
  if (texts.empty()) return {};
  if (texts.size() > 1 && is_.is<"repeated-ts", "refused">()) {
    return {.error = VariantError{ErrorCode::kMalformedTimestamp}};
  }
  const std::string& text = is_.is<"repeated-ts", "first">() ? texts.front() : texts.back();
  if (text.empty() &&
      (is_token ? is_.is<"empty-token", "missing">() : is_.is<"empty-ts", "missing">())) {
    return {};
  }
  auto value = read_stamp(text, is_token, options_.node_id, is_);
  if (!value) return {.error = VariantError{ErrorCode::kMalformedTimestamp}};
  std::uint64_t most_ahead = kMinuteMs;
  if (is_.is<"skew-limit", "59999-ms">()) most_ahead = kMinuteMs - 1;
  if (is_.is<"skew-limit", "60-s">()) most_ahead = kMinuteMs + 999;
  if (hlc::too_far_ahead(*value, now.wall_ms, most_ahead)) {
    return {.error = VariantError{is_token ? ErrorCode::kTokenTooFarAhead
                                           : ErrorCode::kTimestampTooFarAhead}};
  }
  return {.value = std::move(value)};
}

std::optional<VariantError> VariantStore::objection_to_timestamp(const Context& context) const {
  const Stamp stamp = read_property(context.request, codec::kTimestampProperty, context.now);
  if (*context.command.verb == Verb::kSet) {
    if (stamp.error) return stamp.error;
    if (!stamp.value) return VariantError{ErrorCode::kMissingTimestamp};
    return std::nullopt;
  }
  if (!stamp.error) return std::nullopt;
  const bool far = stamp.error->code == ErrorCode::kTimestampTooFarAhead;
  if (far ? is_.is<"ts-where-none-is-needed", "must-not-be-ahead">()
          : is_.is<"ts-where-none-is-needed", "must-be-legal">()) {
    return stamp.error;
  }
  return std::nullopt;
}

std::optional<ErrorCode> VariantStore::fencing_error(
    const std::optional<hlc::Timestamp>& held, const std::optional<hlc::Timestamp>& offered) const {
  if (!held) return std::nullopt;
  if (!offered) return ErrorCode::kTokenRequired;
  const bool tie = held->wall_ms == offered->wall_ms && held->counter == offered->counter;
  if (tie && is_.is<"token-ties", "equal">()) return std::nullopt;
  if (*offered < *held) return ErrorCode::kTokenLower;
  return std::nullopt;
}

std::optional<hlc::Timestamp> VariantStore::token_of(const std::string& key) const {
  if (const auto found = entries_.find(key); found != entries_.end()) return found->second.token;
  const auto left = left_tokens_.find(key);
  return left != left_tokens_.end() ? std::optional(left->second) : std::nullopt;
}

VariantAnswer VariantStore::refuse(const std::vector<Objection>& objections,
                                   const Instant& now) const {
  const auto first = std::min_element(objections.begin(), objections.end(),
                                      [this](const Objection& a, const Objection& b) {
                                        return turn_of(a.check, is_) < turn_of(b.check, is_);
                                      });
  return error(first->error, now);
}

VariantAnswer VariantStore::error(const VariantError& error, const Instant& now) const {
  VariantAnswer out;
  out.reply = {.kind = ReplyKind::kError, .error = error.code.value_or(ErrorCode::kSyntax)};
  out.own_words = !error.code;
  if (is_.is<"ts-of-errors", "present">()) out.version = time_of(now);
  return out;
}

VariantAnswer VariantStore::set(const Context& context, std::vector<Objection> objections) {
  const VariantCommand& command = context.command;
  const auto found = entries_.find(command.key);
  Entry* entry = found == entries_.end() ? nullptr : &found->second;
  const Stamp token = read_property(context.request, codec::kTokenProperty, context.now);
  const bool denied = std::any_of(objections.begin(), objections.end(), [](const Objection& one) {
    return one.check == Check::kAuthorization;
  });
  const std::optional<hlc::Timestamp> held = token_of(command.key);
  if (token.error) {
    objections.push_back({Check::kToken, *token.error});
  } else if (const auto lower = fencing_error(held, token.value)) {
    objections.push_back({Check::kFencing, {lower}});
  }
  const bool full = options_.quota > 0 && entries_.size() + expired_.size() >= options_.quota;
  if (full && (entry == nullptr || is_.is<"overwrite-at-quota", "refused">())) {
    objections.push_back({Check::kQuota, {ErrorCode::kQuotaExceeded}});
  }
  const bool counts_as_absent =
      entry == nullptr || (entry->value.empty() && is_.is<"nex-on-an-empty-value", "taken">());
  const bool holds = command.condition == Condition::kAlways || entry == nullptr ||
                     (command.condition == Condition::kIfAbsentOrEqual &&
                      (counts_as_absent || entry->value == command.compared));
  // Who has no right to the key learns nothing of it.
  const bool sooner =
      !holds && !denied &&
      std::none_of(objections.begin(), objections.end(), [this](const Objection& one) {
        return turn_of(one.check, is_) < turn_of(Check::kCondition, is_);
      });
  if (!sooner && !objections.empty()) return refuse(objections, context.now);
  if (!holds) {
    const bool newer = token.value && (!entry->token || *entry->token < *token.value);
    if (newer && is_.is<"token-of-set-not-applied", "kept">()) entry->token = token.value;
    VariantAnswer out{.reply = {.kind = ReplyKind::kNotApplied}, .version = entry->version};
    if (is_.is<"ts-of-set-not-applied", "absent">()) out.version.reset();
    if (is_.is<"ts-of-set-not-applied", "time-of-day">()) out.version = time_of(context.now);
    move_clock(context);
    return out;
  }
  const Stamp timestamp = read_property(context.request, codec::kTimestampProperty, context.now);
  return write(context, *timestamp.value, token.value);
}

VariantAnswer VariantStore::write(const Context& context, const hlc::Timestamp& timestamp,
                                  const std::optional<hlc::Timestamp>& offered) {
  const VariantCommand& command = context.command;
  const hlc::Timestamp version = fresh_version(command.key, timestamp, context.now);
  const auto [found, is_new] = entries_.try_emplace(command.key);
  Entry& entry = found->second;
  if (const auto left = left_tokens_.find(command.key); left != left_tokens_.end()) {
    entry.token = left->second;
    left_tokens_.erase(left);
  }
  expired_.erase(command.key);
  if (offered && (!entry.token || *entry.token < *offered)) entry.token = offered;
  const bool nex = command.condition == Condition::kIfAbsentOrEqual;
  const bool keeps = !command.expires_after && !command.permanent &&
                     (nex ? is_.is<"nex-expiry", "kept">() : is_.is<"set-expiry", "kept">());
  if (!keeps) {
    if (entry.deadline) deadlines_.erase({*entry.deadline, command.key});
    entry.deadline.reset();
    if (command.expires_after) {
      entry.deadline = after(context.now.steady, *command.expires_after);
      deadlines_.insert({*entry.deadline, command.key});
    }
  }
  const bool same = !is_new && entry.value == command.value;
  entry.value = command.value;
  entry.version = version;
  if (!same || is_.is<"same-value", "told">()) {
    notify(command.key, Operation::kSet, entry.value, version);
  }
  return {.reply = {.kind = ReplyKind::kOk}, .version = version};
}

VariantAnswer VariantStore::get(const Context& context, std::vector<Objection> objections) {
  const Stamp token = read_property(context.request, codec::kTokenProperty, context.now);
  if (token.error && is_.is<"bad-token-on-get", "refused">()) {
    objections.push_back({Check::kToken, *token.error});
  }
  if (!objections.empty()) return refuse(objections, context.now);
  const auto found = entries_.find(context.command.key);
  if (found == entries_.end()) {
    VariantAnswer out{.reply = {.kind = ReplyKind::kMissing}};
    if (is_.is<"ts-of-a-miss", "present">()) out.version = time_of(context.now);
    return out;
  }
  return {.reply = {.kind = ReplyKind::kValue, .value = found->second.value},
          .version = found->second.version};
}

// DEL and VDEL.
VariantAnswer VariantStore::remove(const Context& context, std::vector<Objection> objections) {
  const VariantCommand& command = context.command;
  const auto found = entries_.find(command.key);
  Entry* entry = found == entries_.end() ? nullptr : &found->second;
  const Stamp token = read_property(context.request, codec::kTokenProperty, context.now);
  const bool heeded = entry == nullptr
                          ? is_.is<"bad-token-on-missing-key", "refused">()
                          : entry->token || is_.is<"bad-token-on-unfenced-key", "refused">();
  if (token.error && heeded) objections.push_back({Check::kToken, *token.error});
  const bool unwanted = entry == nullptr
                            ? is_.is<"token-on-missing-key", "refused">()
                            : !entry->token && is_.is<"token-on-unfenced-key", "refused">();
  if (token.value && unwanted) objections.push_back({Check::kToken, {}});
  const bool differs =
      *command.verb == Verb::kVdel && entry != nullptr && entry->value != command.value;
  const bool fences = entry != nullptr || is_.is<"token-after-expiry", "kept-for-deletions-too">();
  if (fences && !token.error && !(differs && is_.is<"order-vdel-value", "value-first">())) {
    if (const auto lower = fencing_error(token_of(command.key), token.value)) {
      objections.push_back({Check::kFencing, {lower}});
    }
  }
  if (!objections.empty()) return refuse(objections, context.now);
  if (entry == nullptr) {
    VariantAnswer out{.reply = {.kind = ReplyKind::kCount, .count = 0}};
    if (is_.is<"ts-of-del-miss", "present">()) out.version = time_of(context.now);
    return out;
  }
  if (differs) {
    const bool newer = token.value && (!entry->token || *entry->token < *token.value);
    if (newer && is_.is<"token-of-vdel-mismatch", "kept">()) entry->token = token.value;
    VariantAnswer out{.reply = {.kind = ReplyKind::kNotApplied}};
    if (is_.is<"ts-of-vdel-mismatch", "present">()) out.version = entry->version;
    return out;
  }
  const hlc::Timestamp deleted = entry->version;
  hlc::Timestamp fresh = deleted;
  if (is_.is<"version-of-del", "fresh">() || is_.is<"version-of-deletion", "fresh">()) {
    fresh = fresh_version(command.key, deleted, context.now);
  }
  erase(command.key);
  notify(command.key, Operation::kDelete, {},
         is_.is<"version-of-deletion", "fresh">() ? fresh : deleted);
  return {.reply = {.kind = ReplyKind::kCount, .count = 1},
          .version = is_.is<"version-of-del", "fresh">() ? fresh : deleted};
}

VariantAnswer VariantStore::keynotify(const Context& context, std::vector<Objection> objections) {
  const VariantCommand& command = context.command;
  const std::string client(context.caller.client_id);
  const bool too_long = !codec::has_notification_topic(client, command.key);
  const bool pattern = command.key.ends_with('*') || command.key.ends_with('#');
  if (too_long && !command.stop && is_.is<"long-notification-topic", "refused">()) {
    objections.push_back({Check::kKey, {ErrorCode::kSyntax}});
  }
  if (pattern && is_.is<"wildcards", "refused">()) objections.push_back({Check::kKey, {}});
  if (!objections.empty()) return refuse(objections, context.now);
  VariantAnswer out{.reply = {.kind = ReplyKind::kOk}};
  if (is_.is<"ts-of-keynotify", "present">()) out.version = time_of(context.now);
  if (too_long && !command.stop) return out;
  const auto observed = observers_.find(command.key);
  std::vector<Observer> none;
  std::vector<Observer>& observers = observed == observers_.end() ? none : observed->second;
  const auto known = std::find_if(observers.begin(), observers.end(),
                                  [&](const Observer& one) { return one.client_id == client; });
  VariantAnswer zero{.reply = {.kind = ReplyKind::kCount, .count = 0}, .version = out.version};
  if (command.stop) {
    if (known == observers.end()) return zero;
    observers.erase(known);
    if (observers.empty()) observers_.erase(observed);
    return out;
  }
  if (known != observers.end()) {
    ++known->registrations;
    known->get = known->get || command.get;
    return is_.is<"second-keynotify", "ok">() ? out : zero;
  }
  observers_[command.key].push_back({.client_id = client, .get = command.get});
  return out;
}

// ---- State

std::string VariantStore::node_of(std::uint64_t wall_ms, std::uint64_t counter) const {
  constexpr std::uint64_t kNodes = 97;
  if (!is_.is<"node-id", "cluster">()) return options_.node_id;
  return "node" + std::to_string((wall_ms * 31 + counter * 7) % kNodes);
}

hlc::Timestamp VariantStore::time_of(const Instant& now) const {
  return {now.wall_ms, 0, node_of(now.wall_ms, 0)};
}

hlc::Timestamp VariantStore::fresh_version(const std::string& key, const hlc::Timestamp& floor,
                                           const Instant& now) {
  const bool of_key = is_.is<"version-clock", "of-the-key">();
  hlc::Timestamp& clock = of_key ? key_clocks_[key] : store_clock_;
  const hlc::Timestamp& base = clock < floor ? floor : clock;
  std::uint64_t wall_ms = std::max(base.wall_ms, now.wall_ms);
  std::uint64_t counter = 0;
  if (wall_ms == base.wall_ms) {
    const bool last = base.counter == std::numeric_limits<std::uint64_t>::max();
    counter = last ? 0 : base.counter + 1;
    if (last) ++wall_ms;
  }
  const std::uint64_t gap = is_.is<"counter-gaps", "some">() ? wall_ms % 4 : 0;
  if (counter < std::numeric_limits<std::uint64_t>::max() - gap) counter += gap;
  clock = {wall_ms, counter, node_of(wall_ms, counter)};
  return clock;
}

// A request that changes nothing moves the clock, too, as far as a SET could.
void VariantStore::move_clock(const Context& context) {
  if (!is_.is<"clock-moves", "with-all-requests">()) return;
  const Stamp sent = read_property(context.request, codec::kTimestampProperty, context.now);
  (void)fresh_version(context.command.key, sent.value.value_or(hlc::Timestamp{}), context.now);
}

void VariantStore::erase(const std::string& key) {
  const auto found = entries_.find(key);
  if (found->second.deadline) deadlines_.erase({*found->second.deadline, key});
  entries_.erase(found);
  if (is_.is<"clocks-of-deleted-keys", "forgotten">()) key_clocks_.erase(key);
}

void VariantStore::notify(const std::string& key, Operation operation, std::string_view value,
                          const hlc::Timestamp& version) {
  const auto observed = observers_.find(key);
  if (observed == observers_.end()) return;
  for (const Observer& observer : observed->second) {
    if (observer.client_id == writer_ && is_.is<"own-changes", "not-told">()) continue;
    const auto notification =
        messages_.notification({.client_id = observer.client_id, .with_get = observer.get}, key,
                               {.operation = operation, .value = value}, version);
    if (!notification) continue;
    const std::size_t times =
        is_.is<"registered-twice", "told-twice">() ? observer.registrations : 1;
    for (std::size_t i = 0; i < times; ++i) {
      notifications_.push_back({.client_id = observer.client_id, .message = *notification});
    }
  }
}

// Queues the notifications, and sends those that have waited long enough.
void VariantStore::send_notifications(const Instant& now, std::vector<Delivery>& out) {
  const microseconds delay =
      is_.is<"notification-delay", "none">() ? microseconds{0} : microseconds{kNotifiesAfter};
  for (Delivery& delivery : notifications_)
    waiting_.push_back({now.steady + delay, std::move(delivery)});
  notifications_.clear();
  while (!waiting_.empty() && waiting_.front().first <= now.steady) {
    out.push_back(std::move(waiting_.front().second));
    waiting_.pop_front();
  }
}

void VariantStore::expire(const Instant& now, std::vector<Delivery>& out) {
  std::erase_if(expired_, [&](const auto& one) { return one.second <= now.steady; });
  now_ = now.steady;
  for (auto each = leaving_.begin(); each != leaving_.end();) {
    if (each->second > now.steady) {
      ++each;
      continue;
    }
    end_registrations(each->first);
    each = leaving_.erase(each);
  }
  while (next_deadline() && *next_deadline() <= now.steady) {
    const std::string key = deadlines_.begin()->second;
    const Entry gone = entries_.at(key);
    erase(key);
    if (gone.token && !is_.is<"token-after-expiry", "gone">()) left_tokens_[key] = *gone.token;
    hlc::Timestamp version = gone.version;
    if (is_.is<"version-of-deletion", "fresh">()) version = fresh_version(key, version, now);
    if (is_.is<"quota-of-expired-keys", "counted-for-2-s">()) expired_[key] = now.steady + kCounted;
    if (is_.is<"expiries", "told">()) notify(key, Operation::kDelete, {}, version);
  }
  send_notifications(now, out);
}

std::optional<microseconds> VariantStore::next_expiry() const {
  std::optional<microseconds> out = next_deadline();
  const auto consider = [&](microseconds time) { out = std::min(out.value_or(time), time); };
  if (!waiting_.empty()) consider(waiting_.front().first);
  for (const auto& [client, time] : leaving_) consider(time);
  return out;
}

std::optional<microseconds> VariantStore::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first +
         (is_.is<"expiry-lag", "none">() ? microseconds{0} : microseconds{kLag});
}

void VariantStore::disconnect(std::string_view client_id) {
  if (is_.is<"end-of-a-connection", "at-once">()) {
    end_registrations(client_id);
  } else {
    leaving_.insert_or_assign(std::string(client_id), now_ + kNoticesAnEndAfter);
  }
}

void VariantStore::end_registrations(std::string_view client_id) {
  for (auto observed = observers_.begin(); observed != observers_.end();) {
    std::erase_if(observed->second,
                  [&](const Observer& one) { return one.client_id == client_id; });
    observed = observed->second.empty() ? observers_.erase(observed) : std::next(observed);
  }
}

MakeVariant make_variant(const Decisions& decisions) {
  return [decisions](const ServiceOptions& options) {
    return std::make_unique<VariantStore>(options, decisions);
  };
}

}  // namespace fencepost::store
