#include "suite/judge/candidate_rules.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "codec/command.h"
#include "codec/message.h"
#include "hlc/hlc.h"
#include "suite/judge/reply_rule.h"

namespace fencepost::judge {
namespace {

using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;

using Rules = std::set<std::string>;

bool is_of_token(std::optional<ErrorCode> error) {
  return error == ErrorCode::kTokenLower || error == ErrorCode::kTokenRequired;
}

// What a reply says of the key: that it was there, or was not.
enum class Presence { kUnknown, kThere, kMissing };

Presence presence_by(const codec::Command& command, const ReplyFacts& reply) {
  if (!reply.kind) return Presence::kUnknown;
  switch (*reply.kind) {
    case ReplyKind::kValue:
    // Neither a condition nor a value fails on a key that is not there. Req: SET-NX-1, SET-NEX-1,
    // VDEL-MISS-1
    case ReplyKind::kNotApplied:
      return Presence::kThere;
    case ReplyKind::kMissing:
      return Presence::kMissing;
    case ReplyKind::kCount:
      // The `:0` of a STOP is about the registration. Req: NTF-STOP-3
      if (command.verb == Verb::kKeynotify) return Presence::kUnknown;
      return reply.removed ? Presence::kThere : Presence::kMissing;
    case ReplyKind::kOk: {
      const bool absent =
          command.verb == Verb::kSet && command.condition == codec::Condition::kIfAbsent;
      return absent ? Presence::kMissing : Presence::kUnknown;
    }
    case ReplyKind::kError:
      // Only a key that is there requires its token. Other errors do not say.
      return is_of_token(reply.error) ? Presence::kThere : Presence::kUnknown;
  }
  return Presence::kUnknown;
}

ReplyFacts seen_reply(const ReceivedReply& reply) {
  if (!reply.decoded) return {};
  const codec::DecodedReply& decoded = *reply.decoded;
  return {.kind = decoded.kind,
          .error = reply.error(),
          .empty_value = decoded.kind == ReplyKind::kValue && decoded.value.empty(),
          .removed = decoded.kind == ReplyKind::kCount && decoded.count > 0};
}

std::optional<hlc::Timestamp> timestamp_of(const Exchange& exchange, std::string_view property) {
  const std::string* text = exchange.request.property(property);
  auto token = hlc::parse(text == nullptr ? "" : *text);
  return token ? std::optional(*std::move(token)) : std::nullopt;
}

class Suspicion {
 public:
  Suspicion(std::string_view key, std::chrono::microseconds now, const KeyStates& states)
      : key_(key),
        states_(states),
        past_(states.past_of(key)),
        before_(states.of(key, now)),
        now_(now) {}

  // There is another value, or none, than the last request has left.
  void of_changes() {
    // A GET that has returned the value since has shown that the SET was carried out.
    if (!past_.write.empty() && !past_.read) {
      add(past_.write);
      add("SET-WRITE-1");
    }
    for (const std::string_view rule : past_.refusals) add(rule);
  }
  void of_expiry_too_early() {
    // Any expiry that is too short ends that of a renewal too early, too.
    add(past_.retimed == "SET-NEX-5" ? "SET-PX-5" : past_.retimed);
    if (before_.expires) add("SET-PX-2");
  }
  void of_loss() {
    of_changes();
    of_expiry_too_early();
    // Without a PX it takes time to lose a key, or the store would be said to have lost it
    // immediately.
    constexpr std::chrono::seconds kAWhile{1};
    if (!before_.expires && past_.written && now_ - *past_.written >= kAWhile) add("SET-PX-3");
  }
  // Why it is still there: a refused request was carried out, an expiry did not happen, or a
  // removal did not.
  void of_rest() {
    for (const std::string_view rule : past_.refusals) add(rule);
    if (before_.expired) {
      add("SET-PX-1");
      add("SET-PX-4");
      add(past_.retimed);
      // Any earlier PX that still counts makes a renewal too late, too.
      if (past_.retimed == "SET-NEX-5") add("SET-PX-5");
    } else if (!before_.exists) {
      add(past_.removal);
    }
  }
  void of_value(std::string_view seen) {
    add("GET-HIT-3");
    const std::size_t value = std::hash<std::string_view>()(seen);
    // What was written last says that this SET has done its work.
    if (past_.last_value == value) return;
    if (past_.values.contains(value)) {
      of_changes();
    } else {
      // Either two keys are one to the store, or nobody has written these bytes: they were not kept
      // as they came.
      add(states_.is_value_of_another(key_, value) ? "KEY-BINARY-1" : "SET-VALUE-1");
    }
  }
  void of_token_that_is_missing() {
    if (past_.first_token) add("FT-STORE-1");
    if (past_.newer_token) add("FT-ADVANCE-1");
    add("FT-STORE-2");
    add("FT-STORE-3");
    // It may have been overlooked among other properties, or the SET was not carried out.
    add("ENV-PROPERTY-1");
    of_changes();
  }
  void of_token_that_is_there() {
    of_rest();
    if (!past_.removal.empty()) add("FT-DELETE-1");
    add("FT-STORE-3");
    add("ENV-PROPERTY-1");
    for (const std::string_view rule : past_.refusals) add(rule);
  }
  void add(std::string_view rule) {
    if (!rule.empty()) rules_.emplace(rule);
  }

  [[nodiscard]] const KeyPast& past() const { return past_; }
  [[nodiscard]] Rules take() { return std::move(rules_); }

 private:
  const std::string_view key_;
  const KeyStates& states_;
  const KeyPast past_;
  const KeyFacts before_;
  const std::chrono::microseconds now_;
  Rules rules_;
};

void add_candidates_of_reply(Suspicion& found, const codec::Command& command,
                             const std::optional<hlc::Timestamp>& token, const ReplyFacts& wanted,
                             const ReceivedReply& reply) {
  const ReplyFacts seen = seen_reply(reply);
  const bool token_wanted = is_of_token(wanted.error);
  const bool token_seen = is_of_token(seen.error);
  if (token_wanted && !token_seen) found.of_token_that_is_missing();
  // Then what decides is behind the wall clock.
  const auto& held = found.past().token;
  const bool close = held && token && held->wall_ms == token->wall_ms;
  if (token_wanted != token_seen && close) found.add("HLC-ORDER-1");
  if (token_seen && !token_wanted) found.of_token_that_is_there();
  const Presence should = presence_by(command, wanted);
  const Presence is = presence_by(command, seen);
  if (should == Presence::kMissing && is == Presence::kThere) found.of_rest();
  if (should == Presence::kThere && is == Presence::kMissing) {
    // A store that takes a value of no bytes for none has lost nothing.
    if (wanted.empty_value) {
      found.add("SET-VALUE-2");
    } else {
      found.of_loss();
    }
  }
  const bool conditional =
      command.verb == Verb::kVdel || command.condition == codec::Condition::kIfAbsentOrEqual;
  const bool carried_out = wanted.kind != ReplyKind::kError && seen.kind != ReplyKind::kError;
  // What these compare with, an earlier request may have changed.
  if (conditional && carried_out) found.of_changes();
  // NEX on a key that is gone is carried out.
  if (wanted.kind == ReplyKind::kNotApplied && seen.kind == ReplyKind::kOk) found.of_loss();
  if (wanted.kind == ReplyKind::kOk && seen.kind == ReplyKind::kNotApplied) {
    found.of_rest();
    const bool nex = command.condition == codec::Condition::kIfAbsentOrEqual;
    found.add(nex ? "SET-NEX-1" : "SET-NX-1");
  }
  if (wanted.kind == ReplyKind::kValue && seen.kind == ReplyKind::kValue) {
    found.of_value(reply.decoded->value);
  }
}

// Is a timestamp refused that is no later than it may be by what the store has answered, which is
// further ahead than a store's clock may be? One that was too far ahead has moved its clock, be it
// that it was accepted, or refused. Req: HLC-SKEW-1, HLC-SKEW-6
bool is_of_moved_clock(const Exchange& exchange, const KeyStates& keys) {
  const bool of_token = exchange.reply->error() == ErrorCode::kTokenTooFarAhead;
  if (!of_token && exchange.reply->error() != ErrorCode::kTimestampTooFarAhead) return false;
  const auto refused =
      timestamp_of(exchange, of_token ? codec::kTokenProperty : codec::kTimestampProperty);
  const std::uint64_t allowed = hlc::ClockLimits{}.max_drift_ms;
  const std::uint64_t latest = keys.latest_version_ms();
  return refused && latest > static_cast<std::uint64_t>(exchange.sent_ms) + allowed &&
         refused->wall_ms <= latest + allowed;
}

bool has_unknown_property(const codec::Message& request) {
  return std::any_of(
      request.user_properties.begin(), request.user_properties.end(), [](const auto& each) {
        return each.first != codec::kTimestampProperty && each.first != codec::kTokenProperty;
      });
}

// What may be broken where the reply is not an expected one. Nothing: an outcome says too little.
std::optional<Rules> common_candidates(const scenario::RequestStep& step, const Exchange& exchange,
                                       const codec::Command& command, const KeyStates& keys) {
  bool first = true;
  Rules common;
  const bool may_be_refused = !exchange.reply->is(ReplyKind::kError) &&
                              std::any_of(step.expect.outcomes.begin(), step.expect.outcomes.end(),
                                          [](const scenario::Outcome& outcome) {
                                            const auto facts = reply_facts(outcome);
                                            return facts && facts->kind != ReplyKind::kError;
                                          });
  for (const scenario::Outcome& outcome : step.expect.outcomes) {
    // Where several replies are right, a broken rule has to explain why it is not one of them.
    const auto wanted = reply_facts(outcome);
    if (!wanted) return std::nullopt;
    // A store that may refuse the request and has not done so has to carry it out rightly.
    if (may_be_refused && wanted->kind == ReplyKind::kError) continue;
    Suspicion of_one(command.key, exchange.sent, keys);
    add_candidates_of_reply(of_one, command, timestamp_of(exchange, codec::kTokenProperty), *wanted,
                            *exchange.reply);
    const Rules rules = of_one.take();
    if (first) common = rules;
    std::erase_if(common, [&](const std::string& rule) { return !rules.contains(rule); });
    first = false;
  }
  return common;
}

std::vector<std::string> in_order(const Rules& rules) { return {rules.begin(), rules.end()}; }

}  // namespace

std::vector<std::string> candidates_of(Mismatch kind, const scenario::RequestStep& step,
                                       const Exchange& exchange, const KeyStates& keys) {
  if (!exchange.reply) return {};
  const auto& command = exchange.command;
  if (!command) return {};
  Suspicion found(command->key, exchange.sent, keys);
  if (kind == Mismatch::kReply) {
    const auto common = common_candidates(step, exchange, *command, keys);
    if (!common) return {};
    for (const std::string& rule : *common) found.add(rule);
    const bool quota = exchange.reply->error() == ErrorCode::kQuotaExceeded;
    // A key that was not removed still has its place. Req: QUOTA-KEYS-3
    if (quota) {
      for (const std::string_view rule : keys.removals()) found.add(rule);
    }
    if (keys.has_similar(command->key)) found.add("KEY-BINARY-1");
    // It may be refused for a property that the store does not know.
    if (exchange.reply->is(ReplyKind::kError) && has_unknown_property(exchange.request)) {
      found.add("ENV-PROPERTY-1");
    }
    if (is_of_moved_clock(exchange, keys)) {
      found.add("HLC-SKEW-1");
      found.add("HLC-SKEW-6");
    }
    // What a request that was refused has left behind may spoil the next one.
    const bool spoiled = exchange.reply->error() == ErrorCode::kSyntax && step.expect.by.empty();
    if (spoiled && keys.was_refused()) {
      found.add("ERR-STATE-1");
      found.add("RESP-INVALID-1");
    }
    const bool both = command->verb == Verb::kSet && command->expires_after &&
                      command->condition != codec::Condition::kAlways;
    if (both && exchange.reply->error() == ErrorCode::kSyntax) {
      // That SET takes both options is SET-GRAMMAR-1; the store may not know the condition at all,
      // as one that wants a value behind NEX.
      const bool nx = command->condition == codec::Condition::kIfAbsent;
      found.add(nx ? "SET-NX-1" : "SET-NEX-4");
    }
  } else if (kind == Mismatch::kVersionOther) {
    found.of_changes();
    if (command->verb == Verb::kGet) found.add("GET-HIT-3");
    // The request itself may have moved it.
    if (exchange.reply->is(ReplyKind::kNotApplied)) found.add("SET-NOT-APPLIED-2");
    // If several requests were concurrent, another one may have been carried out before it.
    if (exchange.reply->is(ReplyKind::kOk) && command->condition != codec::Condition::kAlways) {
      const bool nx = command->condition == codec::Condition::kIfAbsent;
      found.add(nx ? "SET-NX-2" : "SET-NEX-3");
    }
  } else if (kind == Mismatch::kVersionNotLater || kind == Mismatch::kVersionNotGreater) {
    // A clock that stands still is behind the request or the version before, as it happens.
    found.add("VER-SET-2");
    found.add("VER-UPDATE-3");
  }
  return in_order(found.take());
}

std::vector<std::string> candidates_of(Mismatch kind, std::string_view key,
                                       codec::Operation operation, Cause cause,
                                       std::chrono::microseconds now, const KeyStates& keys) {
  Suspicion found(key, now, keys);
  if (kind == Mismatch::kNotificationMissing) {
    if (operation == codec::Operation::kSet) {
      found.add("NTF-SEND-1");
      // The deletion may have ended the registration as well.
      if (!found.past().removal.empty()) found.add("NTF-KEEP-1");
    } else if (cause == Cause::kExpiry) {
      // Either it has expired untold, or it is still there.
      found.add("NTF-EXPIRY-1");
      found.of_rest();
    } else {
      found.add("NTF-SEND-2");
      // What was not removed is not notified either.
      found.add(found.past().removal);
    }
  } else if (kind == Mismatch::kNotification) {
    // What came may be the deletion of a key whose time has ended too early.
    found.of_expiry_too_early();
  }
  if (keys.has_similar(key)) found.add("KEY-BINARY-1");
  return in_order(found.take());
}

}  // namespace fencepost::judge
