// Faults that sequential requests never show: a store that conforms as long as there is one client,
// and is faulty with concurrent requests. What arrives within kOverlap of another client's change
// of the key is concurrent with it. A check of whole histories catches them.

#include <algorithm>
#include <deque>
#include <map>

#include "codec/topics.h"
#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using codec::ReplyKind;
using codec::Verb;
using std::chrono::microseconds;

constexpr microseconds kOverlap{2'000};

struct KeyImage {
  std::string value;
  hlc::Timestamp version;
  std::optional<hlc::Timestamp> token;
  std::optional<microseconds> deadline;
};

std::optional<KeyImage> image_of(Tamper store, std::string_view key) {
  const std::string* value = store.value(key);
  if (value == nullptr) return std::nullopt;
  return KeyImage{.value = *value,
                  .version = *store.version(key),
                  .token = *store.token(key),
                  .deadline = store.deadline(key)};
}

void put_back(Tamper store, std::string_view key, const std::optional<KeyImage>& image) {
  store.erase(key);
  if (!image) return;
  store.put(key, image->value, image->version);
  *store.token(key) = image->token;
  store.set_deadline(key, image->deadline);
}

// What a request has done to a key.
struct KeyChange {
  std::string client{};
  microseconds time{0};
  Verb verb = Verb::kSet;
  std::string timestamp{};  // __ts of the request
  std::optional<KeyImage> before{};
  std::optional<KeyImage> after{};
};

void answer_with(Exchange& exchange, const std::optional<KeyImage>& image) {
  codec::Message& response = *exchange.response();
  if (!image) {
    response.payload = "$-1\r\n";
    remove_property(response, codec::kTimestampProperty);
    return;
  }
  response.payload = "$" + std::to_string(image->value.size()) + "\r\n" + image->value + "\r\n";
  set_property(response, codec::kTimestampProperty, hlc::format(image->version));
}

bool wrote(const Exchange& exchange) {
  return exchange.command->verb == Verb::kSet && exchange.replies(ReplyKind::kOk);
}
bool deleted(const Exchange& exchange) {
  const bool deletes =
      exchange.command->verb == Verb::kDel || exchange.command->verb == Verb::kVdel;
  const auto reply = exchange.reply();
  return deletes && reply && reply->kind == ReplyKind::kCount && reply->count == 1;
}
bool has_read(const Exchange& exchange) {
  return exchange.command->verb == Verb::kGet && exchange.replies(ReplyKind::kValue);
}
bool has_missed(const Exchange& exchange) {
  return exchange.command->verb == Verb::kGet && exchange.replies(ReplyKind::kMissing);
}

// A request concurrent with the last change of its key, which was another client's.
struct Overlap {
  Exchange& exchange;
  const KeyChange& other;
  const std::optional<KeyImage>& before;  // the key before this request

  [[nodiscard]] std::string_view key() const { return exchange.command->key; }
  [[nodiscard]] Tamper store() const { return exchange.store; }
};

using SpoilOverlap = void (*)(Overlap& overlap);
// Changes the request before the store sees it.
using SpoilRequest = void (*)(codec::Message& request, const codec::Command& command,
                              const KeyChange& other, Tamper store);

class Contended final : public Decorator {
 public:
  Contended(const ServiceOptions& options, SpoilRequest request, SpoilOverlap overlap)
      : Decorator(options), spoil_request_(request), spoil_overlap_(overlap) {}

 private:
  [[nodiscard]] const KeyChange* met(std::string_view key, const Caller& caller,
                                     const Instant& now) const {
    const auto found = changes_.find(key);
    if (found == changes_.end() || found->second.client == caller.client_id) return nullptr;
    return now.steady - found->second.time <= kOverlap ? &found->second : nullptr;
  }

  void before(const Caller& caller, codec::Message& request, const Instant& now) override {
    before_.reset();
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command) return;
    before_ = image_of(Tamper(service()), command->key);
    const KeyChange* other = met(command->key, caller, now);
    if (other == nullptr || spoil_request_ == nullptr) return;
    codec::Message changed = request;  // the command has views into the request
    spoil_request_(changed, *command, *other, Tamper(service()));
    request = std::move(changed);
  }

  void after(Exchange& exchange) override {
    if (!exchange.command || exchange.response() == nullptr) return;
    const std::string key(exchange.command->key);
    const bool changed = wrote(exchange) || deleted(exchange);
    const KeyChange* other = met(key, exchange.caller, exchange.now);
    if (other != nullptr && spoil_overlap_ != nullptr) {
      Overlap overlap{.exchange = exchange, .other = *other, .before = before_};
      spoil_overlap_(overlap);
    }
    if (!changed) return;
    const std::string* sent = exchange.request.property(codec::kTimestampProperty);
    changes_[key] = {.client = std::string(exchange.caller.client_id),
                     .time = exchange.now.steady,
                     .verb = exchange.command->verb,
                     .timestamp = sent == nullptr ? "" : *sent,
                     .before = before_,
                     .after = image_of(exchange.store, key)};
  }

  SpoilRequest spoil_request_;
  SpoilOverlap spoil_overlap_;
  std::map<std::string, KeyChange, std::less<>> changes_;
  std::optional<KeyImage> before_;
};

MakeHandler with_overlap(SpoilOverlap spoil) {
  return [spoil](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<Contended>(options, nullptr, spoil);
  };
}
MakeHandler with_met_request(SpoilRequest spoil) {
  return [spoil](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<Contended>(options, spoil, nullptr);
  };
}

// ---- Reads

void misses_a_new_key(Overlap& overlap) {
  if (has_read(overlap.exchange) && !overlap.other.before) {
    answer_with(overlap.exchange, std::nullopt);
  }
}
void reads_a_deleted_key(Overlap& overlap) {
  if (has_missed(overlap.exchange) && overlap.other.before) {
    answer_with(overlap.exchange, overlap.other.before);
  }
}
void old_value_with_the_new_version(Overlap& overlap) {
  if (!has_read(overlap.exchange) || !overlap.other.before || !overlap.other.after) return;
  KeyImage torn = *overlap.other.after;
  torn.value = overlap.other.before->value;
  answer_with(overlap.exchange, torn);
}

// One GET in four is answered by a replica that is 3 ms behind; or all of some clients.
class LaggingReplica final : public Decorator {
 public:
  LaggingReplica(const ServiceOptions& options, bool by_client)
      : Decorator(options), by_client_(by_client) {}

 private:
  static constexpr microseconds kBehind{3'000};
  struct Seen {
    microseconds time;
    std::optional<KeyImage> image;
  };

  void after(Exchange& exchange) override {
    if (!exchange.command || exchange.response() == nullptr) return;
    std::deque<Seen>& log = logs_[std::string(exchange.command->key)];
    if (wrote(exchange) || deleted(exchange)) {
      if (log.empty()) log.push_back({microseconds{0}, std::nullopt});
      log.push_back({exchange.now.steady, image_of(exchange.store, exchange.command->key)});
    }
    while (log.size() > 1 && log[1].time + kBehind <= exchange.now.steady) log.pop_front();
    if (!has_read(exchange) && !has_missed(exchange)) return;
    const bool lags = by_client_ ? exchange.caller.client_id.back() % 4 == 0 : ++gets_ % 4 == 0;
    if (lags && log.size() > 1) answer_with(exchange, log.front().image);
  }

  bool by_client_;
  std::size_t gets_ = 0;
  std::map<std::string, std::deque<Seen>> logs_;
};

MakeHandler with_replica(bool by_client) {
  return [by_client](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<LaggingReplica>(options, by_client);
  };
}

// GET answers with the value of a SET that was refused a moment ago.
class DirtyRead final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void after(Exchange& exchange) override {
    if (!exchange.command || exchange.response() == nullptr) return;
    const std::string key(exchange.command->key);
    if (exchange.command->verb == Verb::kSet && exchange.replies(ReplyKind::kNotApplied)) {
      refused_[key] = {exchange.now.steady, std::string(exchange.command->value)};
    }
    const auto found = refused_.find(key);
    const bool meets = found != refused_.end() && has_read(exchange) &&
                       exchange.now.steady - found->second.first <= kOverlap;
    if (!meets) return;
    KeyImage dirty = *image_of(exchange.store, key);
    dirty.value = found->second.second;
    answer_with(exchange, dirty);
  }

  std::map<std::string, std::pair<microseconds, std::string>> refused_;
};

// ---- Writes

void drops_a_set(Overlap& overlap) {
  if (wrote(overlap.exchange)) put_back(overlap.store(), overlap.key(), overlap.before);
}
void drops_a_delete(Overlap& overlap) {
  if (deleted(overlap.exchange)) put_back(overlap.store(), overlap.key(), overlap.before);
}
void equal_versions(Overlap& overlap) {
  if (!wrote(overlap.exchange) || !overlap.other.after) return;
  *overlap.store().version(overlap.key()) = overlap.other.after->version;
  set_property(*overlap.exchange.response(), codec::kTimestampProperty,
               hlc::format(overlap.other.after->version));
}
void last_timestamp_wins(Overlap& overlap) {
  const std::string* sent = overlap.exchange.request.property(codec::kTimestampProperty);
  if (!wrote(overlap.exchange) || sent == nullptr || !overlap.other.after) return;
  const auto own = hlc::parse(*sent);
  const auto others = hlc::parse(overlap.other.timestamp);
  if (own && others && *own < *others) put_back(overlap.store(), overlap.key(), overlap.before);
}
void nx_refused_by_what_is_deleted(Overlap& overlap) {
  const bool nx = overlap.exchange.command->condition == codec::Condition::kIfAbsent;
  if (!nx || !wrote(overlap.exchange) || overlap.other.after) return;
  overlap.store().erase(overlap.key());
  overlap.exchange.response()->payload = overlap.exchange.dialect.set_not_applied;
  remove_property(*overlap.exchange.response(), codec::kTimestampProperty);
}
void refused_set_stays(Overlap& overlap) {
  const bool refused = overlap.exchange.command->verb == Verb::kSet &&
                       overlap.exchange.replies(ReplyKind::kNotApplied);
  if (refused) *overlap.store().value(overlap.key()) = overlap.exchange.command->value;
}
void refused_vdel_deletes(Overlap& overlap) {
  const bool refused = overlap.exchange.command->verb == Verb::kVdel &&
                       overlap.exchange.replies(ReplyKind::kNotApplied);
  if (refused) overlap.store().erase(overlap.key());
}
void nx_says_refused(Overlap& overlap) {
  const bool conditional = overlap.exchange.command->condition != codec::Condition::kAlways;
  if (!conditional || !wrote(overlap.exchange)) return;
  overlap.exchange.response()->payload = overlap.exchange.dialect.set_not_applied;
}
void del_says_nothing_was_there(Overlap& overlap) {
  if (!deleted(overlap.exchange)) return;
  overlap.exchange.response()->payload = ":0\r\n";
  remove_property(*overlap.exchange.response(), codec::kTimestampProperty);
}
void both_vdels_say_one(Overlap& overlap) {
  const codec::Command& command = *overlap.exchange.command;
  const bool late = command.verb == Verb::kVdel && overlap.other.verb == Verb::kVdel &&
                    !overlap.other.after && overlap.other.before &&
                    overlap.other.before->value == command.value && !deleted(overlap.exchange) &&
                    !overlap.before;
  if (late) overlap.exchange.response()->payload = ":1\r\n";
}
void nex_compares_with_the_old_value(codec::Message& request, const codec::Command& command,
                                     const KeyChange& other, Tamper /*store*/) {
  const bool stale = command.condition == codec::Condition::kIfAbsentOrEqual && other.before &&
                     other.before->value == command.value;
  if (!stale) return;
  std::vector<std::string> arguments = arguments_of(request);
  std::erase(arguments, "NEX");
  set_arguments(request, arguments);
}

// A SET concurrent with another is answered immediately and carried out 3 ms later.
class AnswersBeforeTheEffect final : public Decorator {
 public:
  using Decorator::Decorator;

  [[nodiscard]] std::optional<microseconds> next_expiry() const override {
    auto next = Decorator::next_expiry();
    if (!late_.empty() && (!next || late_.front().due < *next)) next = late_.front().due;
    return next;
  }
  void expire(const Instant& now, std::vector<Delivery>& out) override {
    Decorator::expire(now, out);
    catch_up(now.steady);
  }

 private:
  static constexpr microseconds kLate{3'000};
  struct Late {
    microseconds due;
    std::string key;
    KeyImage image;
  };

  void before(const Caller& /*caller*/, codec::Message& request, const Instant& now) override {
    catch_up(now.steady);
    before_.reset();
    const auto command = codec::parse_command(request.payload, dialect());
    if (command) before_ = image_of(Tamper(service()), command->key);
  }
  void after(Exchange& exchange) override {
    if (!exchange.command || exchange.response() == nullptr || !wrote(exchange)) return;
    const std::string key(exchange.command->key);
    const auto last = times_.find(key);
    const bool meets = last != times_.end() && exchange.now.steady - last->second <= kOverlap;
    times_[key] = exchange.now.steady;
    if (!meets) return;
    late_.push_back({exchange.now.steady + kLate, key, *image_of(exchange.store, key)});
    put_back(exchange.store, key, before_);
  }
  void catch_up(microseconds now) {
    while (!late_.empty() && late_.front().due <= now) {
      put_back(Tamper(service()), late_.front().key, late_.front().image);
      late_.pop_front();
    }
  }

  std::optional<KeyImage> before_;
  std::map<std::string, microseconds> times_;
  std::deque<Late> late_;
};

// The reply to a SET has the version of another client's SET of another key, a moment ago.
class ExchangesVersions {
 public:
  void operator()(Exchange& exchange) {
    if (!exchange.command || exchange.response() == nullptr || !wrote(exchange)) return;
    const std::string* own = exchange.response()->property(codec::kTimestampProperty);
    const std::string version = own == nullptr ? "" : *own;
    const bool meets = !version_.empty() && client_ != exchange.caller.client_id &&
                       key_ != exchange.command->key &&
                       exchange.now.steady - time_ <= kOverlap / 10;
    if (meets) set_property(*exchange.response(), codec::kTimestampProperty, version_);
    client_ = exchange.caller.client_id;
    key_ = exchange.command->key;
    time_ = exchange.now.steady;
    version_ = version;
  }

 private:
  std::string client_;
  std::string key_;
  std::string version_;
  microseconds time_{0};
};

// ---- Fencing and expiry

void token_is_not_required(codec::Message& request, const codec::Command& /*command*/,
                           const KeyChange& other, Tamper /*store*/) {
  const bool fenced = other.after && other.after->token;
  if (!fenced || request.property(codec::kTokenProperty) != nullptr) return;
  set_property(request, codec::kTokenProperty, hlc::format(*other.after->token));
}
// The same for what lasts: a request concurrent with any other client's request of its key.
using SpoilBusyKey = void (*)(Exchange& exchange, const std::optional<KeyImage>& before);

class BusyKey final : public Decorator {
 public:
  BusyKey(const ServiceOptions& options, SpoilBusyKey spoil) : Decorator(options), spoil_(spoil) {}

 private:
  struct Visit {
    std::string client;
    microseconds time{0};
  };

  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    before_.reset();
    const auto command = codec::parse_command(request.payload, dialect());
    if (command) before_ = image_of(Tamper(service()), command->key);
  }
  void after(Exchange& exchange) override {
    if (!exchange.command || exchange.response() == nullptr) return;
    Visit& last = visits_[std::string(exchange.command->key)];
    const bool meets = !last.client.empty() && last.client != exchange.caller.client_id &&
                       exchange.now.steady - last.time <= kOverlap;
    if (meets && wrote(exchange)) spoil_(exchange, before_);
    last = {std::string(exchange.caller.client_id), exchange.now.steady};
  }

  SpoilBusyKey spoil_;
  std::optional<KeyImage> before_;
  std::map<std::string, Visit> visits_;
};

MakeHandler with_busy_key(SpoilBusyKey spoil) {
  return [spoil](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<BusyKey>(options, spoil);
  };
}

void token_does_not_advance(Exchange& exchange, const std::optional<KeyImage>& before) {
  if (before && before->token) *exchange.store.token(exchange.command->key) = before->token;
}
void renewal_is_lost(Exchange& exchange, const std::optional<KeyImage>& before) {
  if (!before || !before->deadline || !exchange.command->expires_after) return;
  exchange.store.set_deadline(exchange.command->key, before->deadline);
}
void expiry_is_lost(Exchange& exchange, const std::optional<KeyImage>& /*before*/) {
  if (!exchange.command->expires_after) return;
  exchange.store.set_deadline(exchange.command->key, std::nullopt);
}

// A GET within 20 ms of the end of a key finds it in a cache, and puts it back.
class ReadRevivesExpiredKey {
 public:
  void operator()(Exchange& exchange) {
    if (!exchange.command || exchange.response() == nullptr) return;
    const std::string key(exchange.command->key);
    if (wrote(exchange) || deleted(exchange)) expiring_.erase(key);
    const auto now = image_of(exchange.store, key);
    if (now && now->deadline) expiring_[key] = *now;
    const auto found = expiring_.find(key);
    if (found == expiring_.end() || !has_missed(exchange)) return;
    KeyImage image = found->second;
    expiring_.erase(found);
    constexpr microseconds kSoon{20'000};
    if (exchange.now.steady > *image.deadline + kSoon) return;
    image.deadline.reset();
    put_back(exchange.store, key, image);
    answer_with(exchange, image);
  }

 private:
  std::map<std::string, KeyImage> expiring_;
};

// ---- Notifications

std::vector<Delivery*> notifications_in(std::vector<Delivery>& out) {
  std::vector<Delivery*> found;
  for (Delivery& delivery : out) {
    if (!delivery.client_id.empty()) found.push_back(&delivery);
  }
  return found;
}

void loses_notifications(Overlap& overlap) {
  std::erase_if(overlap.exchange.out, [](const Delivery& d) { return !d.client_id.empty(); });
}
void loses_notifications_of_deletions(Overlap& overlap) {
  if (deleted(overlap.exchange)) loses_notifications(overlap);
}
void doubles_notifications(Overlap& overlap) {
  std::vector<Delivery> more;
  for (const Delivery* delivery : notifications_in(overlap.exchange.out)) {
    more.push_back(*delivery);
  }
  overlap.exchange.out.insert(overlap.exchange.out.begin(), more.begin(), more.end());
}
void notifies_of_the_others_value(Overlap& overlap) {
  if (!wrote(overlap.exchange) || !overlap.other.after) return;
  for (Delivery* delivery : notifications_in(overlap.exchange.out)) {
    delivery->message.payload.clear();
    codec::append_notification(
        delivery->message.payload,
        {.operation = codec::Operation::kSet, .value = overlap.other.after->value},
        overlap.exchange.dialect);
  }
}
void notifies_with_the_others_version(Overlap& overlap) {
  if (!wrote(overlap.exchange) || !overlap.other.after) return;
  for (Delivery* delivery : notifications_in(overlap.exchange.out)) {
    set_property(delivery->message, codec::kTimestampProperty,
                 hlc::format(overlap.other.after->version));
  }
}
void notifies_of_refused_sets(Overlap& overlap) {
  const codec::Command& command = *overlap.exchange.command;
  const bool refused = command.verb == Verb::kSet && overlap.before &&
                       overlap.exchange.replies(ReplyKind::kNotApplied);
  if (!refused) return;
  for (const std::string& client : overlap.store().observers(overlap.key())) {
    Delivery notified{.client_id = client, .message = {}};
    const auto topic = codec::notification_topic(client, overlap.key());
    if (!topic) continue;
    notified.message.topic = *topic;
    codec::append_notification(notified.message.payload,
                               {.operation = codec::Operation::kSet, .value = command.value},
                               overlap.exchange.dialect);
    set_property(notified.message, codec::kTimestampProperty, hlc::format(overlap.before->version));
    overlap.exchange.out.insert(overlap.exchange.out.begin(), std::move(notified));
  }
}
void registration_is_lost(Overlap& overlap) {
  const codec::Command& command = *overlap.exchange.command;
  if (command.verb != Verb::kKeynotify || command.stop) return;
  std::erase(overlap.store().observers(overlap.key()),
             std::string(overlap.exchange.caller.client_id));
}
void stop_ends_anothers_registration(Overlap& overlap) {
  const codec::Command& command = *overlap.exchange.command;
  if (command.verb != Verb::kKeynotify || !command.stop) return;
  auto& observers = overlap.store().observers(overlap.key());
  if (!observers.empty()) observers.pop_back();
}
void registration_ends_anothers(Overlap& overlap) {
  const codec::Command& command = *overlap.exchange.command;
  if (command.verb != Verb::kKeynotify || command.stop) return;
  const std::string own(overlap.exchange.caller.client_id);
  std::erase_if(overlap.store().observers(overlap.key()),
                [&](const std::string& client) { return client != own; });
}

Fault overlap(std::string_view id, std::string_view name, std::string_view text,
              std::vector<std::string_view> requirements, MakeHandler make) {
  return {.id = id,
          .name = name,
          .text = text,
          .requirements = std::move(requirements),
          .needs = FaultNeeds::kHistory,
          .make = std::move(make)};
}

std::vector<Fault> reading_faults() {
  return {
      overlap("T01", "reads-from-a-replica", "one GET in four reads a state that is 3 ms old",
              {"GET-HIT-3", "SET-WRITE-2"}, with_replica(false)),
      overlap("T02", "client-reads-from-a-replica",
              "the GETs of some clients read a state that is 3 ms old",
              {"GET-HIT-3", "SET-WRITE-2"}, with_replica(true)),
      overlap("T03", "misses-a-new-key",
              "GET does not find a key that another client has just written",
              {"GET-HIT-1", "SET-WRITE-1"}, with_overlap(misses_a_new_key)),
      overlap("T04", "reads-a-deleted-key", "GET returns what another client has just deleted",
              {"GET-MISS-1", "DEL-COUNT-1"}, with_overlap(reads_a_deleted_key)),
      overlap("T05", "old-value-with-the-new-version",
              "GET returns the value of one write and the version of the next", {"VER-GET-2"},
              with_overlap(old_value_with_the_new_version)),
      overlap("T06", "dirty-read", "GET returns the value of a SET that was refused",
              {"GET-HIT-3", "VER-GET-2"}, with_decorator<DirtyRead>()),
  };
}

std::vector<Fault> writing_faults() {
  return {
      overlap("T07", "drops-a-set",
              "a SET concurrent with another change is answered but not stored",
              {"SET-WRITE-1", "SET-WRITE-2"}, with_overlap(drops_a_set)),
      overlap("T08", "drops-a-delete",
              "a DEL concurrent with a SET is answered but not carried out", {"DEL-COUNT-1"},
              with_overlap(drops_a_delete)),
      overlap("T09", "equal-versions", "concurrent SETs have the same version", {"VER-UPDATE-3"},
              with_overlap(equal_versions)),
      overlap("T10", "last-timestamp-wins",
              "of concurrent SETs the one with the latest timestamp wins", {"SET-WRITE-2"},
              with_overlap(last_timestamp_wins)),
      overlap("T11", "answers-before-the-effect",
              "concurrent SETs are answered 3 ms before they take effect",
              {"SET-WRITE-1", "SET-WRITE-2"}, with_decorator<AnswersBeforeTheEffect>()),
      overlap("T12", "nx-refused-by-what-is-deleted",
              "SET NX is refused for a key that another client has just deleted", {"SET-NX-1"},
              with_overlap(nx_refused_by_what_is_deleted)),
      overlap("T13", "nex-compares-with-the-old-value",
              "SET NEX compares with the value before another client's write", {"SET-NEX-3"},
              with_met_request(nex_compares_with_the_old_value)),
      overlap("T14", "refused-set-stays", "a SET that is refused still changes the value",
              {"SET-NX-2", "VER-GET-2"}, with_overlap(refused_set_stays)),
      overlap("T15", "refused-vdel-deletes", "a VDEL that is refused still deletes the key",
              {"VDEL-MISMATCH-1"}, with_overlap(refused_vdel_deletes)),
      overlap("T16", "nx-says-refused",
              "a conditional SET that is carried out answers that it was not",
              {"SET-NX-1", "SET-NEX-1"}, with_overlap(nx_says_refused)),
      overlap("T17", "del-says-nothing-was-there", "a DEL that deletes answers :0", {"DEL-COUNT-1"},
              with_overlap(del_says_nothing_was_there)),
      overlap("T18", "both-vdels-say-one", "two concurrent VDELs both answer :1", {"DEL-MISS-1"},
              with_overlap(both_vdels_say_one)),
      overlap("T19", "exchanges-versions", "replies to SETs of two keys have each other's versions",
              {"VER-SET-2", "VER-UPDATE-3", "VER-GET-2"}, with_state<ExchangesVersions>()),
  };
}

std::vector<Fault> lasting_faults() {
  return {
      overlap("T20", "token-is-not-required",
              "a request without a token is accepted while a fenced one arrives", {"FT-REQUIRED-1"},
              with_met_request(token_is_not_required)),
      overlap("T21", "token-does-not-advance",
              "of two concurrent fenced SETs the token of the first stays",
              {"FT-LOWER-1", "FT-ADVANCE-2"}, with_busy_key(token_does_not_advance)),
      overlap("T22", "renewal-is-lost",
              "a SET with PX concurrent with another keeps the old expiry",
              {"SET-PX-2", "SET-PX-1"}, with_busy_key(renewal_is_lost)),
      overlap("T23", "expiry-is-lost", "a SET with PX concurrent with another does not expire",
              {"SET-PX-1"}, with_busy_key(expiry_is_lost)),
      overlap("T24", "read-revives-expired-key",
              "a GET just after the expiry of a key returns the key and keeps it", {"SET-PX-1"},
              with_state<ReadRevivesExpiredKey>()),
  };
}

std::vector<Fault> notifying_faults() {
  return {
      overlap("T25", "loses-notifications", "a SET concurrent with another is not notified",
              {"NTF-SEND-1"}, with_overlap(loses_notifications)),
      overlap("T26", "loses-notifications-of-deletions",
              "a deletion concurrent with a SET is not notified", {"NTF-SEND-2"},
              with_overlap(loses_notifications_of_deletions)),
      overlap("T27", "doubles-notifications", "observers are notified twice of concurrent SETs",
              {"NTF-SEND-1"}, with_overlap(doubles_notifications)),
      overlap("T28", "notifies-of-the-others-value",
              "of two concurrent SETs the notification of one has the value of the other",
              {"NTF-VALUE-1"}, with_overlap(notifies_of_the_others_value)),
      overlap("T29", "notifies-with-the-others-version",
              "of two concurrent SETs the notification of one has the version of the other",
              {"NTF-VERSION-3", "NTF-VALUE-1"}, with_overlap(notifies_with_the_others_version)),
      overlap("T30", "notifies-of-refused-sets", "observers are notified of a SET that was refused",
              {"NTF-SEND-4"}, with_overlap(notifies_of_refused_sets)),
      overlap("T31", "registration-is-lost",
              "a KEYNOTIFY concurrent with a change registers nothing", {"NTF-SEND-1"},
              with_overlap(registration_is_lost)),
      overlap("T32", "stop-ends-anothers-registration",
              "a STOP concurrent with a change ends the registration of another client",
              {"NTF-STOP-1", "NTF-SEND-1"}, with_overlap(stop_ends_anothers_registration)),
      overlap("T33", "registration-ends-anothers",
              "a KEYNOTIFY concurrent with a change ends the registrations of other clients",
              {"NTF-SEND-1"}, with_overlap(registration_ends_anothers)),
  };
}

}  // namespace

std::vector<Fault> overlap_faults() {
  std::vector<Fault> out;
  for (auto part : {reading_faults, writing_faults, lasting_faults, notifying_faults}) {
    for (Fault& fault : part()) out.push_back(std::move(fault));
  }
  return out;
}

}  // namespace fencepost::store
