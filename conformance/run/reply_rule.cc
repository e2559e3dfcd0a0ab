#include "conformance/run/reply_rule.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "codec/command.h"
#include "codec/message.h"
#include "hlc/hlc.h"

namespace fencepost::run {
namespace {

std::optional<codec::Command> command_of(const judge::Exchange& exchange) {
  const auto command =
      codec::parse_command(exchange.request.payload, codec::dialect(codec::DialectId::kDeployed));
  return command ? std::optional(*command) : std::nullopt;
}

// Nothing for an outcome that is not one reply of a known kind.
std::optional<judge::ReplyFacts> reply_facts(const scenario::Outcome& outcome) {
  if (const auto* plain = std::get_if<scenario::PlainReply>(&outcome.what)) {
    return judge::ReplyFacts{.kind = plain->kind};
  }
  if (const auto* value = std::get_if<scenario::ValueReply>(&outcome.what)) {
    const auto* literal = std::get_if<scenario::LiteralBytes>(&value->value.what);
    return judge::ReplyFacts{.kind = codec::ReplyKind::kValue,
                             .empty_value = literal != nullptr && literal->bytes.empty()};
  }
  if (const auto* count = std::get_if<scenario::CountReply>(&outcome.what)) {
    return judge::ReplyFacts{.kind = codec::ReplyKind::kCount, .removed = count->count > 0};
  }
  if (const auto* error = std::get_if<scenario::ErrorReply>(&outcome.what)) {
    return judge::ReplyFacts{.kind = codec::ReplyKind::kError, .error = error->code};
  }
  return std::nullopt;
}

judge::RequestFacts request_facts(const judge::Exchange& exchange) {
  const std::string* token = exchange.request.property(codec::kTokenProperty);
  const std::string* timestamp = exchange.request.property(codec::kTimestampProperty);
  const bool token_is_malformed =
      token != nullptr && !hlc::parse(*token) && (timestamp == nullptr || hlc::parse(*timestamp));
  judge::RequestFacts out{.verb = exchange.verb,
                          .has_token = token != nullptr,
                          .token_is_malformed = token_is_malformed};
  if (const auto command = command_of(exchange)) {
    out.condition = command->condition;
    out.stop = command->stop;
  }
  return out;
}

// Is its `__ts` behind the time at which it was sent?
bool is_old(const judge::Exchange& exchange) {
  constexpr std::uint64_t kBehind = 1'000;  // ms
  const std::string* text = exchange.request.property(codec::kTimestampProperty);
  const auto timestamp = hlc::parse(text == nullptr ? "" : *text);
  return timestamp && timestamp->wall_ms + kBehind < static_cast<std::uint64_t>(exchange.sent_ms);
}

}  // namespace

std::optional<judge::ReplyFacts> wanted_reply(const scenario::Expectation& expect) {
  if (expect.open || expect.outcomes.size() != 1) return std::nullopt;
  return reply_facts(expect.outcomes.front());
}

std::string rule_of_reply(const scenario::RequestStep& step, const judge::Exchange& exchange,
                          const CaseState& state) {
  const auto wanted = wanted_reply(step.expect);
  if (!wanted) return {};
  judge::KeyFacts before;
  if (const auto command = command_of(exchange)) {
    before = state.key_states.of(command->key, exchange.sent);
    const bool carried_out = wanted->kind != codec::ReplyKind::kError &&
                             !exchange.reply->is(codec::ReplyKind::kError) &&
                             command->verb != codec::Verb::kKeynotify;
    const std::string_view effect = state.key_states.rule_of_effect(command->key);
    if (carried_out && !before.expired && !effect.empty()) return std::string(effect);
  }
  return std::string(judge::requirement_of(request_facts(exchange), before, *wanted));
}

std::string rule_of_refusal(const judge::Exchange& exchange, const CaseState& state) {
  using codec::ErrorCode;
  using codec::Verb;
  const auto command = command_of(exchange);
  const auto error = exchange.reply->error();
  if (!command || !error) return {};
  const bool reads = command->verb == Verb::kGet || command->verb == Verb::kKeynotify;
  const bool has_timestamp = exchange.request.property(codec::kTimestampProperty) != nullptr;
  const bool has_token = exchange.request.property(codec::kTokenProperty) != nullptr;
  switch (*error) {
    case ErrorCode::kTokenLower:
    case ErrorCode::kTokenRequired:
      if (reads) return command->verb == Verb::kGet ? "FT-GET-1" : "FT-KEYNOTIFY-1";
      if (*error == ErrorCode::kTokenLower) return {};  // the reply that was expected knows more
      if (has_token) return "ENV-PROPERTY-1";
      return state.key_states.was_deleted(command->key) ? "FT-DELETE-1" : "FT-STORE-3";
    case ErrorCode::kNotAuthorized:
      return reads ? "AUTH-READ-1" : "AUTH-WRITE-1";
    case ErrorCode::kMissingTimestamp:
      if (has_timestamp) return "ENV-PROPERTY-1";
      return command->verb == Verb::kKeynotify ? "HLC-REQUIRED-4" : "HLC-REQUIRED-3";
    case ErrorCode::kMalformedTimestamp:
      return "HLC-PARSE-2";
    case ErrorCode::kTimestampTooFarAhead:
      return is_old(exchange) ? "HLC-SKEW-3" : "HLC-SKEW-5";
    case ErrorCode::kQuotaExceeded:
      return "QUOTA-KEYS-3";
    case ErrorCode::kSyntax:
      return command->verb == Verb::kSet ? "SET-GRAMMAR-1" : "";
    case ErrorCode::kTokenTooFarAhead:
    case ErrorCode::kUnknownCommand:
    case ErrorCode::kWrongArgumentCount:
    case ErrorCode::kEmptyKey:
      return {};
  }
  return {};
}

std::string subject_of(const judge::Exchange& exchange) {
  if (!exchange.verb) return "invalid payload";
  std::string out(codec::name(*exchange.verb));
  if (const auto command = command_of(exchange)) {
    if (command->condition == codec::Condition::kIfAbsent) out += " NX";
    if (command->condition == codec::Condition::kIfAbsentOrEqual) out += " NEX";
    if (command->expires_after) out += " PX";
    if (command->stop) out += " STOP";
  } else {
    out += " (invalid)";
  }
  if (exchange.request.property(codec::kTokenProperty) != nullptr) out += " with __ft";
  return out;
}

}  // namespace fencepost::run
