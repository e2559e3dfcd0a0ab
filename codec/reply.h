// Replies of the store: typed, encoded in a dialect, decoded from either.
//
//   Result<DecodedReply, DecodeError> reply = decode_reply(":-1\r\n");
//   reply->kind == ReplyKind::kNotApplied;  reply->form == DialectId::kDeployed;
//
// Pure and thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/resp3.h"

namespace fencepost::codec {

enum class ReplyKind {
  kOk,          // +OK
  kNotApplied,  // SET whose condition does not hold, VDEL whose value differs
  kValue,       // $n value
  kMissing,     // $-1: GET of an absent key
  kCount,       // :n deleted keys, or the :0 of a STOP without registration
  kError,       // -ERR text
};

struct Reply {
  ReplyKind kind = ReplyKind::kOk;
  std::string_view value{};              // kValue
  std::int64_t count = 0;                // kCount
  ErrorCode error = ErrorCode::kSyntax;  // kError

  friend bool operator==(const Reply&, const Reply&) = default;
};

// Appends the payload of a reply to a request with this verb. `verb` is empty when the request had
// no known one.
void append_reply(std::string& out, const Reply& reply, std::optional<Verb> verb,
                  const Dialect& dialect);

// A reply as it was read.
struct DecodedReply {
  ReplyKind kind = ReplyKind::kOk;
  std::string_view value{};       // kValue: the value. kError: the text after "-ERR " or "-ERR: "
  std::int64_t count = 0;         // kCount
  std::optional<DialectId> form;  // set when only one dialect spells it like this

  friend bool operator==(const DecodedReply&, const DecodedReply&) = default;
};

// Reads a reply in either dialect's form. An error reply must begin with "-ERR " or
// "-ERR: " (or be the documented "-1").
// The views live as long as `payload`.
[[nodiscard]] Result<DecodedReply, DecodeError> decode_reply(std::string_view payload,
                                                             const Limits& limits = {});

}  // namespace fencepost::codec
