// Written from the documents, without a look at the reference store. Where it says "point", it
// means the numbered rows of docs/PROTOCOL_DECISIONS.md.
#include "workload/testing/naive_model.h"

#include <utility>

namespace fencepost::workload {

namespace {

using codec::Condition;
using codec::ErrorCode;
using codec::ReplyKind;
using hlc::Timestamp;

constexpr std::uint64_t kMinuteMs = 60'000;
// Point 39a: the greatest counter of a `__ts`.
constexpr std::uint64_t kMaxCounter = 9'223'372'036'854'775'807ULL;
// A counter that some clients cannot read, so another store may refuse it (point 39b).
constexpr std::uint64_t kMaxPortableCounter = 2'147'483'647ULL;
// A lifetime that every store should take: ten days.
constexpr std::int64_t kMaxPortablePxMs = 864'000'000;
// Point 19c: client id and key appear in the topic with two digits a byte.
constexpr std::size_t kTopicBytesBesides = 75;
constexpr std::size_t kMaxTopic = 65'535;

// -1, 0 or 1: a is older than, the same as, newer than b.
int compare(const Timestamp& a, const Timestamp& b) {
  if (a.wall_ms != b.wall_ms) return a.wall_ms < b.wall_ms ? -1 : 1;
  if (a.counter != b.counter) return a.counter < b.counter ? -1 : 1;
  for (std::size_t i = 0; i < a.node.size() && i < b.node.size(); ++i) {
    const int left = static_cast<unsigned char>(a.node[i]);
    const int right = static_cast<unsigned char>(b.node[i]);
    if (left != right) return left < right ? -1 : 1;
  }
  if (a.node.size() == b.node.size()) return 0;
  return a.node.size() < b.node.size() ? -1 : 1;
}

bool more_than_a_minute_ahead(const Timestamp& timestamp, std::uint64_t wall_ms) {
  return timestamp.wall_ms > wall_ms && timestamp.wall_ms - wall_ms > kMinuteMs;
}

// Is it so close to a minute ahead that the resolution of the comparison decides?
bool about_a_minute_ahead(const Timestamp& timestamp, std::uint64_t wall_ms) {
  return timestamp.wall_ms > wall_ms &&
         (timestamp.wall_ms - wall_ms == kMinuteMs || timestamp.wall_ms - wall_ms == kMinuteMs + 1);
}

}  // namespace

NaiveModel::NaiveModel(NaiveOptions options)
    : options_(std::move(options)), reader_(options_.fractional_expiry) {}

void NaiveModel::clear() {
  entries_.clear();
  registrations_.clear();
  clock_wall_ms_ = 0;
  clock_counter_ = 0;
  deadlines_set_ = 0;
}

const Prediction& NaiveModel::apply(const Step& step) {
  prediction_.notifications.clear();
  prediction_.value.clear();
  prediction_.version.reset();
  prediction_.count = 0;
  prediction_.origin = 0;
  prediction_.fresh = false;
  prediction_.kind = ReplyKind::kOk;
  prediction_.error = ErrorCode::kSyntax;
  prediction_.open = {};
  prediction_.version_open = {};

  expire(step.now);
  const Operation& operation = step.operation;
  if (operation.kind == Kind::kDisconnect) {
    // All registrations of the client are forgotten. (Req: LIFE-DISCONNECT-1)
    std::erase_if(registrations_, [&](const Registration& registration) {
      return registration.client == operation.client;
    });
  } else if (operation.kind == Kind::kRawPayload) {
    Wanted wanted;
    if (const std::optional<Misread> misread = reader_.understand(operation.value, wanted)) {
      refuse(misread->error, misread->open);
    } else {
      request(step, wanted);
    }
  } else if (is_request(operation.kind)) {
    request(step, {.kind = operation.kind,
                   .key = options_.keys[operation.key],
                   .value = operation.value,
                   .condition = operation.condition,
                   .px_ms = operation.px_ms});
  }
  // What PX 0 stored is gone immediately: notified as SET, then as deletion (point 5a).
  if (prediction_.fresh) expire(step.now);
  return prediction_;
}

// Authorization comes after the form and before everything that depends on the state (point 13).
void NaiveModel::request(const Step& step, const Wanted& wanted) {
  if (denied(step.operation.client, wanted)) {
    refuse(ErrorCode::kNotAuthorized);
    return;
  }
  switch (wanted.kind) {
    case Kind::kSet:
      set(step, wanted);
      break;
    case Kind::kGet:
      get(wanted);
      break;
    case Kind::kDel:
    case Kind::kVdel:
      remove(step, wanted);
      break;
    case Kind::kKeynotify:
      keynotify(step, wanted);
      break;
    default:
      stop(step, wanted);
      break;
  }
  name_what_is_ignored(step, wanted);
}

// Points 35 and 43a: `__ts` means nothing but on SET, `__ft` nothing on GET and KEYNOTIFY; another
// store may refuse a bad one.
void NaiveModel::name_what_is_ignored(const Step& step, const Wanted& wanted) {
  if (wanted.kind == Kind::kSet) return;
  const auto bad = [&](const Offered& offered) {
    return offered.form == Offered::Form::kMalformed ||
           (offered.form == Offered::Form::kTimestamp &&
            (offered.timestamp.wall_ms > step.now.wall_ms + kMinuteMs - 1 ||
             offered.timestamp.counter > kMaxPortableCounter));
  };
  if (bad(step.timestamp)) prediction_.open = "HLC-REQUIRED-OPEN-1";
  const bool reads = wanted.kind != Kind::kDel && wanted.kind != Kind::kVdel;
  if (reads && bad(step.token)) prediction_.open = "FT-OPEN-1";
}

bool NaiveModel::denied(std::uint8_t client, const Wanted& wanted) const {
  const bool reads =
      wanted.kind == Kind::kGet || wanted.kind == Kind::kKeynotify || wanted.kind == Kind::kStop;
  for (const Restriction& restriction : options_.restrictions) {
    if (restriction.client != client) continue;
    for (const std::string& key : reads ? restriction.readable : restriction.writable) {
      if (key == wanted.key) return false;
    }
    return true;
  }
  return false;
}

// ---- SET: `__ts`, form and skew of `__ft`, fencing rule, NX or NEX, quota (point 13).

void NaiveModel::set(const Step& step, const Wanted& wanted) {
  Entry* entry = find(wanted.key);
  const bool applies =
      wanted.condition == Condition::kAlways || entry == nullptr ||
      (wanted.condition == Condition::kIfAbsentOrEqual && entry->value == wanted.value);
  if (bad_timestamp(step)) {
    // Several faults: another store may name another one.
    if (!applies) prediction_.open = "ERR-ORDER-OPEN-2";
    if (step.token.form != Offered::Form::kAbsent || (entry != nullptr && entry->fenced)) {
      prediction_.open = "FT-OPEN-3";
    }
    return;
  }
  const std::string_view open = prediction_.open;
  if (bad_token(step, wanted, entry) || (entry != nullptr && fenced_off(step, *entry))) {
    if (!applies || (entry == nullptr && full())) prediction_.open = "FT-OPEN-3";
    if (!open.empty()) prediction_.open = open;
    return;
  }
  if (prediction_.open.empty()) prediction_.open = open;
  if (entry != nullptr && wanted.condition != Condition::kAlways && !entry->expiry_open.empty()) {
    prediction_.open = entry->expiry_open;
  }
  if (!applies) {
    answer(ReplyKind::kNotApplied);
    name_version(*entry);
    // Point 46a: another store may have kept the token.
    if (has_newer_token(step, *entry)) entry->token_open = "FT-OPEN-4";
    return;
  }
  if (full() && entry == nullptr) {
    refuse(ErrorCode::kQuotaExceeded);
    return;
  }
  if (full()) prediction_.open = "QUOTA-OPEN-1";
  write(step, wanted, entry);
}

// A SET that nothing stands against. `entry`: the key as it was, null when it is new.
void NaiveModel::write(const Step& step, const Wanted& wanted, Entry* entry) {
  const bool same_value = entry != nullptr && entry->value == wanted.value;
  if (entry == nullptr) {
    entries_.emplace_back();
    entry = &entries_.back();
    entry->key = std::string(wanted.key);
  }
  // A new one, as an assignment compares addresses: the same trace must take the same branches.
  entry->value = std::string(wanted.value);
  entry->version = next_version(step.timestamp.timestamp, step.now.wall_ms);
  entry->origin = step.index;
  if (has_newer_token(step, *entry)) {
    entry->fenced = true;
    entry->token = step.token.timestamp;
    entry->token_open = {};
  }
  // Point 7: the last SET says all about the key, also that it does not expire.
  if (!wanted.px_ms && entry->deadline) {
    entry->expiry_open =
        wanted.condition == Condition::kIfAbsentOrEqual ? "SET-NEX-OPEN-2" : "SET-PX-OPEN-6";
  }
  entry->deadline.reset();
  if (wanted.px_ms) {
    entry->deadline = step.now.steady + std::chrono::microseconds{*wanted.px_ms * 1000};
    entry->deadline_number = ++deadlines_set_;
    entry->expiry_open = "";
    if (*wanted.px_ms == 0) entry->expiry_open = prediction_.open = "SET-PX-OPEN-1";
    if (*wanted.px_ms > kMaxPortablePxMs) entry->expiry_open = prediction_.open = "SET-PX-OPEN-5";
  }
  answer(ReplyKind::kOk);
  name_version(*entry);
  prediction_.fresh = true;
  notify(*entry, codec::Operation::kSet, same_value ? "NTF-SEND-OPEN-1" : "", {});
}

// Refuses a `__ts` that is absent, malformed or too far ahead. (Req: VER-SET-1, HLC-SKEW-1)
bool NaiveModel::bad_timestamp(const Step& step) {
  const Offered& timestamp = step.timestamp;
  if (timestamp.form == Offered::Form::kAbsent) return refuse(ErrorCode::kMissingTimestamp);
  if (timestamp.form == Offered::Form::kMalformed) {
    return refuse(ErrorCode::kMalformedTimestamp, timestamp.open_as_timestamp);
  }
  if (timestamp.timestamp.counter > kMaxCounter) {
    return refuse(ErrorCode::kMalformedTimestamp, "HLC-PARSE-OPEN-2");
  }
  prediction_.open = timestamp.open_as_timestamp;
  if (timestamp.timestamp.counter > kMaxPortableCounter) prediction_.open = "HLC-PARSE-OPEN-2";
  if (about_a_minute_ahead(timestamp.timestamp, step.now.wall_ms)) {
    prediction_.open = "HLC-SKEW-OPEN-1";
  }
  if (more_than_a_minute_ahead(timestamp.timestamp, step.now.wall_ms)) {
    return refuse(ErrorCode::kTimestampTooFarAhead, prediction_.open);
  }
  return false;
}

// Kulkarni, Demirbas et al. (2014), figure 5, the receipt of a message. One clock for all keys
// (point 37a), which a wall clock that jumps back does not turn back (point 37b).
Timestamp NaiveModel::next_version(const Timestamp& request, std::uint64_t wall_ms) {
  const std::uint64_t old_wall = clock_wall_ms_;
  std::uint64_t wall = old_wall;
  if (request.wall_ms > wall) wall = request.wall_ms;
  if (wall_ms > wall) wall = wall_ms;
  std::uint64_t counter = 0;
  if (wall == old_wall && wall == request.wall_ms) {
    counter = (clock_counter_ > request.counter ? clock_counter_ : request.counter) + 1;
  } else if (wall == old_wall) {
    counter = clock_counter_ + 1;
  } else if (wall == request.wall_ms) {
    counter = request.counter + 1;
  }
  clock_wall_ms_ = wall;
  clock_counter_ = counter;
  return {.wall_ms = wall, .counter = counter, .node = options_.node_id};
}

// ---- The other verbs

void NaiveModel::get(const Wanted& wanted) {
  const Entry* entry = find(wanted.key);
  if (entry == nullptr) {
    answer(ReplyKind::kMissing);
    return;
  }
  answer(ReplyKind::kValue);
  prediction_.value = entry->value;
  name_version(*entry);
  prediction_.open = entry->expiry_open;
}

// DEL and VDEL: form and skew of `__ft`, existence, fencing rule, VDEL value (point 13).
void NaiveModel::remove(const Step& step, const Wanted& wanted) {
  Entry* entry = find(wanted.key);
  if (bad_token(step, wanted, entry)) return;
  const bool tokened = step.token.form == Offered::Form::kTimestamp;
  if (entry == nullptr) {
    answer(ReplyKind::kCount, 0);
    prediction_.version_open = "VER-OPEN-5";
    if (tokened) prediction_.open = "FT-OPEN-2";
    return;
  }
  const bool differs = wanted.kind == Kind::kVdel && entry->value != wanted.value;
  if (fenced_off(step, *entry)) {
    if (differs) prediction_.open = "FT-OPEN-3";
    return;
  }
  if (!entry->expiry_open.empty()) prediction_.open = entry->expiry_open;
  if (tokened && !entry->fenced) prediction_.open = "FT-OPEN-2";
  if (differs) {
    answer(ReplyKind::kNotApplied);
    prediction_.version_open = "VER-OPEN-5";
    if (has_newer_token(step, *entry)) entry->token_open = "FT-OPEN-4";
    return;
  }
  answer(ReplyKind::kCount, 1);
  name_version(*entry, "VER-OPEN-4");
  notify(*entry, codec::Operation::kDelete, {}, "NTF-VERSION-OPEN-1");
  erase(entry);
}

void NaiveModel::keynotify(const Step& step, const Wanted& wanted) {
  prediction_.version_open = "VER-OPEN-5";
  const std::uint8_t client = step.operation.client;
  // Point 19c: what could never be notified is refused.
  const std::size_t named = options_.clients[client].size() + wanted.key.size();
  if (named * 2 + kTopicBytesBesides > kMaxTopic) {
    refuse(ErrorCode::kSyntax, "NTF-TOPIC-OPEN-1");
    return;
  }
  answer(ReplyKind::kOk);
  for (Registration& registration : registrations_) {
    if (registration.client == client && registration.key == wanted.key) {
      registration.repeated = true;
      prediction_.open = "NTF-REPEAT-OPEN-1";
      return;
    }
  }
  registrations_.push_back({client, std::string(wanted.key), false});
}

void NaiveModel::stop(const Step& step, const Wanted& wanted) {
  prediction_.version_open = "VER-OPEN-5";
  for (std::size_t i = 0; i < registrations_.size(); ++i) {
    if (registrations_[i].client != step.operation.client) continue;
    if (registrations_[i].key != wanted.key) continue;
    if (registrations_[i].repeated) prediction_.open = "NTF-REPEAT-OPEN-2";
    registrations_.erase(registrations_.begin() + static_cast<std::ptrdiff_t>(i));
    answer(ReplyKind::kOk);
    return;
  }
  answer(ReplyKind::kCount, 0);
}

// ---- Fencing

// Has the request a token that the key would have to take over?
bool NaiveModel::has_newer_token(const Step& step, const Entry& entry) {
  if (step.token.form != Offered::Form::kTimestamp) return false;
  return !entry.fenced || compare(step.token.timestamp, entry.token) > 0;
}

// Refuses a `__ft` that is malformed or too far ahead, regardless of what the key holds (points
// 43b, 43c). On a SET that is settled; elsewhere it is open where the key holds no token.
bool NaiveModel::bad_token(const Step& step, const Wanted& wanted, const Entry* entry) {
  const Offered& token = step.token;
  if (token.form == Offered::Form::kAbsent) return false;
  const bool needless = wanted.kind != Kind::kSet && (entry == nullptr || !entry->fenced);
  const std::string_view open = needless ? "FT-OPEN-1" : token.open_as_token;
  if (token.form == Offered::Form::kMalformed) {
    return refuse(ErrorCode::kMalformedTimestamp, open);
  }
  if (about_a_minute_ahead(token.timestamp, step.now.wall_ms)) {
    prediction_.open = "HLC-SKEW-OPEN-1";
  } else if (token.timestamp.counter > kMaxPortableCounter) {
    prediction_.open = "HLC-PARSE-OPEN-2";
  } else {
    prediction_.open = token.open_as_token;
  }
  if (more_than_a_minute_ahead(token.timestamp, step.now.wall_ms)) {
    return refuse(ErrorCode::kTokenTooFarAhead, needless ? open : prediction_.open);
  }
  return false;
}

// Refuses what the key's token does not allow. (Req: FT-REQUIRED-1, FT-LOWER-1)
bool NaiveModel::fenced_off(const Step& step, const Entry& entry) {
  if (!entry.fenced) {
    if (!entry.token_open.empty()) prediction_.open = entry.token_open;
    return false;
  }
  const Offered& token = step.token;
  const std::string_view open = entry.token_open.empty() ? prediction_.open : entry.token_open;
  if (token.form == Offered::Form::kAbsent) return refuse(ErrorCode::kTokenRequired, open);
  const int order = compare(token.timestamp, entry.token);
  // Point 48b: the order of the same numbers with other node ids.
  const bool by_node = order != 0 && token.timestamp.wall_ms == entry.token.wall_ms &&
                       token.timestamp.counter == entry.token.counter;
  prediction_.open = by_node ? "FT-OPEN-6" : open;
  return order < 0 ? refuse(ErrorCode::kTokenLower, prediction_.open) : false;
}

// ---- Answers

bool NaiveModel::refuse(ErrorCode error, std::string_view open) {
  prediction_.kind = ReplyKind::kError;
  prediction_.error = error;
  prediction_.open = open;
  prediction_.version_open = "VER-OPEN-5";
  return true;
}

void NaiveModel::answer(ReplyKind kind, std::int64_t count) {
  prediction_.kind = kind;
  prediction_.count = count;
}

void NaiveModel::name_version(const Entry& entry, std::string_view open) {
  prediction_.version = entry.version;
  prediction_.origin = entry.origin;
  prediction_.version_open = open;
}

// ---- State

// Earliest first; of equal deadlines, the one set first.
void NaiveModel::expire(const Clocks& now) {
  for (;;) {
    const Entry* next = nullptr;
    for (const Entry& entry : entries_) {
      if (!entry.deadline || *entry.deadline > now.steady) continue;
      if (next == nullptr || *entry.deadline < *next->deadline ||
          (*entry.deadline == *next->deadline && entry.deadline_number < next->deadline_number)) {
        next = &entry;
      }
    }
    if (next == nullptr) return;
    notify(*next, codec::Operation::kDelete, next->expiry_open, "NTF-VERSION-OPEN-1");
    erase(next);
  }
}

void NaiveModel::notify(const Entry& entry, codec::Operation operation, std::string_view open,
                        std::string_view version_open) {
  for (const Registration& registration : registrations_) {
    if (registration.key != entry.key) continue;
    prediction_.notifications.push_back(
        {.client = registration.client,
         .key = entry.key,
         .operation = operation,
         .value = operation == codec::Operation::kSet ? entry.value : std::string(),
         .version = entry.version,
         .origin = entry.origin,
         .open = registration.repeated ? "NTF-REPEAT-OPEN-2" : open,
         .version_open = version_open});
  }
}

bool NaiveModel::full() const { return options_.quota != 0 && entries_.size() >= options_.quota; }

NaiveModel::Entry* NaiveModel::find(std::string_view key) {
  for (Entry& entry : entries_) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

const NaiveModel::Entry* NaiveModel::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

void NaiveModel::erase(const Entry* entry) {
  entries_.erase(entries_.begin() + (entry - entries_.data()));
}

// ---- For those who run traces

Bases NaiveModel::bases(const Stamp& stamp, const Operation& operation, std::uint64_t now_ms,
                        std::uint64_t start_ms) const {
  Bases bases{.now_ms = now_ms, .start_ms = start_ms};
  const Entry* entry = find(options_.keys[key_of(stamp, operation)]);
  if (entry == nullptr) return bases;
  bases.version = &entry->version;
  if (entry->fenced) bases.token = &entry->token;
  return bases;
}

std::vector<KeyState> NaiveModel::state(const Clocks& now) const {
  std::vector<KeyState> out;
  for (const Entry& entry : entries_) {
    KeyState state{
        .key = entry.key, .value = entry.value, .version = entry.version, .origin = entry.origin};
    if (entry.fenced) state.token = entry.token;
    if (entry.deadline) {
      if (*entry.deadline <= now.steady) continue;
      state.remaining = *entry.deadline - now.steady;
    }
    out.push_back(std::move(state));
  }
  return out;
}

std::vector<Observer> NaiveModel::observers() const {
  std::vector<Observer> out;
  for (const Registration& registration : registrations_) {
    out.push_back({registration.client, registration.key});
  }
  return out;
}

std::optional<std::chrono::microseconds> NaiveModel::next_expiry() const {
  std::optional<std::chrono::microseconds> next;
  for (const Entry& entry : entries_) {
    if (entry.deadline && (!next || *entry.deadline < *next)) next = entry.deadline;
  }
  return next;
}

}  // namespace fencepost::workload
