#include "conformance/record/capture_rules.h"

#include <optional>
#include <string>

#include "codec/command.h"
#include "codec/error_code.h"
#include "codec/reply.h"
#include "hlc/hlc.h"

namespace fencepost::record {
namespace {

using codec::Condition;
using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;

// Of any request that names a verb, right or not.
std::optional<Verb> verb_of(const ReadExchange& exchange) {
  if (exchange.arguments.empty()) return std::nullopt;
  for (const Verb verb : codec::kVerbs) {
    if (codec::name(verb) == exchange.arguments.front()) return verb;
  }
  return std::nullopt;
}

std::string_view rule_of_set(const ReadExchange& exchange, const codec::Message& request,
                             const KeyNow& key) {
  const Condition condition = exchange.command ? exchange.command->condition : Condition::kAlways;
  const bool nx = condition == Condition::kIfAbsent;
  if (exchange.answered(ReplyKind::kNotApplied)) return nx ? "SET-NX-2" : "SET-NEX-3";
  if (key.fenced) return "FT-ACCEPT-1";
  if (!key.exists && key.last_version) return key.expired ? "SET-PX-4" : "LOCK-TOKEN-4";
  if (condition == Condition::kIfAbsentOrEqual) return key.exists ? "SET-NEX-2" : "SET-NEX-1";
  if (nx) return "SET-NX-1";
  if (request.property(codec::kTokenProperty) != nullptr) return "FT-STORE-1";
  return key.exists ? "SET-WRITE-2" : "SET-OK-1";
}

std::string_view rule_of_get(const ReadExchange& exchange, const KeyNow& key) {
  if (exchange.answered(ReplyKind::kMissing)) return key.expired ? "SET-PX-4" : "GET-MISS-1";
  if (key.expires_after) return "SET-PX-2";
  return exchange.reply && exchange.reply->value.empty() ? "GET-HIT-4" : "GET-HIT-3";
}

std::string_view rule_of_removal(const ReadExchange& exchange, const KeyNow& key, bool vdel) {
  if (exchange.answered(ReplyKind::kNotApplied)) {
    return key.fenced ? "FT-ACCEPT-4" : "VDEL-MISMATCH-1";
  }
  if (!exchange.reply || exchange.reply->count == 0) {
    if (key.expired) return "SET-PX-4";
    return vdel ? "VDEL-MISS-1" : "DEL-MISS-1";
  }
  if (key.fenced) return vdel ? "FT-ACCEPT-3" : "FT-ACCEPT-2";
  return vdel ? "VDEL-MATCH-1" : "DEL-OK-1";
}

std::string_view rule_of_error(ErrorCode error, const ReadExchange& exchange,
                               const codec::Message& request) {
  const auto verb = verb_of(exchange);
  const auto by_verb = [&](std::string_view set, std::string_view del, std::string_view vdel) {
    if (verb == Verb::kSet) return set;
    return verb == Verb::kDel ? del : vdel;
  };
  switch (error) {
    case ErrorCode::kTimestampTooFarAhead:
      return "HLC-SKEW-1";
    case ErrorCode::kTokenRequired:
      return by_verb("FT-REQUIRED-1", "FT-REQUIRED-2", "FT-REQUIRED-3");
    case ErrorCode::kTokenTooFarAhead:
      return "HLC-SKEW-2";
    case ErrorCode::kTokenLower:
      return by_verb("FT-LOWER-1", "FT-LOWER-2", "FT-LOWER-3");
    case ErrorCode::kQuotaExceeded:
      return "ERR-TEXT-5";
    case ErrorCode::kSyntax:
      return "ERR-SYNTAX-1";
    case ErrorCode::kNotAuthorized:
      return "ERR-TEXT-7";
    case ErrorCode::kUnknownCommand:
      return "ERR-COMMAND-1";
    case ErrorCode::kWrongArgumentCount:
      return "ERR-ARITY-1";
    case ErrorCode::kMissingTimestamp:
      return "HLC-REQUIRED-1";
    case ErrorCode::kMalformedTimestamp: {
      const std::string* timestamp = request.property(codec::kTimestampProperty);
      const bool is_right = timestamp == nullptr || hlc::parse(*timestamp).has_value();
      return verb == Verb::kSet && is_right ? "FT-MALFORMED-1" : "HLC-PARSE-1";
    }
    case ErrorCode::kEmptyKey:
      return "KEY-EMPTY-1";
  }
  return "RESP-INVALID-2";
}

}  // namespace

std::string_view requirement_of(const ReadExchange& exchange, const codec::Message& request,
                                const KeyNow& key) {
  constexpr std::size_t kWithoutOptions = 2;  // the verb and the key
  if (exchange.answered(ReplyKind::kError)) {
    return rule_of_error(exchange.error.value_or(ErrorCode::kSyntax), exchange, request);
  }
  const auto verb = verb_of(exchange);
  if (!verb) return "RESP-INVALID-1";
  switch (*verb) {
    case Verb::kSet:
      return rule_of_set(exchange, request, key);
    case Verb::kGet:
      return rule_of_get(exchange, key);
    case Verb::kDel:
    case Verb::kVdel:
      return rule_of_removal(exchange, key, *verb == Verb::kVdel);
    case Verb::kKeynotify:
      break;
  }
  if (exchange.arguments.size() == kWithoutOptions) {
    return key.exists ? "NTF-RESPONSE-2" : "NTF-ABSENT-1";
  }
  return exchange.answered(ReplyKind::kOk) ? "NTF-STOP-1" : "NTF-STOP-3";
}

}  // namespace fencepost::record
