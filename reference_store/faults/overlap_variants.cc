// Conforming variants that differ mainly with concurrent requests of several clients. A case,
// or a check of histories, that fails one of them raises a false alarm.

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "codec/topics.h"
#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

enum class HeldBack { kEverything, kReplies, kNotifications, kReads, kWrites };

// Holds back what the store says of some requests, each for a time of its own; what it holds back
// for one client keeps its order, unless `overtakes`.
class HoldsBack final : public Decorator {
 public:
  HoldsBack(const ServiceOptions& options, std::uint64_t seed, HeldBack what, milliseconds most,
            bool overtakes)
      : Decorator(options),
        random_(static_cast<std::minstd_rand::result_type>(seed + 1)),
        what_(what),
        most_(most),
        overtakes_(overtakes) {}

  [[nodiscard]] std::optional<microseconds> next_expiry() const override {
    auto next = Decorator::next_expiry();
    if (!held_.empty() && (!next || held_.begin()->first < *next)) next = held_.begin()->first;
    return next;
  }
  void expire(const Instant& now, std::vector<Delivery>& out) override {
    std::vector<Delivery> expired;
    Decorator::expire(now, expired);
    for (Delivery& delivery : expired) hold_back({}, false, now, std::move(delivery), out);
    while (!held_.empty() && held_.begin()->first <= now.steady) {
      out.push_back(std::move(held_.begin()->second));
      held_.erase(held_.begin());
    }
  }

 private:
  void after(Exchange& exchange) override {
    std::vector<Delivery> at_once;
    const bool read = exchange.command && exchange.command->verb == codec::Verb::kGet;
    for (Delivery& delivery : exchange.out) {
      hold_back(exchange.caller.client_id, read, exchange.now, std::move(delivery), at_once);
    }
    exchange.out = std::move(at_once);
  }

  // `caller`: who is replied to, if it is a reply; `read`: to a GET.
  void hold_back(std::string_view caller, bool read, const Instant& now, Delivery delivery,
                 std::vector<Delivery>& at_once) {
    const bool reply = delivery.client_id.empty();
    const bool held = what_ == HeldBack::kEverything || (what_ == HeldBack::kReplies && reply) ||
                      (what_ == HeldBack::kNotifications && !reply) ||
                      (what_ == HeldBack::kReads && reply && read) ||
                      (what_ == HeldBack::kWrites && reply && !read);
    if (!held) {
      at_once.push_back(std::move(delivery));
      return;
    }
    microseconds due =
        now.steady + microseconds(static_cast<std::int64_t>(random_()) % most_.count());
    microseconds& last = last_[reply ? std::string(caller) : delivery.client_id];
    if (!overtakes_) due = std::max(due, last);
    last = std::max(last, due);
    held_.emplace(due, std::move(delivery));
  }

  std::minstd_rand random_;
  HeldBack what_;
  microseconds most_;
  bool overtakes_;
  std::map<std::string, microseconds> last_;
  std::multimap<microseconds, Delivery> held_;
};

MakeHandler that_holds_back(HeldBack what, milliseconds most, bool overtakes = false) {
  return [=](const ServiceOptions& options, std::uint64_t seed) {
    return std::make_unique<HoldsBack>(options, seed, what, most, overtakes);
  };
}

// Requests wait, and are carried out in another order than that in which they came: the requests of
// one client by turns, unless `mixes`.
class CarriesOutInAnotherOrder final : public Decorator {
 public:
  CarriesOutInAnotherOrder(const ServiceOptions& options, std::uint64_t seed, bool mixes)
      : Decorator(options),
        random_(static_cast<std::minstd_rand::result_type>(seed + 1)),
        mixes_(mixes) {}

  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override {
    const bool registers = request.payload.find("KEYNOTIFY") != std::string::npos;
    // What is not a request is handled immediately. (Req: ENV-RESPONSE-TOPIC-3)
    const bool sound = request.response_topic && request.correlation_data && request.qos == 1 &&
                       !codec::response_topic_fault(*request.response_topic);
    if (registers || !sound) return Decorator::handle(caller, request, now, out);
    const std::string client(caller.client_id);
    microseconds due = now.steady + microseconds(random_() % 2'000);
    if (!mixes_) due = std::max(due, last_[client]);
    last_[client] = due;
    waiting_.emplace(due, Waiting{client, std::string(caller.user_name), request});
    return Handling::kAnswered;
  }
  [[nodiscard]] std::optional<microseconds> next_expiry() const override {
    auto next = Decorator::next_expiry();
    const bool sooner = !waiting_.empty() && (!next || waiting_.begin()->first < *next);
    return sooner ? waiting_.begin()->first : next;
  }
  void expire(const Instant& now, std::vector<Delivery>& out) override {
    Decorator::expire(now, out);
    while (!waiting_.empty() && waiting_.begin()->first <= now.steady) {
      const Waiting next = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      const Caller caller{.client_id = next.client, .user_name = next.user};
      static_cast<void>(Decorator::handle(caller, next.request, now, out));
    }
  }

 private:
  struct Waiting {
    std::string client;
    std::string user;
    codec::Message request;
  };
  std::minstd_rand random_;
  bool mixes_;
  std::map<std::string, microseconds> last_;
  std::multimap<microseconds, Waiting> waiting_;
};

MakeHandler in_another_order(bool mixes) {
  return [=](const ServiceOptions& options, std::uint64_t seed) {
    return std::make_unique<CarriesOutInAnotherOrder>(options, seed, mixes);
  };
}

// A GET answers of a moment ago, though not of before it came: it is looked at when it arrives, and
// answered later. So is all else.
std::chrono::microseconds removed_with_the_next_tick(std::chrono::microseconds deadline) {
  constexpr microseconds kTick{5'000};
  return (deadline / kTick + 1) * kTick;
}

Result<hlc::Timestamp, hlc::ClockErrorCode> version_with_gaps(hlc::Clock& clock,
                                                              const hlc::Timestamp& request,
                                                              const Instant& now) {
  for (int i = 0; i < 6; ++i) {
    if (auto gap = clock.now(now.wall_ms); !gap) return fail(gap.error());
  }
  return version_of_set(clock, request, now);
}

// The store's clock runs a second ahead, in steps.
Result<hlc::Timestamp, hlc::ClockErrorCode> version_of_a_clock_in_steps(
    hlc::Clock& clock, const hlc::Timestamp& request, const Instant& now) {
  Instant later = now;
  later.wall_ms = now.wall_ms / 1'000 * 1'000 + 1'000;
  return version_of_set(clock, request, later);
}

// Refused requests say which version the key has.
void refusals_name_the_version(Exchange& exchange) {
  const bool refused = exchange.command && exchange.replies(codec::ReplyKind::kNotApplied);
  if (!refused) return;
  const hlc::Timestamp* version = exchange.store.version(exchange.command->key);
  if (version == nullptr) return;
  set_property(*exchange.response(), codec::kTimestampProperty, hlc::format(*version));
}

// What comes again has the DUP flag.
void replies_come_twice(Exchange& exchange) {
  if (exchange.response() == nullptr) return;
  Delivery again = exchange.out.back();
  again.message.duplicate = true;
  exchange.out.push_back(std::move(again));
}
void notifications_come_twice(Exchange& exchange) {
  std::vector<Delivery> again;
  for (const Delivery& delivery : exchange.out) {
    if (!delivery.client_id.empty()) again.push_back(delivery);
  }
  for (Delivery& delivery : again) {
    delivery.message.duplicate = true;
    exchange.out.insert(exchange.out.end() - 1, std::move(delivery));
  }
}

Fault unusual(std::string_view id, std::string_view name, std::string_view text, MakeHandler make) {
  return {.id = id,
          .name = name,
          .text = text,
          .kind = FaultKind::kBenign,
          .meets = true,
          .make = std::move(make)};
}

// Right by the article alone. (Req: NTF-ORDER-1)
Fault unusual_by_article(std::string_view id, std::string_view name, std::string_view text,
                         MakeHandler make) {
  Fault out = unusual(id, name, text, std::move(make));
  out.right_by = RightBy::kArticle;
  return out;
}

// Over a broker it would be two messages: only a broker itself can say that one comes again.
Fault unusual_broker(std::string_view id, std::string_view name, std::string_view text,
                     MakeHandler make) {
  Fault out = unusual(id, name, text, std::move(make));
  out.needs = FaultNeeds::kDirect;
  return out;
}

}  // namespace

std::vector<Fault> overlap_variants() {
  using enum HeldBack;
  return {
      unusual("U01", "all-messages-are-delayed", "all messages are delayed by up to 8 ms, in order",
              that_holds_back(kEverything, milliseconds{8})),
      unusual("U02", "replies-overtake-each-other",
              "replies are delayed by up to 8 ms, in any order",
              that_holds_back(kReplies, milliseconds{8}, true)),
      unusual_by_article("U03", "notifications-are-delayed",
                         "notifications arrive up to 20 ms after the reply to the change",
                         that_holds_back(kNotifications, milliseconds{20})),
      unusual_by_article("U14", "notifications-overtake-each-other",
                         "notifications arrive up to 20 ms after the reply, in any order",
                         that_holds_back(kNotifications, milliseconds{20}, true)),
      unusual("U04", "reads-are-slow",
              "replies to GET are delayed by up to 8 ms, other replies are not",
              that_holds_back(kReads, milliseconds{8}, true)),
      unusual("U05", "writes-are-slow", "all replies except those to GET are delayed by up to 8 ms",
              that_holds_back(kWrites, milliseconds{8}, true)),
      unusual("U06", "another-order-than-arrival",
              "requests of different clients are carried out in a different order than they arrive",
              in_another_order(false)),
      unusual("U07", "another-order-of-one-client",
              "concurrent requests of one client are also carried out in a different order",
              in_another_order(true)),
      unusual("U08", "expires-with-the-next-tick", "expired keys are removed every 5 ms",
              with_rules([](Rules& rules) { rules.removal_time = removed_with_the_next_tick; })),
      unusual("U09", "versions-with-gaps", "versions skip numbers",
              with_rules([](Rules& rules) { rules.version_of_set = version_with_gaps; })),
      unusual("U10", "clock-in-steps", "the clock of versions runs ahead, in steps of a second",
              with_rules([](Rules& rules) { rules.version_of_set = version_of_a_clock_in_steps; })),
      unusual("U11", "refusals-name-the-version",
              "the response to a refused request carries the version",
              with_exchange(refusals_name_the_version)),
      unusual_broker("U12", "replies-come-twice", "replies are delivered again with the DUP flag",
                     with_exchange(replies_come_twice)),
      unusual_broker("U13", "all-notifications-come-twice",
                     "notifications are delivered again with the DUP flag",
                     with_exchange(notifications_come_twice)),
  };
}

}  // namespace fencepost::store
