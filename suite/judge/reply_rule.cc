#include "suite/judge/reply_rule.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <variant>

#include "codec/command.h"
#include "codec/message.h"
#include "hlc/hlc.h"

namespace fencepost::judge {
namespace {

RequestFacts request_facts(const Exchange& exchange) {
  const std::string* token = exchange.request.property(codec::kTokenProperty);
  const std::string* timestamp = exchange.request.property(codec::kTimestampProperty);
  // Both have the same text: it speaks of the token only where the timestamp is no reason for it.
  const bool token_is_malformed =
      token != nullptr && !hlc::parse(*token) && (timestamp == nullptr || hlc::parse(*timestamp));
  RequestFacts out{.verb = exchange.verb,
                   .has_token = token != nullptr,
                   .token_is_malformed = token_is_malformed};
  if (const auto& command = exchange.command) {
    out.condition = command->condition;
    out.stop = command->stop;
  }
  return out;
}

// If a SET has options, they are the reason for the refusal: a single one, or that there are two of
// them.
std::string_view rule_of_grammar(const codec::Command& command) {
  if (command.verb == codec::Verb::kGet) return "GET-GRAMMAR-1";
  if (command.verb == codec::Verb::kDel) return "DEL-GRAMMAR-1";
  if (command.verb == codec::Verb::kVdel) return "VDEL-GRAMMAR-1";
  if (command.verb != codec::Verb::kSet) return {};
  const bool conditional = command.condition != codec::Condition::kAlways;
  if (conditional == command.expires_after.has_value()) return "SET-GRAMMAR-1";
  if (!conditional) return "SET-PX-1";
  return command.condition == codec::Condition::kIfAbsent ? "SET-NX-1" : "SET-NEX-4";
}

// Is its `__ts` behind the time at which it was sent?
bool is_old(const Exchange& exchange) {
  // A timestamp that was made for this request is behind by less when it is sent; an older one was
  // chosen by the case.
  constexpr std::uint64_t kBehind = 1'000;  // ms
  const std::string* text = exchange.request.property(codec::kTimestampProperty);
  const auto timestamp = hlc::parse(text == nullptr ? "" : *text);
  return timestamp && timestamp->wall_ms + kBehind < static_cast<std::uint64_t>(exchange.sent_ms);
}

template <typename Kind>
bool are_all(const scenario::Expectation& expect) {
  return std::all_of(expect.outcomes.begin(), expect.outcomes.end(), [](const auto& outcome) {
    return std::holds_alternative<Kind>(outcome.what);
  });
}

// Where several replies are right, and this one is like none of them.
std::string_view rule_of_either(const scenario::Expectation& expect, const Exchange& exchange) {
  using codec::ReplyKind;
  if (expect.outcomes.empty()) return {};
  if (are_all<scenario::ErrorReply>(expect) && !exchange.reply->is(ReplyKind::kError)) {
    // That it is an error is not open: what is wrong with the bytes themselves names the rule.
    const auto& command = exchange.command;
    if (command || !exchange.verb) return {};
    return requirement_of(command.error(), request_facts(exchange));
  }
  const bool carried_out =
      std::all_of(expect.outcomes.begin(), expect.outcomes.end(), [](const auto& outcome) {
        return std::holds_alternative<scenario::PlainReply>(outcome.what) ||
               std::holds_alternative<scenario::ValueReply>(outcome.what);
      });
  const bool reads = exchange.verb == codec::Verb::kGet && exchange.reply->is(ReplyKind::kValue);
  return reads && carried_out ? "GET-HIT-3" : "";
}

// Is it what the last SET was to replace, and no GET has shown that it did?
bool is_replaced(const KeyPast& past, const ReceivedReply& reply) {
  if (!reply.is(codec::ReplyKind::kValue) || past.write != "SET-WRITE-2" || past.read) return false;
  const std::size_t value = std::hash<std::string_view>()(reply.decoded->value);
  return past.last_value != value && past.values.contains(value);
}

// Was it set, and has no request shown that it was?
bool is_unwritten(const KeyPast& past, std::chrono::microseconds now) {
  // Later it may have been lost.
  constexpr std::chrono::seconds kAWhile{1};
  return !past.write.empty() && !past.read && past.written && now - *past.written < kAWhile;
}

}  // namespace

std::optional<ReplyFacts> reply_facts(const scenario::Outcome& outcome) {
  if (const auto* plain = std::get_if<scenario::PlainReply>(&outcome.what)) {
    return ReplyFacts{.kind = plain->kind};
  }
  if (const auto* value = std::get_if<scenario::ValueReply>(&outcome.what)) {
    // A value of no bytes is a literal: the loader writes all short ones out.
    const auto* literal = std::get_if<scenario::LiteralBytes>(&value->value.what);
    return ReplyFacts{.kind = codec::ReplyKind::kValue,
                      .empty_value = literal != nullptr && literal->bytes.empty()};
  }
  if (const auto* count = std::get_if<scenario::CountReply>(&outcome.what)) {
    return ReplyFacts{.kind = codec::ReplyKind::kCount, .removed = count->count > 0};
  }
  if (const auto* error = std::get_if<scenario::ErrorReply>(&outcome.what)) {
    return ReplyFacts{.kind = codec::ReplyKind::kError, .error = error->code};
  }
  return std::nullopt;
}

std::optional<ReplyFacts> wanted_reply(const scenario::Expectation& expect) {
  // Each outcome of unspecified behaviour is allowed, and so none shows a rule.
  if (expect.open || expect.outcomes.size() != 1) return std::nullopt;
  return reply_facts(expect.outcomes.front());
}

std::string_view rule_of_reply(const scenario::RequestStep& step, const Exchange& exchange,
                               const KeyStates& keys) {
  const auto wanted = wanted_reply(step.expect);
  if (!wanted) return rule_of_either(step.expect, exchange);
  KeyFacts before;
  if (const auto& command = exchange.command) {
    before = keys.of(command->key, exchange.sent);
    // An earlier request that was answered, and not carried out, shows in a later one: then its
    // rule is broken, and the later request is not at fault. Other requests than a GET may be wrong
    // themselves: these show what they should have found.
    const bool finds = command->verb == codec::Verb::kGet || wanted->removed ||
                       command->condition == codec::Condition::kIfAbsent;
    const bool carried_out = finds && wanted->kind != codec::ReplyKind::kError &&
                             !exchange.reply->is(codec::ReplyKind::kError);
    // Nobody has written this key: the store does not tell it from one that somebody has written.
    const bool taken_for_another = wanted->kind == codec::ReplyKind::kMissing &&
                                   exchange.reply->is(codec::ReplyKind::kValue) &&
                                   !keys.knows(command->key) && keys.has_similar(command->key);
    if (taken_for_another) return "KEY-BINARY-1";
    const std::string_view effect = keys.rule_of_effect(command->key);
    // An expiry comes after the effects of the last request.
    if (carried_out && !before.expired && !effect.empty()) return effect;
    if (is_replaced(keys.past_of(command->key), *exchange.reply)) return "SET-WRITE-2";
    const bool lost = command->verb == codec::Verb::kGet && !before.expires &&
                      !wanted->empty_value && wanted->kind == codec::ReplyKind::kValue &&
                      exchange.reply->is(codec::ReplyKind::kMissing);
    if (lost && is_unwritten(keys.past_of(command->key), exchange.sent)) return "SET-WRITE-1";
  }
  return requirement_of(request_facts(exchange), before, *wanted);
}

std::string_view rule_kept_by(const scenario::RequestStep& step) {
  const auto wanted = wanted_reply(step.expect);
  const auto* command = std::get_if<scenario::CommandBytes>(&step.payload.what);
  if (!wanted || command == nullptr || command->arguments.empty()) return {};
  const auto word = [&](std::size_t i) -> std::string_view {
    const auto* text = std::get_if<scenario::LiteralBytes>(&command->arguments[i].what);
    return text == nullptr ? std::string_view() : std::string_view(text->bytes);
  };
  RequestFacts request{.has_token = !std::holds_alternative<scenario::NoTimestamp>(step.token)};
  request.verb = codec::verb_named(word(0));
  for (std::size_t i = 2; i < command->arguments.size(); ++i) {
    if (word(i) == "NX") request.condition = codec::Condition::kIfAbsent;
    if (word(i) == "NEX") request.condition = codec::Condition::kIfAbsentOrEqual;
    if (word(i) == "STOP") request.stop = true;
  }
  // A step alone does not say what its key was: no rule of expired or fenced keys is taken for
  // shown.
  return request.verb ? requirement_of(request, {}, *wanted) : std::string_view();
}

// A store that refuses what it must take: the reason that it gives says which sentence it has
// misread. A reason about the properties says that it has not seen, or has not read, what was
// there.
std::string_view rule_of_refusal(const Exchange& exchange, const KeyStates& keys) {
  using codec::ErrorCode;
  using codec::Verb;
  const auto command = exchange.command;
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
      // No token was expected: the store requires that of a former life of the key, or of another
      // key.
      return keys.was_deleted(command->key) ? "FT-DELETE-1" : "FT-STORE-3";
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
    case ErrorCode::kWrongArgumentCount:
      return rule_of_grammar(*command);
    case ErrorCode::kTokenTooFarAhead:
    case ErrorCode::kUnknownCommand:
    case ErrorCode::kEmptyKey:
      return {};
  }
  return {};
}

}  // namespace fencepost::judge
