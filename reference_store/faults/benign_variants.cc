// Stores that are right in an unusual way: a suite that fails one of them raises a false alarm.

#include <algorithm>
#include <map>
#include <random>

#include "codec/dialect.h"
#include "codec/notification.h"
#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Rewrites the version of every message.
template <typename Change>
class VersionPrinter final : public Decorator {
 public:
  VersionPrinter(const ServiceOptions& options, Change change)
      : Decorator(options), change_(std::move(change)) {}

 private:
  void after(Exchange& exchange) override { expired(exchange.out); }
  void expired(std::vector<Delivery>& out) override {
    for (Delivery& delivery : out) {
      const std::string* text = delivery.message.property(codec::kTimestampProperty);
      if (text == nullptr) continue;
      const auto version = hlc::parse(*text);
      if (version) set_property(delivery.message, codec::kTimestampProperty, change_(*version));
    }
  }

  Change change_;
};

template <typename Change>
MakeHandler with_versions(Change change) {
  return [change](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<VersionPrinter<Change>>(options, change);
  };
}

MakeHandler with_padding(hlc::Padding padding) {
  return with_versions(
      [padding](const hlc::Timestamp& version) { return hlc::format(version, padding); });
}

// B02: as of a cluster, in which now one node answers and now another. A version keeps its node.
std::string version_of_some_node(hlc::Timestamp version) {
  constexpr std::uint64_t kNodes = 97;
  version.node = "node" + std::to_string((version.wall_ms * 31 + version.counter * 7) % kNodes);
  return hlc::format(version, hlc::Padding::kNone);
}

// B14, B15: this one form is that of the other dialect, always.
class OneFormOfTheOther final : public Decorator {
 public:
  OneFormOfTheOther(const ServiceOptions& options, codec::Divergence form)
      : Decorator(options),
        form_(form),
        other_(codec::dialect(options.dialect == codec::DialectId::kDeployed
                                  ? codec::DialectId::kDocumented
                                  : codec::DialectId::kDeployed)) {}

 private:
  void after(Exchange& exchange) override {
    const bool set = exchange.command && exchange.command->verb == codec::Verb::kSet;
    codec::Message* response = exchange.response();
    if (form_ == codec::Divergence::kSetNotApplied && set && response != nullptr &&
        response->payload == dialect().set_not_applied) {
      response->payload = other_.set_not_applied;
    }
    expired(exchange.out);
  }
  void expired(std::vector<Delivery>& out) override {
    if (form_ != codec::Divergence::kDeleteOperation) return;
    for (Delivery& delivery : out) {
      const auto notification = codec::decode_notification(delivery.message.payload);
      if (!notification || notification->operation != codec::Operation::kDelete) continue;
      delivery.message.payload.clear();
      codec::append_notification(delivery.message.payload,
                                 {.operation = codec::Operation::kDelete, .value = {}}, other_);
    }
  }

  codec::Divergence form_;
  const codec::Dialect& other_;
};

MakeHandler with_other_form(codec::Divergence form) {
  return [form](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<OneFormOfTheOther>(options, form);
  };
}

// Sends what the store says after a while: the messages to each client in order.
class Slow final : public Decorator {
 public:
  struct Delay {
    microseconds least;
    microseconds most;
    bool in_order = true;  // of all clients; else of each client alone
  };
  Slow(const ServiceOptions& options, std::uint64_t seed, Delay delay)
      : Decorator(options), random_(seed), delay_(delay) {}

  [[nodiscard]] std::optional<microseconds> next_expiry() const override {
    const auto next = Decorator::next_expiry();
    if (queue_.empty()) return next;
    const microseconds first = queue_.begin()->first;
    return next ? std::min(*next, first) : first;
  }
  void expire(const Instant& now, std::vector<Delivery>& out) override {
    std::vector<Delivery> sent;
    Decorator::expire(now, sent);
    hold(sent, {}, now);
    release(now, out);
  }
  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override {
    release(now, out);
    std::vector<Delivery> sent;
    const Handling handling = Decorator::handle(caller, request, now, sent);
    hold(sent, caller.client_id, now);
    return handling;
  }

 private:
  struct Held {
    std::string to;
    Delivery delivery;
  };

  // What goes to one client stays in order. Responses go to `caller`.
  void hold(std::vector<Delivery>& sent, std::string_view caller, const Instant& now) {
    for (Delivery& delivery : sent) {
      const std::string to(delivery.client_id.empty() ? caller : delivery.client_id);
      const auto spread = static_cast<std::uint64_t>((delay_.most - delay_.least).count()) + 1;
      microseconds time =
          now.steady + delay_.least + microseconds{static_cast<std::int64_t>(random_() % spread)};
      const auto before = std::find_if(queue_.rbegin(), queue_.rend(), [&](const auto& entry) {
        return delay_.in_order || entry.second.to == to;
      });
      if (before != queue_.rend()) time = std::max(time, before->first);
      queue_.emplace(time, Held{to, std::move(delivery)});
    }
  }
  void release(const Instant& now, std::vector<Delivery>& out) {
    const auto end = queue_.upper_bound(now.steady);
    for (auto at = queue_.begin(); at != end; ++at) out.push_back(std::move(at->second.delivery));
    queue_.erase(queue_.begin(), end);
  }

  std::mt19937_64 random_;
  Delay delay_;
  std::multimap<microseconds, Held> queue_;  // by when it goes out; equal times stay in order
};

MakeHandler slow(Slow::Delay delay) {
  return [delay](const ServiceOptions& options, std::uint64_t seed) {
    return std::make_unique<Slow>(options, seed, delay);
  };
}

// A store whose wall clock is not that of its clients.
class OtherClock final : public Decorator {
 public:
  OtherClock(const ServiceOptions& options, milliseconds offset)
      : Decorator(options), offset_(offset) {}

  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override {
    return Decorator::handle(caller, request, shifted(now), out);
  }
  void expire(const Instant& now, std::vector<Delivery>& out) override {
    Decorator::expire(shifted(now), out);
  }

 private:
  [[nodiscard]] Instant shifted(const Instant& now) const {
    return {.wall_ms = now.wall_ms + static_cast<std::uint64_t>(offset_.count()),
            .steady = now.steady};
  }

  milliseconds offset_;
};

MakeHandler with_clock(milliseconds offset) {
  return [offset](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<OtherClock>(options, offset);
  };
}

microseconds removed_a_little_late(microseconds deadline) { return deadline + milliseconds{150}; }

Result<hlc::Timestamp, hlc::ClockErrorCode> counter_that_jumps(hlc::Clock& clock,
                                                               const hlc::Timestamp& request,
                                                               const Instant& now) {
  auto version = version_of_set(clock, request, now);
  const std::uint64_t jumps = now.wall_ms % 4;
  for (std::uint64_t i = 0; version && i < jumps; ++i) {
    auto next = clock.update(*version, now.wall_ms);
    if (!next) break;
    version = std::move(next);
  }
  return version;
}

// B08: DEL and VDEL answer with the time of the deletion.
void del_has_a_fresh_version(Exchange& exchange) {
  const bool removal = exchange.command && (exchange.command->verb == codec::Verb::kDel ||
                                            exchange.command->verb == codec::Verb::kVdel);
  if (!removal || exchange.response() == nullptr || exchange.response()->payload != ":1\r\n")
    return;
  const auto version = exchange.store.clock().now(exchange.now.wall_ms);
  if (!version) return;
  set_property(*exchange.response(), codec::kTimestampProperty, hlc::format(*version));
}

void more_properties(Exchange& exchange) {
  for (Delivery& delivery : exchange.out) {
    delivery.message.user_properties.emplace_back("__srcId", "StateStore");
    delivery.message.user_properties.emplace_back("__protVer", "1.0");
    delivery.message.user_properties.emplace_back("traceparent", "00-1-2-01");
  }
}

void no_content_type(Exchange& exchange) {
  for (Delivery& delivery : exchange.out) {
    delivery.message.content_type.reset();
    delivery.message.payload_format.reset();
  }
}

// B12: a request that changes nothing moves the clock too, to its timestamp where a SET could have
// it.
void every_request_moves_the_clock(Exchange& exchange) {
  const auto sent =
      check_timestamp(exchange.request.property(codec::kTimestampProperty), exchange.now.wall_ms);
  const bool refused =
      exchange.response() == nullptr || exchange.response()->payload.starts_with('-');
  if (sent && !refused) {
    (void)exchange.store.clock().update(*sent, exchange.now.wall_ms);
  } else {
    (void)exchange.store.clock().now(exchange.now.wall_ms);
  }
}

// B10: an option that is unknown gets words of its own.
void unknown_option_has_its_own_words(Exchange& exchange) {
  const std::vector<std::string> arguments = arguments_of(exchange.request);
  constexpr std::size_t kOption = 3;
  if (arguments.size() != kOption + 1 || arguments[0] != "SET") return;
  const std::string& option = arguments[kOption];
  const bool known = option == "NX" || option == "NEX" || option == "PX";
  const bool spelled = option == "nx" || option == "nex" || option == "px";
  if (known || spelled || exchange.response() == nullptr || option.empty()) return;
  if (exchange.replies(codec::ErrorCode::kSyntax)) {
    exchange.response()->payload = "-ERR unknown option\r\n";
  }
}

// B13: a notification comes twice, as QoS 1 allows; the second copy says so.
void notification_comes_twice(Exchange& exchange) {
  std::vector<Delivery> all;
  for (const Delivery& delivery : exchange.out) {
    all.push_back(delivery);
    if (delivery.client_id.empty()) continue;
    all.push_back(delivery);
    all.back().message.duplicate = true;
  }
  exchange.out = std::move(all);
}

Fault benign(std::string_view id, std::string_view name, std::string_view text, MakeHandler make) {
  return {
      .id = id, .name = name, .text = text, .kind = FaultKind::kBenign, .make = std::move(make)};
}

}  // namespace

std::vector<Fault> benign_variants() {
  return {
      benign("B01", "versions-without-padding", "versions are printed without leading zeros",
             with_padding(hlc::Padding::kNone)),
      benign("B17", "versions-with-padding", "versions are printed with leading zeros",
             with_padding(hlc::Padding::kCanonical)),
      benign("B02", "versions-of-many-nodes", "versions have one of many node ids",
             with_versions(&version_of_some_node)),
      benign("B03", "jitter", "responses take 5 to 50 ms",
             slow({.least = milliseconds{5}, .most = milliseconds{50}})),
      benign("B04", "responses-overtake-each-other",
             "responses to different clients arrive in a different order than their requests",
             slow({.least = milliseconds{1}, .most = milliseconds{40}, .in_order = false})),
      benign("B05", "clock-ahead", "the store's clock is 55 s ahead",
             with_clock(std::chrono::seconds{55})),
      benign("B06", "clock-behind", "the store's clock is 10 minutes behind",
             with_clock(std::chrono::minutes{-10})),
      benign("B07", "expiry-a-little-late", "expired keys are removed 150 ms late",
             with_rules([](Rules& rules) { rules.removal_time = removed_a_little_late; })),
      benign("B08", "del-has-a-fresh-version",
             "DEL and VDEL return the time of the deletion as version",
             with_exchange(del_has_a_fresh_version)),
      benign("B09", "more-properties", "messages carry additional user properties",
             with_exchange(more_properties)),
      benign("B18", "no-content-type", "messages carry no content type and no payload format",
             with_exchange(no_content_type)),
      benign("B10", "unlisted-error-for-an-unknown-option",
             "an unknown option of SET gets an unlisted error",
             with_exchange(unknown_option_has_its_own_words)),
      benign("B11", "counter-jumps", "the counter of versions skips numbers",
             with_rules([](Rules& rules) { rules.version_of_set = counter_that_jumps; })),
      benign("B12", "every-request-moves-the-clock",
             "every request moves the store's clock to its timestamp, if that is legal",
             with_exchange(every_request_moves_the_clock)),
      // Only a broker itself can say of a message that it comes again.
      {.id = "B13",
       .name = "notifications-come-twice",
       .text = "a notification is delivered again with the DUP flag",
       .needs = FaultNeeds::kDirect,
       .kind = FaultKind::kBenign,
       .make = with_exchange(notification_comes_twice)},
      benign("B14", "deletion-in-the-other-form",
             "deletions are notified in the form of the other dialect, all else in the store's own",
             with_other_form(codec::Divergence::kDeleteOperation)),
      benign("B15", "not-applied-in-the-other-form",
             "the response to a SET that is not applied has the form of the other dialect",
             with_other_form(codec::Divergence::kSetNotApplied)),
      benign("B16", "slow", "responses take 200 ms",
             slow({.least = milliseconds{200}, .most = milliseconds{200}})),
  };
}

}  // namespace fencepost::store
