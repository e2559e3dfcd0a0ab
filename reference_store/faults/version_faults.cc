// Faults of versions, and of the hybrid logical clock behind them.

#include <algorithm>
#include <map>

#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using codec::ErrorCode;
using codec::Verb;
using hlc::Timestamp;
using Version = Result<Timestamp, hlc::ClockErrorCode>;
using Checked = Result<Timestamp, ErrorCode>;

constexpr std::uint64_t kMinute = 60'000;

// ---- rules with another function in their place

Version equal_to_the_request(hlc::Clock& clock, const Timestamp& request, const Instant& now) {
  (void)clock.update(request, now.wall_ms);
  return request;
}

Version no_counter(hlc::Clock& clock, const Timestamp& /*request*/, const Instant& now) {
  return Timestamp{now.wall_ms, 0, clock.last().node};
}

Version counter_of_16_bits(hlc::Clock& clock, const Timestamp& request, const Instant& now) {
  constexpr std::uint64_t kSixteenBits = 0xffff;
  Version version = version_of_set(clock, request, now);
  if (version) version->counter &= kSixteenBits;
  return version;
}

Version counter_of_32_bits(hlc::Clock& clock, const Timestamp& request, const Instant& now) {
  constexpr std::uint64_t kThirtyTwoBits = 0xffff'ffff;
  Version version = version_of_set(clock, request, now);
  if (version) version->counter &= kThirtyTwoBits;
  return version;
}

// H10: the version follows the request, however old it is.
Version taken_from_an_old_request(hlc::Clock& clock, const Timestamp& request,
                                  const Instant& /*now*/) {
  return Timestamp{request.wall_ms, request.counter + 1, clock.last().node};
}

// H11: the store forgets what it gave out: only the request and the wall clock count.
Version forgets_what_it_gave_out(hlc::Clock& clock, const Timestamp& request, const Instant& now) {
  hlc::Clock fresh(clock.last().node, {.max_drift_ms = hlc::kMaxWallMs});
  return fresh.update(request, now.wall_ms);
}

Version with_the_clients_node(hlc::Clock& clock, const Timestamp& request, const Instant& now) {
  Version version = version_of_set(clock, request, now);
  if (version) version->node = request.node;
  return version;
}

// H21: a request that is ahead is taken as it is.
Version copied_when_ahead(hlc::Clock& clock, const Timestamp& request, const Instant& now) {
  Version version = version_of_set(clock, request, now);
  if (version && version->wall_ms == request.wall_ms && request.wall_ms > now.wall_ms) {
    return Timestamp{request.wall_ms, request.counter, version->node};
  }
  return version;
}

Version in_seconds(hlc::Clock& clock, const Timestamp& request, const Instant& now) {
  Version version = version_of_set(clock, request, now);
  if (version) version->wall_ms /= 1000;
  return version;
}

Checked limit_of_half_a_minute(const std::string* text, std::uint64_t wall_ms) {
  Checked timestamp = check_timestamp(text, wall_ms);
  if (timestamp && hlc::too_far_ahead(*timestamp, wall_ms, kMinute / 2)) {
    return fail(ErrorCode::kTimestampTooFarAhead);
  }
  return timestamp;
}

Checked limit_of_two_minutes(const std::string* text, std::uint64_t wall_ms) {
  Checked timestamp = check_timestamp(text, wall_ms);
  if (!timestamp && timestamp.error() == ErrorCode::kTimestampTooFarAhead) {
    Timestamp parsed = *hlc::parse(*text);
    if (!hlc::too_far_ahead(parsed, wall_ms, 2 * kMinute)) return parsed;
  }
  return timestamp;
}

Checked no_limit(const std::string* text, std::uint64_t wall_ms) {
  Checked timestamp = check_timestamp(text, wall_ms);
  if (!timestamp && timestamp.error() == ErrorCode::kTimestampTooFarAhead) {
    return *hlc::parse(*text);
  }
  return timestamp;
}

Checked past_refused(const std::string* text, std::uint64_t wall_ms) {
  Checked timestamp = check_timestamp(text, wall_ms);
  if (timestamp && timestamp->wall_ms + kMinute < wall_ms) {
    return fail(ErrorCode::kTimestampTooFarAhead);
  }
  return timestamp;
}

Checked missing_accepted(const std::string* text, std::uint64_t wall_ms) {
  if (text == nullptr) return Timestamp{wall_ms, 0, "nobody"};
  return check_timestamp(text, wall_ms);
}

Checked malformed_accepted(const std::string* text, std::uint64_t wall_ms) {
  Checked timestamp = check_timestamp(text, wall_ms);
  if (!timestamp && timestamp.error() == ErrorCode::kMalformedTimestamp) {
    return Timestamp{wall_ms, 0, "nobody"};
  }
  return timestamp;
}

Checked padding_refused(const std::string* text, std::uint64_t wall_ms) {
  if (text != nullptr && text->size() > 1 && text->starts_with('0') && (*text)[1] != ':') {
    return fail(ErrorCode::kMalformedTimestamp);
  }
  return check_timestamp(text, wall_ms);
}

// ---- between the store and the network

void drop_version(Exchange& exchange) {
  if (codec::Message* response = exchange.response()) {
    remove_property(*response, codec::kTimestampProperty);
  }
}

bool is_answer_to(const Exchange& exchange, Verb verb) {
  return exchange.command && exchange.command->verb == verb && exchange.response() != nullptr;
}

void get_without_version(Exchange& exchange) {
  if (is_answer_to(exchange, Verb::kGet)) drop_version(exchange);
}

void del_without_version(Exchange& exchange) {
  if (is_answer_to(exchange, Verb::kDel) || is_answer_to(exchange, Verb::kVdel)) {
    drop_version(exchange);
  }
}

// H09: GET answers with the time of day.
void get_returns_now(Exchange& exchange) {
  if (!is_answer_to(exchange, Verb::kGet)) return;
  codec::Message& response = *exchange.response();
  if (response.property(codec::kTimestampProperty) == nullptr) return;
  const Timestamp now{exchange.now.wall_ms, 0, exchange.store.clock().last().node};
  set_property(response, codec::kTimestampProperty, hlc::format(now));
}

// H12: what is refused for being too far ahead has moved the clock.
void refused_timestamp_moves_the_clock(Exchange& exchange) {
  const std::string* text = exchange.request.property(codec::kTimestampProperty);
  if (!is_answer_to(exchange, Verb::kSet) || text == nullptr) return;
  const auto timestamp = check_timestamp(text, exchange.now.wall_ms);
  if (timestamp || timestamp.error() != ErrorCode::kTimestampTooFarAhead) return;
  (void)exchange.store.clock().update(*hlc::parse(*text), exchange.now.wall_ms);
}

// H17: a key that was deleted and set again begins again, below the version that it had.
class VersionRestartsAfterDel final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& now) override {
    fresh_ = false;
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || command->verb != Verb::kSet) return;
    if (!check_timestamp(request.property(codec::kTimestampProperty), now.wall_ms)) return;
    fresh_ = deleted_.contains(std::string(command->key));
  }
  void after(Exchange& exchange) override {
    if (!exchange.command || exchange.response() == nullptr) return;
    const std::string key(exchange.command->key);
    const bool removed = exchange.response()->payload == ":1\r\n";
    if (removed) deleted_.insert_or_assign(key, true);
    const std::string* sent = exchange.request.property(codec::kTimestampProperty);
    if (!fresh_ || sent == nullptr || exchange.response()->payload != "+OK\r\n") return;
    const auto request = hlc::parse(*sent);
    Timestamp* version = exchange.store.version(key);
    if (!request || version == nullptr) return;
    *version = Timestamp{request->wall_ms, request->counter + 1, version->node};
    set_property(*exchange.response(), codec::kTimestampProperty, hlc::format(*version));
  }

  bool fresh_ = false;
  std::map<std::string, bool> deleted_;
};

// H18: a SET that is not applied answers with a new version.
void failed_set_returns_a_new_version(Exchange& exchange) {
  if (!is_answer_to(exchange, Verb::kSet)) return;
  if (!exchange.replies(codec::ReplyKind::kNotApplied)) return;
  const auto version = exchange.store.clock().now(exchange.now.wall_ms);
  if (version) {
    set_property(*exchange.response(), codec::kTimestampProperty, hlc::format(*version));
  }
}

// H07: the store's node id is another in every version.
void missing_key_has_a_version(Exchange& exchange) {
  if (!is_answer_to(exchange, Verb::kGet)) return;
  codec::Message& response = *exchange.response();
  if (response.payload != "$-1\r\n") return;
  set_property(response, codec::kTimestampProperty,
               hlc::format({exchange.now.wall_ms, 0, "StateStore"}));
}

// H30
class GetReturnsThePreviousVersion {
 public:
  void operator()(Exchange& exchange) {
    if (!exchange.command || exchange.response() == nullptr) return;
    const std::string key(exchange.command->key);
    if (exchange.command->verb == Verb::kSet && exchange.replies(codec::ReplyKind::kOk)) {
      Versions& versions = versions_[key];
      versions.before = versions.now;
      if (const Timestamp* version = exchange.store.version(key)) versions.now = *version;
      versions.set_at = exchange.now.wall_ms;
    }
    const auto found = versions_.find(key);
    const bool soon = exchange.command->verb == Verb::kGet && found != versions_.end() &&
                      found->second.before && found->second.set_at == exchange.now.wall_ms &&
                      exchange.store.version(key) != nullptr;
    if (!soon) return;
    set_property(*exchange.response(), codec::kTimestampProperty,
                 hlc::format(*found->second.before));
  }

 private:
  struct Versions {
    std::optional<Timestamp> before{};
    std::optional<Timestamp> now{};
    std::uint64_t set_at = 0;  // ms
  };
  std::map<std::string, Versions> versions_;
};

void version_with_a_blank(Exchange& exchange) {
  codec::Message* response = exchange.response();
  const std::string* text =
      response == nullptr ? nullptr : response->property(codec::kTimestampProperty);
  if (text != nullptr) set_property(*response, codec::kTimestampProperty, " " + *text);
}

MakeHandler with_version(decltype(&version_of_set) rule) {
  return with_rules([rule](Rules& rules) { rules.version_of_set = rule; });
}
MakeHandler with_check(decltype(&check_timestamp) rule) {
  return with_rules([rule](Rules& rules) { rules.check_timestamp = rule; });
}

}  // namespace

// A table. NOLINTNEXTLINE(readability-function-size)
std::vector<Fault> version_faults() {
  return {
      {.id = "H01",
       .name = "no-version",
       .text = "no response carries __ts",
       .requirements = {"VER-SET-1", "VER-GET-1"},
       .make = with_exchange(drop_version)},
      {.id = "H02",
       .name = "version-equal-to-the-request",
       .text = "the version of a SET is the __ts of the request",
       .requirements = {"VER-SET-2"},
       .make = with_version(equal_to_the_request)},
      {.id = "H03",
       .name = "no-counter",
       .text = "versions are the time of day, so two in the same millisecond are equal",
       .requirements = {"VER-UPDATE-3", "VER-SET-2"},
       .make = with_version(no_counter)},
      {.id = "H06",
       .name = "padding-refused",
       .text = "a __ts with leading zeros is refused as malformed",
       .requirements = {"HLC-PARSE-2"},
       .make = with_check(padding_refused)},
      {.id = "H08",
       .name = "counter-of-16-bits",
       .text = "counters are stored in 16 bits",
       .requirements = {"VER-SET-2", "VER-UPDATE-3"},
       .make = with_version(counter_of_16_bits)},
      {.id = "H22",
       .name = "counter-of-32-bits",
       .text = "counters are stored in 32 bits",
       .requirements = {"VER-SET-2", "VER-UPDATE-3"},
       .make = with_version(counter_of_32_bits)},
      {.id = "H09",
       .name = "get-returns-now",
       .text = "GET returns the time of day, not the version",
       .requirements = {"VER-GET-2"},
       .make = with_exchange(get_returns_now)},
      {.id = "H10",
       .name = "version-from-an-old-request",
       .text = "the version follows the __ts of the request, at any distance behind",
       .requirements = {"HLC-SKEW-4", "VER-UPDATE-3"},
       .make = with_version(taken_from_an_old_request)},
      {.id = "H11",
       .name = "version-goes-back",
       .text = "a SET after one with a __ts ahead gets a lower version",
       .requirements = {"VER-UPDATE-3", "VER-UPDATE-1"},
       .make = with_version(forgets_what_it_gave_out)},
      {.id = "H12",
       .name = "refused-timestamp-moves-the-clock",
       .text = "a __ts that is refused as too far ahead moves the store's clock",
       .requirements = {"HLC-SKEW-6", "VER-DRIFT-1"},
       .make = with_exchange(refused_timestamp_moves_the_clock)},
      {.id = "H13",
       .name = "limit-of-half-a-minute",
       .text = "a __ts more than half a minute ahead is refused",
       .requirements = {"HLC-SKEW-1", "HLC-SKEW-5"},
       .make = with_check(limit_of_half_a_minute)},
      {.id = "H23",
       .name = "limit-of-two-minutes",
       .text = "a __ts up to two minutes ahead is accepted",
       .requirements = {"HLC-SKEW-1"},
       .make = with_check(limit_of_two_minutes)},
      {.id = "H24",
       .name = "no-limit-ahead",
       .text = "a __ts at any distance ahead is accepted",
       .requirements = {"HLC-SKEW-1"},
       .make = with_check(no_limit)},
      {.id = "H14",
       .name = "past-refused",
       .text = "a __ts more than a minute behind is refused",
       .requirements = {"HLC-SKEW-3"},
       .make = with_check(past_refused)},
      {.id = "H15",
       .name = "missing-timestamp-accepted",
       .text = "SET does not need a __ts",
       .requirements = {"HLC-REQUIRED-1"},
       .make = with_check(missing_accepted)},
      {.id = "H16",
       .name = "malformed-timestamp-accepted",
       .text = "a malformed __ts is taken as the time of day",
       .requirements = {"HLC-PARSE-1"},
       .make = with_check(malformed_accepted)},
      {.id = "H30",
       .name = "get-returns-the-previous-version",
       .text = "a GET in the same millisecond as a SET returns the previous version",
       .requirements = {"VER-GET-2"},
       .needs = FaultNeeds::kOverlap,
       .make = with_state<GetReturnsThePreviousVersion>()},
      {.id = "H17",
       .name = "version-restarts-after-del",
       .text = "a key that was deleted and set again gets a version from the request only",
       .requirements = {"HLC-SKEW-4", "LOCK-TOKEN-4"},
       .make = with_decorator<VersionRestartsAfterDel>()},
      {.id = "H18",
       .name = "failed-set-returns-a-new-version",
       .text = "a SET that is not applied returns a new version",
       .requirements = {"SET-NOT-APPLIED-3"},
       .make = with_exchange(failed_set_returns_a_new_version)},
      {.id = "H20",
       .name = "version-with-the-clients-node",
       .text = "versions have the node id of the request",
       .requirements = {"VER-NODE-1"},
       .make = with_version(with_the_clients_node)},
      {.id = "H21",
       .name = "timestamp-ahead-is-copied",
       .text = "a __ts ahead of the store's clock becomes the version unchanged",
       .requirements = {"VER-SET-2"},
       .make = with_version(copied_when_ahead)},
      {.id = "H25",
       .name = "version-in-seconds",
       .text = "the wall clock of versions counts seconds",
       .requirements = {"HLC-FORMAT-2", "VER-SET-2"},
       .make = with_version(in_seconds)},
      {.id = "H26",
       .name = "get-without-version",
       .text = "the response to GET carries no __ts",
       .requirements = {"VER-GET-1"},
       .make = with_exchange(get_without_version)},
      {.id = "H27",
       .name = "del-without-version",
       .text = "the responses to DEL and VDEL carry no __ts",
       .requirements = {"VER-DEL-1", "VER-VDEL-1"},
       .make = with_exchange(del_without_version)},
      {.id = "H28",
       .name = "missing-key-has-a-version",
       .text = "GET of a missing key carries a __ts",
       .requirements = {"VER-MISS-1"},
       .make = with_exchange(missing_key_has_a_version)},
      {.id = "H29",
       .name = "version-with-a-blank",
       .text = "versions begin with a space",
       .requirements = {"HLC-FORMAT-1"},
       .make = with_exchange(version_with_a_blank)},
  };
}

}  // namespace fencepost::store
