#include "reference_store/rules.h"

namespace fencepost::store {

using codec::ErrorCode;

Result<hlc::Timestamp, ErrorCode> check_timestamp(const std::string* text, std::uint64_t wall_ms) {
  if (text == nullptr) return fail(ErrorCode::kMissingTimestamp);
  Result<hlc::Timestamp, hlc::ParseErrorCode> timestamp = hlc::parse(*text);
  if (!timestamp || timestamp->counter > kMaxRequestCounter) {
    return fail(ErrorCode::kMalformedTimestamp);
  }
  if (hlc::too_far_ahead(*timestamp, wall_ms)) return fail(ErrorCode::kTimestampTooFarAhead);
  return std::move(*timestamp);
}

Result<std::optional<hlc::Timestamp>, ErrorCode> check_token(const std::string* text,
                                                             std::uint64_t wall_ms) {
  if (text == nullptr) return std::optional<hlc::Timestamp>();
  Result<hlc::Timestamp, hlc::ParseErrorCode> token = hlc::parse(*text);
  if (!token) return fail(ErrorCode::kMalformedTimestamp);
  if (hlc::too_far_ahead(*token, wall_ms)) return fail(ErrorCode::kTokenTooFarAhead);
  return std::optional(std::move(*token));
}

std::optional<ErrorCode> fencing_error(const hlc::Timestamp* held, const hlc::Timestamp* offered) {
  switch (hlc::check_fencing(held, offered)) {
    case hlc::Fencing::kAccepted:
      return std::nullopt;
    case hlc::Fencing::kRequired:
      return ErrorCode::kTokenRequired;
    case hlc::Fencing::kLower:
      return ErrorCode::kTokenLower;
  }
  return std::nullopt;
}

bool condition_holds(codec::Condition condition, const std::string* stored,
                     std::string_view offered) {
  if (condition == codec::Condition::kAlways || stored == nullptr) return true;
  return condition == codec::Condition::kIfAbsentOrEqual && *stored == offered;
}

Access access_needed(codec::Verb verb) {
  switch (verb) {
    case codec::Verb::kGet:
    case codec::Verb::kKeynotify:
      return Access::kRead;
    case codec::Verb::kSet:
    case codec::Verb::kDel:
    case codec::Verb::kVdel:
      return Access::kWrite;
  }
  return Access::kWrite;
}

bool has_room(std::size_t keys, std::size_t quota) { return quota == 0 || keys < quota; }

}  // namespace fencepost::store
