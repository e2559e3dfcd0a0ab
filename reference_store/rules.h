// The rules of the protocol as small pure functions: no state, no clock, no I/O. The Store applies
// them to its state.
#pragma once

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

}  // namespace fencepost::store
