// Faults of PX and of expired keys.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "codec/topics.h"
#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Deadline = std::optional<microseconds>;

// ---- rules with another function in their place

Deadline px_in_seconds(const codec::Command& command, const hlc::Timestamp& /*request*/,
                       Deadline /*held*/, const Instant& now) {
  if (!command.expires_after) return std::nullopt;
  return now.steady + *command.expires_after * 1000;
}

Deadline px_ignored(const codec::Command& /*command*/, const hlc::Timestamp& /*request*/,
                    Deadline /*held*/, const Instant& /*now*/) {
  return std::nullopt;
}

Deadline px_rounded_down(const codec::Command& command, const hlc::Timestamp& /*request*/,
                         Deadline /*held*/, const Instant& now) {
  if (!command.expires_after) return std::nullopt;
  return now.steady + std::chrono::floor<seconds>(*command.expires_after);
}

Deadline px_wraps(const codec::Command& command, const hlc::Timestamp& /*request*/,
                  Deadline /*held*/, const Instant& now) {
  if (!command.expires_after) return std::nullopt;
  // As if milliseconds were kept in 32 bits.
  const auto wrapped = static_cast<std::uint32_t>(command.expires_after->count());
  return now.steady + milliseconds{wrapped};
}

Deadline px_of_the_first_set(const codec::Command& command, const hlc::Timestamp& request,
                             Deadline held, const Instant& now) {
  const Deadline fresh = deadline_of_set(command, request, held, now);
  return held && fresh ? std::min(*held, *fresh) : fresh;
}

Deadline px_from_the_requests_clock(const codec::Command& command, const hlc::Timestamp& request,
                                    Deadline /*held*/, const Instant& now) {
  if (!command.expires_after) return std::nullopt;
  const auto ahead = static_cast<std::int64_t>(request.wall_ms - now.wall_ms);
  return now.steady + milliseconds{ahead} + *command.expires_after;
}

microseconds swept_late(microseconds deadline) { return deadline + milliseconds{900}; }

// ---- between the store and the network

// X05: PX that is no number of milliseconds counts as 0.
void bad_px_is_zero(codec::Message& request) {
  std::vector<std::string> arguments = arguments_of(request);
  if (arguments.empty() || arguments[0] != "SET") return;
  for (std::size_t i = 3; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "PX") continue;
    const bool number = arguments[i + 1].find_first_not_of("0123456789") == std::string::npos &&
                        !arguments[i + 1].empty();
    if (!number) arguments[i + 1] = "0";
    set_arguments(request, arguments);
    return;
  }
}

// X07: DEL and VDEL count a key that has expired. X12 and X09 remember what a key had before.
class Remembering : public Decorator {
 public:
  using Decorator::Decorator;

 protected:
  struct Former {
    std::string value;
    std::optional<hlc::Timestamp> token;
    Deadline deadline;
  };
  // What the key held when it was last set; null when it never was.
  [[nodiscard]] const Former* former(std::string_view key) const {
    const auto found = former_.find(std::string(key));
    return found == former_.end() ? nullptr : &found->second;
  }
  void remember(Exchange& exchange) {
    if (!exchange.command) return;
    const std::string_view key = exchange.command->key;
    if (const std::string* value = exchange.store.value(key)) {
      former_[std::string(key)] = {.value = *value,
                                   .token = *exchange.store.token(key),
                                   .deadline = exchange.store.deadline(key)};
    }
  }
  void forget(std::string_view key) { former_.erase(std::string(key)); }

 private:
  std::map<std::string, Former> former_;
};

class CountsExpiredKeys final : public Remembering {
 public:
  using Remembering::Remembering;

 private:
  void after(Exchange& exchange) override {
    const bool removal = exchange.command && (exchange.command->verb == codec::Verb::kDel ||
                                              exchange.command->verb == codec::Verb::kVdel);
    if (removal && exchange.response() != nullptr && exchange.response()->payload == ":0\r\n") {
      const Former* was = former(exchange.command->key);
      if (was != nullptr && was->deadline && *was->deadline <= exchange.now.steady) {
        exchange.response()->payload = ":1\r\n";
      }
    }
    if (removal) forget(exchange.command->key);
    remember(exchange);
  }
};

// X08: the timer of an overwritten value still fires.
class OldTimerKillsTheNewValue final : public Decorator {
 public:
  using Decorator::Decorator;

  [[nodiscard]] Deadline next_expiry() const override {
    Deadline next = Decorator::next_expiry();
    if (!timers_.empty() && (!next || timers_.begin()->first < *next)) {
      next = timers_.begin()->first;
    }
    return next;
  }
  void expire(const Instant& now, std::vector<Delivery>& out) override {
    fire(now);
    Decorator::expire(now, out);
  }

 private:
  void before(const Caller& /*caller*/, codec::Message& /*request*/, const Instant& now) override {
    fire(now);
  }
  void after(Exchange& exchange) override {
    const bool timed = exchange.command && exchange.command->verb == codec::Verb::kSet &&
                       exchange.command->expires_after;
    if (!timed || exchange.response() == nullptr || exchange.response()->payload != "+OK\r\n") {
      return;
    }
    timers_.emplace(exchange.now.steady + *exchange.command->expires_after,
                    std::string(exchange.command->key));
  }
  void fire(const Instant& now) {
    while (!timers_.empty() && timers_.begin()->first <= now.steady) {
      Tamper store(service());
      const std::string& key = timers_.begin()->second;
      // The time that counts is not this one's: observers of the key are notified of that.
      if (store.deadline(key) != timers_.begin()->first) store.erase(key);
      timers_.erase(timers_.begin());
    }
  }

  std::multimap<microseconds, std::string> timers_;
};

// X09: a key that is deleted and set again expires when the deleted one would have.
class InheritsTheOldExpiry final : public Remembering {
 public:
  using Remembering::Remembering;

 private:
  void after(Exchange& exchange) override {
    if (!exchange.command) return;
    const std::string_view key = exchange.command->key;
    if (exchange.command->verb == codec::Verb::kSet && exchange.store.value(key) != nullptr) {
      const Former* was = former(key);
      if (was != nullptr && was->deadline && *was->deadline > exchange.now.steady &&
          !exchange.store.deadline(key)) {
        exchange.store.set_deadline(key, was->deadline);
      }
    }
    remember(exchange);
  }
};

// X10: a GET restarts the time.
class GetExtendsTheExpiry {
 public:
  void operator()(Exchange& exchange) {
    if (!exchange.command) return;
    const std::string key(exchange.command->key);
    if (exchange.command->verb == codec::Verb::kSet) {
      lifetimes_.erase(key);
      if (exchange.command->expires_after) lifetimes_[key] = *exchange.command->expires_after;
    }
    const auto lifetime = lifetimes_.find(key);
    if (exchange.command->verb == codec::Verb::kGet && lifetime != lifetimes_.end() &&
        exchange.store.value(key) != nullptr) {
      exchange.store.set_deadline(key, exchange.now.steady + lifetime->second);
    }
  }

 private:
  std::map<std::string, milliseconds> lifetimes_;
};

// X12: the token outlives the key. The article does not say whether it may.
class TokenOutlivesTheKey final : public Remembering {
 public:
  using Remembering::Remembering;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    refuse_ = false;
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || command->verb != codec::Verb::kSet) return;
    const Former* was = former(command->key);
    const bool gone = Tamper(service()).value(command->key) == nullptr;
    refuse_ = gone && was != nullptr && was->token && was->deadline &&
              request.property(codec::kTokenProperty) == nullptr;
    if (refuse_) request.payload = codec::encode_command({"GET", command->key});
  }
  void after(Exchange& exchange) override {
    if (refuse_ && exchange.response() != nullptr) {
      answer_error(exchange, codec::ErrorCode::kTokenRequired);
      return;
    }
    if (exchange.command && (exchange.command->verb == codec::Verb::kDel ||
                             exchange.command->verb == codec::Verb::kVdel)) {
      forget(exchange.command->key);
    }
    remember(exchange);
  }

  bool refuse_ = false;
};

// X13: with a key that expires another one goes.
class ExpiryRemovesTheNextKey final : public Decorator {
 public:
  using Decorator::Decorator;

  void expire(const Instant& now, std::vector<Delivery>& out) override {
    take_neighbours(now);
    Decorator::expire(now, out);
  }

 private:
  void before(const Caller& /*caller*/, codec::Message& /*request*/, const Instant& now) override {
    take_neighbours(now);
  }
  void take_neighbours(const Instant& now) {
    Tamper store(service());
    std::vector<std::string> keys = store.keys();
    std::sort(keys.begin(), keys.end());
    for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
      const Deadline deadline = store.deadline(keys[i]);
      if (deadline && *deadline <= now.steady) store.erase(keys[i + 1]);
    }
  }
};

// X14: expiry tells nobody.
class ExpiryIsNotNotified final : public Decorator {
 public:
  using Decorator::Decorator;

  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override {
    std::vector<Delivery> unsent;
    Decorator::expire(now, unsent);
    return Decorator::handle(caller, request, now, out);
  }

 private:
  void expired(std::vector<Delivery>& out) override { out.clear(); }
};

// X16: observers are notified of the expiry with the next sweep, unless a SET was faster.
class SetHidesTheExpiry final : public Decorator {
 public:
  using Decorator::Decorator;

  [[nodiscard]] Deadline next_expiry() const override {
    const Deadline next = Decorator::next_expiry();
    return not_notified_.empty() ? next : std::min(next.value_or(sweep_), sweep_);
  }
  void expire(const Instant& now, std::vector<Delivery>& out) override {
    std::vector<Delivery> expired;
    Decorator::expire(now, expired);
    if (not_notified_.empty()) sweep_ = now.steady + milliseconds{200};
    std::move(expired.begin(), expired.end(), std::back_inserter(not_notified_));
    if (now.steady < sweep_) return;
    std::move(not_notified_.begin(), not_notified_.end(), std::back_inserter(out));
    not_notified_.clear();
  }
  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override {
    expire(now, out);
    const auto command = codec::parse_command(request.payload, dialect());
    if (command && command->verb == codec::Verb::kSet) {
      std::erase_if(not_notified_, [&](const Delivery& each) {
        const auto target = codec::parse_notification_topic(each.message.topic);
        return target && target->key == command->key;
      });
    }
    return Decorator::handle(caller, request, now, out);
  }

 private:
  std::vector<Delivery> not_notified_;
  microseconds sweep_{0};
};

}  // namespace

// A table. NOLINTNEXTLINE(readability-function-size)
std::vector<Fault> expiry_faults() {
  const auto deadline = [](decltype(&deadline_of_set) rule) {
    return with_rules([rule](Rules& rules) { rules.deadline_of_set = rule; });
  };
  return {
      {.id = "X01",
       .name = "px-in-seconds",
       .text = "PX counts seconds",
       .requirements = {"SET-PX-1"},
       .make = deadline(px_in_seconds)},
      {.id = "X02",
       .name = "px-ignored",
       .text = "PX has no effect: the key stays",
       .requirements = {"SET-PX-1"},
       .make = deadline(px_ignored)},
      {.id = "X03",
       .name = "px-rounded-down",
       .text = "PX is rounded down to whole seconds",
       .requirements = {"SET-PX-2"},
       .make = deadline(px_rounded_down)},
      {.id = "X04",
       .name = "px-wraps-at-32-bits",
       .text = "PX is kept in 32 bits, so a key with a long expiry is soon gone",
       .requirements = {"SET-PX-2"},
       .make = deadline(px_wraps)},
      {.id = "X05",
       .name = "bad-px-is-zero",
       .text = "PX that is not a number counts as 0",
       .requirements = {"ERR-SYNTAX-1", "SET-PX-1"},
       .make = with_request(bad_px_is_zero)},
      {.id = "X06",
       .name = "expired-until-swept",
       .text = "an expired key can be read until it is removed, 0.9 s later",
       .requirements = {"SET-PX-1", "SET-PX-4"},
       .make = with_rules([](Rules& rules) { rules.removal_time = swept_late; })},
      {.id = "X07",
       .name = "expired-keys-are-counted",
       .text = "DEL and VDEL of an expired key answer :1",
       .requirements = {"SET-PX-4", "DEL-MISS-1", "VDEL-MISS-1"},
       .make = with_decorator<CountsExpiredKeys>()},
      {.id = "X08",
       .name = "old-timer-kills-the-new-value",
       .text = "the expiry of an overwritten value still removes the key",
       .requirements = {"SET-PX-5", "SET-PX-2", "SET-PX-6"},
       .make = with_decorator<OldTimerKillsTheNewValue>()},
      {.id = "X09",
       .name = "inherits-the-old-expiry",
       .text = "a key that was deleted and set again expires when the deleted one would have",
       .requirements = {"SET-PX-6"},
       .make = with_decorator<InheritsTheOldExpiry>()},
      {.id = "X10",
       .name = "get-extends-the-expiry",
       .text = "GET restarts the expiry of the key",
       .requirements = {"SET-PX-7"},
       .make = with_state<GetExtendsTheExpiry>()},
      {.id = "X11",
       .name = "expiry-from-the-requests-clock",
       .text = "the expiry starts at the __ts of the SET, not at the store's clock",
       .requirements = {"SET-PX-7"},
       .make = deadline(px_from_the_requests_clock)},
      {.id = "X13",
       .name = "expiry-removes-the-next-key",
       .text = "the expiry of a key also removes the next key",
       .requirements = {"SET-PX-3", "SET-PX-1"},
       .make = with_decorator<ExpiryRemovesTheNextKey>()},
      {.id = "X15",
       .name = "first-expiry-counts",
       .text = "a SET with PX cannot extend the expiry of the key",
       .requirements = {"SET-PX-5", "SET-NEX-5"},
       .make = deadline(px_of_the_first_set)},
      {.id = "X12",
       .name = "token-outlives-the-key",
       .text = "a key that expired and is set again still requires its token",
       .kind = FaultKind::kBenign,
       .make = with_decorator<TokenOutlivesTheKey>()},
      {.id = "X14",
       .name = "expiry-is-not-notified",
       .text = "observers are not notified of an expiry",
       .requirements = {"NTF-EXPIRY-1"},
       .make = with_decorator<ExpiryIsNotNotified>()},
      {.id = "X16",
       .name = "set-hides-the-expiry",
       .text = "an expiry is not notified if a SET of the key follows within 200 ms",
       .requirements = {"NTF-EXPIRY-1"},
       .make = with_decorator<SetHidesTheExpiry>()},
  };
}

}  // namespace fencepost::store
