#include "conformance/run/key_states.h"

#include "codec/command.h"
#include "codec/error_code.h"
#include "codec/message.h"

namespace fencepost::run {

using codec::ReplyKind;
using codec::Verb;

namespace {

// Req: SET-NOT-APPLIED-2, VDEL-MISMATCH-1, DEL-REMOVE-1, VDEL-MATCH-1, FT-REJECT-1, ERR-STATE-1
std::string_view effect_of(Verb verb, const judge::ReceivedReply& reply) {
  const auto error = reply.error();
  if (reply.is(ReplyKind::kError)) {
    const bool token = error == codec::ErrorCode::kTokenLower ||
                       error == codec::ErrorCode::kTokenRequired ||
                       error == codec::ErrorCode::kTokenTooFarAhead;
    return token ? "FT-REJECT-1" : "ERR-STATE-1";
  }
  if (reply.is(ReplyKind::kNotApplied)) {
    return verb == Verb::kVdel ? "VDEL-MISMATCH-1" : "SET-NOT-APPLIED-2";
  }
  if (!reply.is(ReplyKind::kCount) || reply.decoded->count == 0) return {};
  return verb == Verb::kVdel ? "VDEL-MATCH-1" : "DEL-REMOVE-1";
}

}  // namespace

std::string_view rule_of_effect(const judge::Exchange& exchange) {
  if (!exchange.reply) return {};
  const judge::ReceivedReply& reply = *exchange.reply;
  if (!reply.is(ReplyKind::kOk)) return effect_of(exchange.verb.value_or(Verb::kSet), reply);
  // Of the requests that are answered so, only a SET has a version. What it is may not be known, as
  // the payload need not be one that everybody takes. Req: VER-SET-1
  if (reply.message.property(codec::kTimestampProperty) != nullptr) return "SET-WRITE-1";
  return exchange.verb == Verb::kKeynotify ? "NTF-RESPONSE-2" : "";
}

void KeyStates::note(const judge::Exchange& exchange) {
  if (!exchange.reply || !exchange.reply->decoded) return;
  const auto command =
      codec::parse_command(exchange.request.payload, codec::dialect(codec::DialectId::kDeployed));
  if (!command) return;
  const std::string key(command->key);
  const judge::ReceivedReply& reply = *exchange.reply;
  const bool changes =
      command->verb == Verb::kSet || command->verb == Verb::kDel || command->verb == Verb::kVdel;
  if (changes) effects_[key] = effect_of(command->verb, reply);
  if (command->verb == Verb::kSet && reply.is(ReplyKind::kOk)) {
    const bool token = exchange.request.property(codec::kTokenProperty) != nullptr;
    const bool fenced = token || of(key, exchange.sent).fenced;
    State& state = states_[key] = {.fenced = fenced};
    constexpr std::chrono::milliseconds kLongest = std::chrono::hours{1};  // no case waits for more
    if (command->expires_after && *command->expires_after <= kLongest) {
      state.deadline = exchange.sent + *command->expires_after;
    }
  } else if (command->verb == Verb::kDel || command->verb == Verb::kVdel) {
    if (reply.is(ReplyKind::kCount) && reply.decoded->count > 0) {
      states_.erase(key);
      deleted_.insert(key);
    }
  }
}

std::string_view KeyStates::rule_of_effect(std::string_view key) const {
  const auto found = effects_.find(key);
  return found == effects_.end() ? std::string_view() : found->second;
}

bool KeyStates::was_deleted(std::string_view key) const { return deleted_.contains(key); }

judge::KeyFacts KeyStates::of(std::string_view key, endpoint::Duration now) const {
  const auto found = states_.find(key);
  if (found == states_.end()) return {};
  const State& state = found->second;
  if (state.deadline && *state.deadline <= now) return {.expired = true};
  return {.exists = true, .fenced = state.fenced, .expires = state.deadline.has_value()};
}

}  // namespace fencepost::run
