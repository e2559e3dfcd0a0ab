#include "codec/reply.h"

namespace fencepost::codec {
namespace {

constexpr std::string_view kErrorPrefix = "-ERR ";

void append_error(std::string& out, ErrorCode error, std::optional<Verb> verb,
                  const Dialect& dialect) {
  // A payload that names no verb is no KEYNOTIFY to the store.
  out += verb == Verb::kKeynotify ? dialect.keynotify_error_prefix : kErrorPrefix;
  out += text(error, dialect);
  out += "\r\n";
}

// What a "-..." line means. Nothing when it is neither an -ERR nor the documented "-1".
std::optional<DecodedReply> read_error(std::string_view line) {
  // The documented minus one lacks the type of an integer: to RESP3 it is an error with the text
  // `1`. Req: SET-NOT-APPLIED-1, VDEL-MISMATCH-2
  if (line == "1") {
    return DecodedReply{.kind = ReplyKind::kNotApplied, .form = DialectId::kDocumented};
  }
  // Read behind any request: that only KEYNOTIFY may be answered so, the judge says. Req:
  // NTF-ERROR-1
  if (line.starts_with("ERR: ")) {
    return DecodedReply{
        .kind = ReplyKind::kError, .value = line.substr(5), .form = DialectId::kDocumented};
  }
  if (line.starts_with("ERR ")) {
    // Both dialects have this form, so that it shows neither.
    return DecodedReply{.kind = ReplyKind::kError, .value = line.substr(4), .form = std::nullopt};
  }
  return std::nullopt;
}

}  // namespace

void append_reply(std::string& out, const Reply& reply, std::optional<Verb> verb,
                  const Dialect& dialect) {
  switch (reply.kind) {
    case ReplyKind::kOk:
      out += "+OK\r\n";
      return;
    case ReplyKind::kNotApplied:
      out += verb == Verb::kVdel ? dialect.vdel_mismatch : dialect.set_not_applied;
      return;
    case ReplyKind::kValue:
      append_bulk(out, reply.value);
      return;
    case ReplyKind::kMissing:
      out += "$-1\r\n";
      return;
    case ReplyKind::kCount:
      out += ':';
      out += std::to_string(reply.count);
      out += "\r\n";
      return;
    case ReplyKind::kError:
      append_error(out, reply.error, verb, dialect);
      return;
  }
}

Result<DecodedReply, DecodeError> decode_reply(std::string_view payload, const Limits& limits) {
  const Result<Value, DecodeError> value = decode_value(payload, limits);
  if (!value) return fail(value.error());
  const DecodeError unexpected{DecodeErrorCode::kUnexpectedType, 0};
  switch (value->type) {
    case ValueType::kSimpleString:
      // No other text is a success: SDKs do not take `+ok` for one. Req: SET-OK-1
      if (value->text != "OK") return fail(unexpected);
      return DecodedReply{.kind = ReplyKind::kOk, .form = std::nullopt};
    case ValueType::kInteger:
      if (value->integer == -1) {
        return DecodedReply{.kind = ReplyKind::kNotApplied, .form = DialectId::kDeployed};
      }
      // Any other is a count, and no count is negative. Req: DEL-COUNT-1, NTF-STOP-3
      if (value->integer < 0) return fail(unexpected);
      return DecodedReply{.kind = ReplyKind::kCount, .count = value->integer, .form = std::nullopt};
    case ValueType::kBulk:
      return DecodedReply{.kind = ReplyKind::kValue, .value = value->text, .form = std::nullopt};
    case ValueType::kNull:
      return DecodedReply{.kind = ReplyKind::kMissing, .form = std::nullopt};
    case ValueType::kError:
      if (std::optional<DecodedReply> error = read_error(value->text)) return *error;
      return fail(unexpected);
    // No verb of the article is answered with a list. Whether a newer one may be is not for the
    // codec to say. Req: ERR-COMMAND-OPEN-2
    case ValueType::kArray:
      return fail(unexpected);
  }
  return fail(unexpected);
}

}  // namespace fencepost::codec
