// Faults that show with concurrent requests of several clients, or after very many of them. A race
// is simulated: what arrives within kRace of something else is concurrent with it.

#include <map>

#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using codec::Condition;
using codec::Verb;
using std::chrono::microseconds;

constexpr microseconds kRace{2'000};

// Remembers the last write of each key.
class Racing : public Decorator {
 public:
  using Decorator::Decorator;

  struct Write {
    std::string client;
    microseconds time{0};
    std::optional<std::string> old_value;
    std::optional<hlc::Timestamp> old_version;  // there when the value is
    std::string value;
  };

 protected:
  // The last write of this key, when it was another client's and is being raced with.
  [[nodiscard]] const Write* rival(const Exchange& exchange) const {
    return exchange.command ? rival(exchange.command->key, exchange.caller, exchange.now) : nullptr;
  }
  [[nodiscard]] const Write* rival(std::string_view key, const Caller& caller,
                                   const Instant& now) const {
    const auto found = writes_.find(std::string(key));
    if (found == writes_.end() || found->second.client == caller.client_id) return nullptr;
    return now.steady - found->second.time <= kRace ? &found->second : nullptr;
  }

  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    pending_ = {};
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || command->verb != Verb::kSet) return;
    Tamper store(service());
    if (const std::string* value = store.value(command->key)) {
      pending_.old_value = *value;
      pending_.old_version = *store.version(command->key);
    }
  }
  void after(Exchange& exchange) override {
    const bool written = exchange.command && exchange.command->verb == Verb::kSet &&
                         exchange.replies(codec::ReplyKind::kOk);
    if (!written) return;
    pending_.client = exchange.caller.client_id;
    pending_.time = exchange.now.steady;
    pending_.value = exchange.command->value;
    writes_[std::string(exchange.command->key)] = pending_;
  }

  // Makes the request a plain SET, which is carried out in any case.
  static void drop_condition(codec::Message& request) {
    std::vector<std::string> arguments = arguments_of(request);
    std::erase_if(arguments, [](const std::string& a) { return a == "NX" || a == "NEX"; });
    set_arguments(request, arguments);
  }

 private:
  std::map<std::string, Write> writes_;
  Write pending_;
};

// L01, L02: a condition that another client has just made false still counts as true.
template <Condition kCondition>
class TwoWinners final : public Racing {
 public:
  using Racing::Racing;

 private:
  void before(const Caller& caller, codec::Message& request, const Instant& now) override {
    Racing::before(caller, request, now);
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || command->condition != kCondition) return;
    const Write* other = rival(command->key, caller, now);
    if (other != nullptr && !other->old_value) drop_condition(request);
  }
};

void answer_value(Exchange& exchange, const std::string& value) {
  exchange.response()->payload = "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
}

bool is_hit(const Exchange& exchange) {
  return exchange.command && exchange.command->verb == Verb::kGet &&
         exchange.replies(codec::ReplyKind::kValue);
}

// Changes the answer to a GET that races with the write of another client.
using ChangeRacedGet = void (*)(Exchange& exchange, const Racing::Write& other);
template <ChangeRacedGet kChange>
class RacedGet final : public Racing {
 public:
  using Racing::Racing;

 private:
  void after(Exchange& exchange) override {
    Racing::after(exchange);
    const Write* other = rival(exchange);
    if (other != nullptr && other->old_value && is_hit(exchange)) kChange(exchange, *other);
  }
};

// L04: value and version of a GET belong to different writes.
void answer_old_version(Exchange& exchange, const Racing::Write& other) {
  set_property(*exchange.response(), codec::kTimestampProperty, hlc::format(*other.old_version));
}

// L03: GET reads a cache that a write of another client has not reached yet.
void stale_read_cache(Exchange& exchange, const Racing::Write& other) {
  answer_value(exchange, *other.old_value);
  answer_old_version(exchange, other);
}

// L05: a large value is half the old and half the new one.
void torn_large_value(Exchange& exchange, const Racing::Write& other) {
  constexpr std::size_t kLarge = 4096;
  std::string value = other.value;
  if (value.size() < kLarge || other.old_value->size() != value.size()) return;
  const std::size_t half = value.size() / 2;
  value.replace(half, std::string::npos, other.old_value->substr(half));
  answer_value(exchange, value);
}

// L06: GET of one key answers with the value that another client has just read from another.
class MixesBuffers {
 public:
  void operator()(Exchange& exchange) {
    if (!is_hit(exchange)) return;
    const std::string value(exchange.reply()->value);
    const bool meets = client_ != exchange.caller.client_id && key_ != exchange.command->key &&
                       exchange.now.steady - time_ <= kRace && !client_.empty();
    if (meets) answer_value(exchange, value_);
    client_ = exchange.caller.client_id;
    key_ = exchange.command->key;
    time_ = exchange.now.steady;
    value_ = value;
  }

 private:
  std::string client_;
  std::string key_;
  std::string value_;
  microseconds time_{0};
};

// L07: the token was checked before another client's newer one came in.
class FencingRace final : public Racing {
 public:
  using Racing::Racing;

 private:
  void before(const Caller& caller, codec::Message& request, const Instant& now) override {
    Racing::before(caller, request, now);
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || request.property(codec::kTokenProperty) == nullptr) return;
    const auto* held = Tamper(service()).token(command->key);
    if (rival(command->key, caller, now) == nullptr || held == nullptr || !*held) return;
    set_property(request, codec::kTokenProperty, hlc::format(**held));
  }
};

// L08: one SET in a thousand is answered and forgotten.
class DropsOneSetInAThousand {
 public:
  void operator()(Exchange& exchange) {
    constexpr std::size_t kOneIn = 1000;
    const bool written = exchange.command && exchange.command->verb == Verb::kSet &&
                         exchange.replies(codec::ReplyKind::kOk);
    if (written && ++count_ % kOneIn == 0) exchange.store.erase(exchange.command->key);
  }

 private:
  std::size_t count_ = 0;
};

// L09: when the table grows, at 512, 1024, ... keys, one key is lost.
class LosesAKeyWhenGrowing final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void after(Exchange& exchange) override {
    constexpr std::size_t kFirst = 512;
    const bool written = exchange.command && exchange.command->verb == Verb::kSet &&
                         exchange.replies(codec::ReplyKind::kOk);
    if (!written) return;
    const std::size_t size = service().key_count();
    if (size <= most_) return;
    most_ = size;
    const bool power_of_two = (size & (size - 1)) == 0;
    if (size >= kFirst && power_of_two) exchange.store.erase(last_);
    last_ = exchange.command->key;
  }

  std::size_t most_ = 0;
  std::string last_;  // the key that came before
};

// L12: GET does not see what the same client has just written.
class MissesOwnWrites final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    old_.reset();
    const auto command = codec::parse_command(request.payload, dialect());
    const std::string* value = command ? Tamper(service()).value(command->key) : nullptr;
    if (value != nullptr) old_ = *value;
  }
  void after(Exchange& exchange) override {
    if (is_hit(exchange) && key_ == exchange.command->key && value_ &&
        client_ == exchange.caller.client_id && exchange.now.steady - time_ <= kRace) {
      answer_value(exchange, *value_);
    }
    const bool written = exchange.command && exchange.command->verb == Verb::kSet &&
                         exchange.replies(codec::ReplyKind::kOk);
    if (!written) return;
    client_ = exchange.caller.client_id;
    key_ = exchange.command->key;
    value_ = old_;
    time_ = exchange.now.steady;
  }

  std::optional<std::string> old_;
  std::optional<std::string> value_;
  std::string client_;
  std::string key_;
  microseconds time_{0};
};

// D09: two concurrent DELs both answer that they have deleted.
class BothDelsSayOne {
 public:
  void operator()(Exchange& exchange) {
    if (!exchange.command || exchange.command->verb != Verb::kDel) return;
    codec::Message* response = exchange.response();
    if (response == nullptr) return;
    const bool meets = key_ == exchange.command->key && client_ != exchange.caller.client_id &&
                       exchange.now.steady - time_ <= kRace;
    if (response->payload == ":0\r\n" && meets) response->payload = ":1\r\n";
    if (response->payload == ":1\r\n") {
      key_ = exchange.command->key;
      client_ = exchange.caller.client_id;
      time_ = exchange.now.steady;
    }
  }

 private:
  std::string key_;
  std::string client_;
  microseconds time_{0};
};

// D10: VDEL compares, another client sets, VDEL deletes.
class VdelIsNotAtomic final : public Racing {
 public:
  using Racing::Racing;

 private:
  void before(const Caller& caller, codec::Message& request, const Instant& now) override {
    Racing::before(caller, request, now);
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || command->verb != Verb::kVdel) return;
    const Write* other = rival(command->key, caller, now);
    if (other == nullptr || other->old_value != std::string(command->value)) return;
    set_arguments(request, {"DEL", std::string(command->key)});
  }
};

// H19: the version is taken before the lock, so of two concurrent SETs the later has the lower one.
class VersionBeforeTheLock final : public Racing {
 public:
  using Racing::Racing;

 private:
  void after(Exchange& exchange) override {
    const Write* other = rival(exchange);
    const bool written = exchange.command && exchange.command->verb == Verb::kSet &&
                         exchange.replies(codec::ReplyKind::kOk);
    if (written && other != nullptr && other->old_version) {
      hlc::Timestamp& version = *exchange.store.version(exchange.command->key);
      const std::string* sent = exchange.request.property(codec::kTimestampProperty);
      const auto request = hlc::parse(sent == nullptr ? std::string_view() : *sent);
      const hlc::Timestamp earlier{version.wall_ms, version.counter - 1, version.node};
      if (request && version.counter > 0 && earlier > *request) {
        version = earlier;
        set_property(*exchange.response(), codec::kTimestampProperty, hlc::format(version));
      }
    }
    Racing::after(exchange);
  }
};

// N08: notifications of two concurrent writes arrive in the wrong order.
class NotificationsOutOfOrder final : public Decorator {
 public:
  using Decorator::Decorator;

  [[nodiscard]] std::optional<microseconds> next_expiry() const override {
    auto next = Decorator::next_expiry();
    if (!held_.empty() && (!next || until_ < *next)) next = until_;
    return next;
  }
  void expire(const Instant& now, std::vector<Delivery>& out) override {
    Decorator::expire(now, out);
    if (!held_.empty() && until_ <= now.steady) release(out);
  }

 private:
  void after(Exchange& exchange) override {
    std::vector<Delivery> notifications;
    for (Delivery& delivery : exchange.out) {
      if (!delivery.client_id.empty()) notifications.push_back(delivery);
    }
    if (notifications.empty()) return;
    const bool meets = !held_.empty() && writer_ != exchange.caller.client_id;
    if (meets || !held_.empty()) {
      if (meets) {
        release(exchange.out);
      } else {
        exchange.out.insert(exchange.out.begin(), held_.begin(), held_.end());
        held_.clear();
      }
      return;
    }
    std::erase_if(exchange.out, [](const Delivery& d) { return !d.client_id.empty(); });
    held_ = std::move(notifications);
    writer_ = exchange.caller.client_id;
    until_ = exchange.now.steady + kRace;
  }
  void release(std::vector<Delivery>& out) {
    out.insert(out.end(), held_.begin(), held_.end());
    held_.clear();
  }

  std::vector<Delivery> held_;
  std::string writer_;
  microseconds until_{0};
};

// L13: two concurrent SETs of a key: both are answered, the first is the one that stays.
class LostUpdate final : public Racing {
 public:
  using Racing::Racing;

 private:
  void after(Exchange& exchange) override {
    const Write* other = rival(exchange);
    const bool written = exchange.command && exchange.command->verb == Verb::kSet &&
                         exchange.replies(codec::ReplyKind::kOk);
    if (written && other != nullptr) *exchange.store.value(exchange.command->key) = other->value;
    Racing::after(exchange);
  }
};

Fault race(std::string_view id, std::string_view name, std::string_view text,
           std::vector<std::string_view> requirements, MakeHandler make) {
  return {.id = id,
          .name = name,
          .text = text,
          .requirements = std::move(requirements),
          .needs = FaultNeeds::kOverlap,
          .make = std::move(make)};
}

}  // namespace

std::vector<Fault> concurrency_faults() {
  return {
      race("L01", "two-nx-winners", "two concurrent SETs with NX both succeed", {"SET-NX-2"},
           with_decorator<TwoWinners<Condition::kIfAbsent>>()),
      race("L02", "two-lock-holders", "two concurrent SETs with NEX both get the lock",
           {"SET-NEX-3", "LOCK-ACQUIRE-2"},
           with_decorator<TwoWinners<Condition::kIfAbsentOrEqual>>()),
      race("L03", "stale-read-cache", "GET does not see what another client has just written",
           {"GET-HIT-3", "SET-WRITE-1", "SET-WRITE-2"},
           with_decorator<RacedGet<stale_read_cache>>()),
      race("L04", "mismatched-version",
           "GET returns the value of one write and the version of another", {"VER-GET-2"},
           with_decorator<RacedGet<answer_old_version>>()),
      race("L05", "torn-large-value", "a large value is half the old one and half the new one",
           {"GET-HIT-3"}, with_decorator<RacedGet<torn_large_value>>()),
      race("L06", "mixes-buffers",
           "GET returns a value that another client has read from another key", {"GET-HIT-3"},
           with_state<MixesBuffers>()),
      race("L07", "fencing-race", "an old token is accepted while a newer one arrives",
           {"FT-LOWER-1", "FT-ADVANCE-2"}, with_decorator<FencingRace>()),
      {.id = "L08",
       .name = "drops-one-set-in-a-thousand",
       .text = "one SET in a thousand is answered but not stored",
       .requirements = {"SET-WRITE-1"},
       .make = with_state<DropsOneSetInAThousand>()},
      {.id = "L09",
       .name = "loses-a-key-when-growing",
       .text = "a key is lost when the number of keys exceeds 2^k",
       .requirements = {"SET-PX-3", "SET-WRITE-1"},
       .make = with_decorator<LosesAKeyWhenGrowing>()},
      {.id = "L12",
       .name = "misses-own-writes",
       .text = "GET does not see what the same client has just written",
       .requirements = {"GET-HIT-3", "SET-WRITE-1", "SET-WRITE-2"},
       .make = with_decorator<MissesOwnWrites>()},
      race("L13", "lost-update", "of two concurrent SETs the earlier one wins",
           {"SET-WRITE-1", "SET-WRITE-2"}, with_decorator<LostUpdate>()),
      race("D09", "both-dels-say-one", "two concurrent DELs both answer :1",
           {"DEL-COUNT-1", "DEL-MISS-1"}, with_state<BothDelsSayOne>()),
      race("D10", "vdel-is-not-atomic", "VDEL deletes a value that was set after the comparison",
           {"VDEL-MISMATCH-1"}, with_decorator<VdelIsNotAtomic>()),
      {.id = "H19",
       .name = "version-before-the-lock",
       .text = "of two concurrent SETs the later has the lower version",
       .requirements = {"VER-UPDATE-3"},
       .needs = FaultNeeds::kHistory,
       .make = with_decorator<VersionBeforeTheLock>()},
      race("N08", "notifications-out-of-order",
           "the notifications of two concurrent writes arrive in the wrong order", {"NTF-ORDER-1"},
           with_decorator<NotificationsOutOfOrder>()),
  };
}

}  // namespace fencepost::store
