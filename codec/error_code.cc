#include "codec/error_code.h"

namespace fencepost::codec {

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kTimestampTooFarAhead:
      return "timestamp-too-far-ahead";
    case ErrorCode::kTokenRequired:
      return "token-required";
    case ErrorCode::kTokenTooFarAhead:
      return "token-too-far-ahead";
    case ErrorCode::kTokenLower:
      return "token-lower";
    case ErrorCode::kQuotaExceeded:
      return "quota-exceeded";
    case ErrorCode::kSyntax:
      return "syntax";
    case ErrorCode::kNotAuthorized:
      return "not-authorized";
    case ErrorCode::kUnknownCommand:
      return "unknown-command";
    case ErrorCode::kWrongArgumentCount:
      return "wrong-argument-count";
    case ErrorCode::kMissingTimestamp:
      return "missing-timestamp";
    case ErrorCode::kMalformedTimestamp:
      return "malformed-timestamp";
    case ErrorCode::kEmptyKey:
      return "empty-key";
  }
  return "unknown";
}

std::optional<ErrorCode> error_named(std::string_view wanted) {
  for (const ErrorCode code : kErrorCodes) {
    if (name(code) == wanted) return code;
  }
  return std::nullopt;
}

std::string_view text(ErrorCode code, const Dialect& dialect) {
  switch (code) {
    case ErrorCode::kTimestampTooFarAhead:
      return "the request timestamp is too far in the future; ensure that the client and broker "
             "system clocks are synchronized";
    case ErrorCode::kTokenRequired:
      return "a fencing token is required for this request";
    case ErrorCode::kTokenTooFarAhead:
      return "the request fencing token timestamp is too far in the future; ensure that the "
             "client and broker system clocks are synchronized";
    case ErrorCode::kTokenLower:
      return dialect.lower_token_text;
    case ErrorCode::kQuotaExceeded:
      return "the quota has been exceeded";
    case ErrorCode::kSyntax:
      return "syntax error";
    case ErrorCode::kNotAuthorized:
      return "not authorized";
    case ErrorCode::kUnknownCommand:
      return "unknown command";
    case ErrorCode::kWrongArgumentCount:
      return "wrong number of arguments";
    case ErrorCode::kMissingTimestamp:
      return "missing timestamp";
    case ErrorCode::kMalformedTimestamp:
      return "malformed timestamp";
    case ErrorCode::kEmptyKey:
      return "the key length is zero";
  }
  return "unknown";
}

std::optional<ErrorCode> error_with_text(std::string_view wanted) {
  for (const DialectId id : kDialects) {
    for (const ErrorCode code : kErrorCodes) {
      if (text(code, dialect(id)) == wanted) return code;
    }
  }
  return std::nullopt;
}

}  // namespace fencepost::codec
