// A request to the state store, typed and decoded.
//
//   Result<Command, ErrorCode> command = parse_command(payload, dialect(DialectId::kDeployed));
//   command->verb == Verb::kSet;  command->key == "k";
//
// A request that is not one carries the protocol's error for it (Req: ERR-SYNTAX-1, ERR-COMMAND-1,
// ERR-ARITY-1, KEY-EMPTY-1), in this order: not decodable, unknown verb, number of arguments,
// options, empty key.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/resp3.h"
#include "codec/verb.h"

namespace fencepost::codec {

enum class Condition {
  kAlways,
  kIfAbsent,         // NX
  kIfAbsentOrEqual,  // NEX
};

struct Command {
  Verb verb = Verb::kGet;
  std::string_view key{};    // never empty
  std::string_view value{};  // SET and VDEL; may be empty
  Condition condition = Condition::kAlways;
  std::optional<std::chrono::milliseconds>
      expires_after{};  // PX; zero is legal and expires immediately
  bool stop = false;    // KEYNOTIFY key STOP

  friend bool operator==(const Command&, const Command&) = default;
};

// PX is refused above this: 100 years in milliseconds, far from any overflow of now + PX.
inline constexpr std::chrono::milliseconds kMaxExpiry{std::chrono::hours{24} * 36525};

// The views in the command live as long as `payload`. Allocates nothing. Thread safe.
[[nodiscard]] Result<Command, ErrorCode> parse_command(std::string_view payload,
                                                       const Dialect& dialect,
                                                       const Limits& limits = {});

// The verb that a decodable payload begins with, also when the rest of it is wrong; nothing for an
// unknown verb.
[[nodiscard]] std::optional<Verb> verb_of(std::string_view payload, const Limits& limits = {});

// The bytes of a command. parse_command(encode(c)) == c.
[[nodiscard]] std::string encode(const Command& command);

}  // namespace fencepost::codec
