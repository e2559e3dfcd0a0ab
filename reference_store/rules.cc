#include "reference_store/rules.h"

namespace fencepost::store {

using codec::ErrorCode;

Result<hlc::Timestamp, ErrorCode> check_timestamp(const std::string* text, std::uint64_t wall_ms) {
  // Req: HLC-REQUIRED-1, HLC-PARSE-1, HLC-SKEW-1. There is no lower bound: a timestamp of 1970 is
  // old, not wrong (HLC-SKEW-3, HLC-PARSE-3).
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
  // Req: FT-OPTIONAL-1, HLC-PARSE-1, HLC-SKEW-2. The counter of a token is never counted up, so its
  // limit is that of the type, not kMaxRequestCounter.
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
  // Req: SET-NX-1, SET-NX-2, SET-NEX-1 to SET-NEX-3. NX refuses an equal value, too: that alone is
  // what distinguishes it from NEX.
  if (condition == codec::Condition::kAlways || stored == nullptr) return true;
  return condition == codec::Condition::kIfAbsentOrEqual && *stored == offered;
}

// Who observes a key gets to read its values. Req: AUTH-READ-1
Access access_needed(codec::Verb verb) {
  return codec::changes(verb) ? Access::kWrite : Access::kRead;
}

// Checked for new keys only: a SET of a key that exists takes no room. Req: QUOTA-KEYS-1
bool has_room(std::size_t keys, std::size_t quota) { return quota == 0 || keys < quota; }

const hlc::Timestamp* token_after(const hlc::Timestamp* held, const hlc::Timestamp* offered) {
  return hlc::token_after(held, offered);
}

Result<hlc::Timestamp, hlc::ClockErrorCode> version_of_set(hlc::Clock& clock,
                                                           const hlc::Timestamp& request,
                                                           const Instant& now) {
  return clock.update(request, now.wall_ms);
}

// The new expiry replaces the old one: a SET without PX makes the key permanent. The time runs from
// the store's steady clock, so neither `__ts` nor a GET moves it. Req: SET-PX-5, SET-PX-7
std::optional<std::chrono::microseconds> deadline_of_set(
    const codec::Command& command, const hlc::Timestamp& /*request*/,
    std::optional<std::chrono::microseconds> /*held*/, const Instant& now) {
  if (!command.expires_after) return std::nullopt;
  return now.steady + *command.expires_after;
}

std::chrono::microseconds removal_time(std::chrono::microseconds deadline) { return deadline; }

bool value_matches(std::string_view stored, std::string_view offered) { return stored == offered; }

}  // namespace fencepost::store
