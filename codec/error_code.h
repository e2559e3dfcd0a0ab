// The twelve errors of the protocol and their exact texts. (Req: ERR-TEXT-*)
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "codec/dialect.h"

namespace fencepost::codec {

enum class ErrorCode {
  kTimestampTooFarAhead,
  kTokenRequired,
  kTokenTooFarAhead,
  kTokenLower,
  kQuotaExceeded,
  kSyntax,
  kNotAuthorized,
  kUnknownCommand,
  kWrongArgumentCount,
  kMissingTimestamp,
  kMalformedTimestamp,
  kEmptyKey,
};

inline constexpr std::array kErrorCodes = {
    ErrorCode::kTimestampTooFarAhead, ErrorCode::kTokenRequired,
    ErrorCode::kTokenTooFarAhead,     ErrorCode::kTokenLower,
    ErrorCode::kQuotaExceeded,        ErrorCode::kSyntax,
    ErrorCode::kNotAuthorized,        ErrorCode::kUnknownCommand,
    ErrorCode::kWrongArgumentCount,   ErrorCode::kMissingTimestamp,
    ErrorCode::kMalformedTimestamp,   ErrorCode::kEmptyKey};

// The short name that scenarios and reports use, e.g. "token-required".
[[nodiscard]] std::string_view name(ErrorCode code);
[[nodiscard]] std::optional<ErrorCode> error_named(std::string_view name);

// What follows `-ERR ` in the payload, e.g. "a fencing token is required for this request".
[[nodiscard]] std::string_view text(ErrorCode code, const Dialect& dialect);

// The error with that text in either dialect. Nothing for a text that the protocol does not list.
[[nodiscard]] std::optional<ErrorCode> error_with_text(std::string_view text);

}  // namespace fencepost::codec
