#include "traffic/record/capture_reply.h"

#include <algorithm>
#include <optional>

#include "traffic/record/capture_request.h"

namespace fencepost::record {
namespace {

using codec::Divergence;
using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;

bool is_spelled_right(const codec::Message& reply, const codec::Reply& typed,
                      std::optional<Verb> verb) {
  return std::any_of(codec::kDialects.begin(), codec::kDialects.end(),
                     [&](codec::DialectId dialect) {
                       std::string encoded;
                       append_reply(encoded, typed, verb, codec::dialect(dialect));
                       return encoded == reply.payload;
                     });
}

std::set<Divergence> divergences_of(const codec::Reply& reply, std::optional<Verb> verb) {
  if (reply.kind == ReplyKind::kNotApplied) {
    return {verb == Verb::kVdel ? Divergence::kVdelMismatch : Divergence::kSetNotApplied};
  }
  std::set<Divergence> out;
  if (reply.kind != ReplyKind::kError) return out;
  if (reply.error == ErrorCode::kTokenLower) out.insert(Divergence::kLowerTokenText);
  if (verb == Verb::kKeynotify) out.insert(Divergence::kKeynotifyError);
  return out;
}

scenario::Outcome outcome_of(const codec::Reply& reply) {
  switch (reply.kind) {
    case ReplyKind::kValue:
      return {scenario::ValueReply{bytes_of(reply.value)}};
    case ReplyKind::kCount:
      return {scenario::CountReply{reply.count}};
    case ReplyKind::kError:
      return {scenario::ErrorReply{reply.error}};
    case ReplyKind::kOk:
    case ReplyKind::kNotApplied:
    case ReplyKind::kMissing:
      break;
  }
  return {scenario::PlainReply{reply.kind}};
}

}  // namespace

ReplyOutcome reply_outcome(const codec::Message& reply, const ReadExchange& exchange) {
  const ReplyOutcome bytes{{scenario::ExactBytes{bytes_of(reply.payload)}}};
  if (!exchange.reply || (exchange.answered(ReplyKind::kError) && !exchange.error)) return bytes;
  const std::optional<Verb> verb = exchange.verb();
  const codec::Reply typed{.kind = exchange.reply->kind,
                           .value = exchange.reply->value,
                           .count = exchange.reply->count,
                           .error = exchange.error.value_or(ErrorCode::kSyntax)};
  if (!is_spelled_right(reply, typed, verb)) return bytes;
  return {outcome_of(typed), divergences_of(typed, verb)};
}

}  // namespace fencepost::record
