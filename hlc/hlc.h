// Hybrid logical clocks: the versions and fencing tokens of the protocol.
//
//   Result<Timestamp, ParseErrorCode> ts = parse("1696374425000:0:Client1");
//   Clock clock("StateStore");
//   Result<Timestamp, ClockErrorCode> version = clock.update(*ts, wall_ms);   // greater than both
//
// A timestamp is written `{wallClock}:{counter}:{node-Id}`: milliseconds since the Unix epoch, a
// counter, and the name of the node. Order is numeric on the first two and bytewise on the third.
// (Req: HLC-FORMAT-1, HLC-ORDER-1) Everything here is pure: the wall clock is an argument.
// Functions are thread safe; a Clock is not.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fencepost::hlc {

struct Timestamp {
  std::uint64_t wall_ms = 0;
  std::uint64_t counter = 0;
  std::string node{};

  // Numeric on wall_ms and counter, bytewise (as unsigned char) on node: a strict total order.
  friend std::strong_ordering operator<=>(const Timestamp& a, const Timestamp& b) = default;
  friend bool operator==(const Timestamp& a, const Timestamp& b) = default;
};

enum class ParseErrorCode {
  kMissingField,   // fewer than two colons
  kBadWallClock,   // not decimal digits, or above 2^63 - 1
  kBadCounter,     // not decimal digits, or above 2^64 - 1
  kEmptyNode,      // nothing after the second colon
  kColonInNode,    // a third colon
  kTooManyDigits,  // a number of more than kMaxDigits digits, leading zeros included
};

inline constexpr std::size_t kMaxDigits = 20;
inline constexpr std::uint64_t kMaxWallMs =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// Reads a timestamp. Padding with leading zeros is accepted; signs, blanks, fractions and exponents
// are not. Total: any bytes give a timestamp or an error. (Req: HLC-PARSE-1)
[[nodiscard]] Result<Timestamp, ParseErrorCode> parse(std::string_view text);

// One sentence for people.
[[nodiscard]] std::string_view describe(ParseErrorCode code);

// Can it be the node of a timestamp, and stand in an MQTT user property without further checks?
// Printable ASCII, with neither colons nor blanks, and not empty.
[[nodiscard]] bool is_plain_node_id(std::string_view text);

enum class Padding {
  kNone,      // 1696374425000:1:StateStore, as the article prints them
  kCanonical  // 001696374425000:00001:StateStore, as the client SDKs print them: 15 and 5 digits,
              // never cut
};

// parse(format(t, p)) == t for every t with wall_ms <= kMaxWallMs whose node is neither empty nor
// has a colon.
[[nodiscard]] std::string format(const Timestamp& timestamp, Padding padding = Padding::kCanonical);

struct ClockLimits {
  std::uint64_t max_drift_ms =
      60'000;  // how far a timestamp may be ahead of the wall clock; exactly this is legal
  std::uint64_t max_counter =
      std::numeric_limits<std::uint64_t>::max();  // the largest counter ever issued
};

enum class ClockErrorCode {
  kDrift,     // the new timestamp would be more than max_drift_ms ahead of the wall clock
  kOverflow,  // the counter would pass max_counter
};

// Is `timestamp` more than max_drift_ms ahead of `wall_ms`? The past is never too far. (Req:
// HLC-SKEW-1, HLC-SKEW-2)
[[nodiscard]] bool too_far_ahead(const Timestamp& timestamp, std::uint64_t wall_ms,
                                 std::uint64_t max_drift_ms = ClockLimits{}.max_drift_ms);

// A node's clock, after Kulkarni, Demirbas et al. (2014), figure 5. Every timestamp issued is
// strictly greater than all issued or accepted before. A refused call leaves the clock as it was;
// kOverflow is named before kDrift.
class Clock {
 public:
  // `node` goes into every timestamp; it must be neither empty nor contain a colon.
  explicit Clock(std::string node, ClockLimits limits = {});

  // A local event at wall clock `wall_ms`. Fails with kOverflow or kDrift.
  [[nodiscard]] Result<Timestamp, ClockErrorCode> now(std::uint64_t wall_ms);

  // The receipt of `remote` at wall clock `wall_ms`: greater than `remote`. Fails with kOverflow or
  // kDrift.
  [[nodiscard]] Result<Timestamp, ClockErrorCode> update(const Timestamp& remote,
                                                         std::uint64_t wall_ms);

  // The last timestamp issued; wall clock and counter 0 before the first.
  [[nodiscard]] const Timestamp& last() const { return last_; }

 private:
  [[nodiscard]] Result<Timestamp, ClockErrorCode> advance(std::uint64_t wall_ms,
                                                          std::uint64_t new_wall_ms,
                                                          std::optional<std::uint64_t> counter);

  Timestamp last_;
  ClockLimits limits_;
};

// What the fencing rule says of a request that changes a key. (Req: FT-REQUIRED-1, FT-LOWER-1,
// FT-ACCEPT-1)
enum class Fencing {
  kAccepted,
  kRequired,  // the key has a token and the request has none
  kLower,     // the request's token is older than the key's
};

// `held`: the token of the key; `offered`: the token of the request; null for none. Equal tokens
// are accepted.
[[nodiscard]] Fencing check_fencing(const Timestamp* held, const Timestamp* offered);

// The token that the key holds after an accepted request: the newer of the two, or null when
// neither exists.
[[nodiscard]] const Timestamp* token_after(const Timestamp* held, const Timestamp* offered);

}  // namespace fencepost::hlc
