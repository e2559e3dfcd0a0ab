// The rules of the protocol as small pure functions: no state, no clock, no I/O. The Store applies
// them to its state.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/command.h"
#include "codec/error_code.h"
#include "hlc/hlc.h"
#include "reference_store/authorization.h"

namespace fencepost::store {

// A reading of two clocks. Versions come from the wall clock, which may step; expiry is measured on
// the steady one.
struct Instant {
  std::uint64_t wall_ms = 0;  // since the Unix epoch
  std::chrono::microseconds steady{0};
};

// A `__ts` with a greater counter is malformed: the store's own counter must be able to grow past
// it for ever.
inline constexpr std::uint64_t kMaxRequestCounter = std::numeric_limits<std::uint64_t>::max() / 2;

// The timestamp of a SET: present, well formed, not too far ahead of the store's wall clock.
// (Req: VER-SET-1, ERR-TEXT-10, ERR-TEXT-11, HLC-SKEW-1)
[[nodiscard]] Result<hlc::Timestamp, codec::ErrorCode> check_timestamp(const std::string* text,
                                                                       std::uint64_t wall_ms);

// The fencing token of a request that changes a key: absent, or well formed and not too far ahead.
// (Req: ERR-TEXT-3, ERR-TEXT-11)
[[nodiscard]] Result<std::optional<hlc::Timestamp>, codec::ErrorCode> check_token(
    const std::string* text, std::uint64_t wall_ms);

// The error of a request that the fencing rule refuses, or nothing. (Req: FT-REQUIRED-1,
// FT-LOWER-1)
[[nodiscard]] std::optional<codec::ErrorCode> fencing_error(const hlc::Timestamp* held,
                                                            const hlc::Timestamp* offered);

// May SET go ahead? `stored` is the value of the key, null when it is absent. (Req: SET-NX-1,
// SET-NEX-1)
[[nodiscard]] bool condition_holds(codec::Condition condition, const std::string* stored,
                                   std::string_view offered);

// What a verb needs. (Req: AUTH-*)
[[nodiscard]] Access access_needed(codec::Verb verb);

// May one more key be stored? `quota` 0 means no limit. Overwriting needs no room. (Req: QUOTA-*)
[[nodiscard]] bool has_room(std::size_t keys, std::size_t quota);

// The token that a key holds after a SET that was not refused; null for none. (Req: FT-STORE-*)
[[nodiscard]] const hlc::Timestamp* token_after(const hlc::Timestamp* held,
                                                const hlc::Timestamp* offered);

// The version of a SET that is carried out; it moves the store's clock. (Req: VER-*, HLC-*)
[[nodiscard]] Result<hlc::Timestamp, hlc::ClockErrorCode> version_of_set(
    hlc::Clock& clock, const hlc::Timestamp& request, const Instant& now);

// When a key that is set now expires, on the steady clock; nothing for never. `held`: when it would
// have expired without this SET. (Req: SET-PX-*)
[[nodiscard]] std::optional<std::chrono::microseconds> deadline_of_set(
    const codec::Command& command, const hlc::Timestamp& request,
    std::optional<std::chrono::microseconds> held, const Instant& now);

// When a key with this deadline is gone, on the steady clock. Must grow with the deadline. (Req:
// SET-PX-1)
[[nodiscard]] std::chrono::microseconds removal_time(std::chrono::microseconds deadline);

// Does VDEL with `offered` delete a key with the value `stored`? (Req: VDEL-*)
[[nodiscard]] bool value_matches(std::string_view stored, std::string_view offered);

// The rules as a table that the Store reads. A store that breaks a rule on purpose has another
// function in its place; see faults/fault.h.
struct Rules {
  decltype(&store::check_timestamp) check_timestamp = &store::check_timestamp;
  decltype(&store::check_token) check_token = &store::check_token;
  decltype(&store::fencing_error) fencing_error = &store::fencing_error;
  decltype(&store::condition_holds) condition_holds = &store::condition_holds;
  decltype(&store::access_needed) access_needed = &store::access_needed;
  decltype(&store::has_room) has_room = &store::has_room;
  decltype(&store::token_after) token_after = &store::token_after;
  decltype(&store::version_of_set) version_of_set = &store::version_of_set;
  decltype(&store::deadline_of_set) deadline_of_set = &store::deadline_of_set;
  decltype(&store::removal_time) removal_time = &store::removal_time;
  decltype(&store::value_matches) value_matches = &store::value_matches;
};

}  // namespace fencepost::store
