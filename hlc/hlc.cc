#include "hlc/hlc.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "hlc/append.h"

namespace fencepost::hlc {
namespace {

constexpr std::size_t kWallDigits = 15;
constexpr std::size_t kCounterDigits = 5;

// Decimal digits only, at most kMaxDigits of them.
Result<std::uint64_t, ParseErrorCode> parse_number(std::string_view digits, ParseErrorCode bad) {
  // As many as the greatest number has. Without a bound there could be zeros without end.
  if (digits.size() > kMaxDigits) return fail(ParseErrorCode::kTooManyDigits);
  const bool decimal =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits.empty() || !decimal) return fail(bad);
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (code != std::errc{}) return fail(bad);
  return number;
}

void append_padded(std::string& out, std::uint64_t number, std::size_t width) {
  std::array<char, kMaxDigits> digits{};
  const auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  FENCEPOST_CHECK(code == std::errc{});
  const auto length = static_cast<std::size_t>(end - digits.data());
  if (length < width) out.append(width - length, '0');
  out.append(digits.data(), length);
}

// One past `counter`, or nothing at the limit.
std::optional<std::uint64_t> successor(std::uint64_t counter, std::uint64_t max_counter) {
  if (counter >= max_counter) return std::nullopt;
  return counter + 1;
}

}  // namespace

Result<Timestamp, ParseErrorCode> parse(std::string_view text) {
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) return fail(ParseErrorCode::kMissingField);
  const std::size_t second = text.find(':', first + 1);
  if (second == std::string_view::npos) return fail(ParseErrorCode::kMissingField);
  const auto wall_ms = parse_number(text.substr(0, first), ParseErrorCode::kBadWallClock);
  if (!wall_ms) return fail(wall_ms.error());
  // Beyond it, differences of two wall clocks would no longer fit a signed number of milliseconds.
  if (*wall_ms > kMaxWallMs) return fail(ParseErrorCode::kBadWallClock);
  const auto counter =
      parse_number(text.substr(first + 1, second - first - 1), ParseErrorCode::kBadCounter);
  if (!counter) return fail(counter.error());
  // Which node ids are legal is open: neither of these could be written and read back in one way
  // only. Req: HLC-PARSE-OPEN-1
  const std::string_view node = text.substr(second + 1);
  if (node.empty()) return fail(ParseErrorCode::kEmptyNode);
  if (node.find(':') != std::string_view::npos) return fail(ParseErrorCode::kColonInNode);
  return Timestamp{*wall_ms, *counter, std::string(node)};
}

std::string_view describe(ParseErrorCode code) {
  switch (code) {
    case ParseErrorCode::kMissingField:
      return "a timestamp is wallClock:counter:nodeId, and a field is missing";
    case ParseErrorCode::kBadWallClock:
      return "the wall clock must be decimal digits, at most 9223372036854775807";
    case ParseErrorCode::kBadCounter:
      return "the counter must be decimal digits, at most 18446744073709551615";
    case ParseErrorCode::kEmptyNode:
      return "the node id is empty";
    case ParseErrorCode::kColonInNode:
      return "the node id contains a colon";
    case ParseErrorCode::kTooManyDigits:
      return "a number has more than 20 digits";
  }
  return "unknown";
}

void append(std::string& out, const Timestamp& timestamp, Padding padding) {
  const bool padded = padding == Padding::kCanonical;
  append_padded(out, timestamp.wall_ms, padded ? kWallDigits : 0);
  out += ':';
  append_padded(out, timestamp.counter, padded ? kCounterDigits : 0);
  out += ':';
  out += timestamp.node;
}

bool is_plain_node_id(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > ' ' && c < '\x7f' && c != ':'; });
}

std::string format(const Timestamp& timestamp, Padding padding) {
  std::string out;
  out.reserve(2 * kMaxDigits + 2 + timestamp.node.size());
  append(out, timestamp, padding);
  return out;
}

bool too_far_ahead(const Timestamp& timestamp, std::uint64_t wall_ms, std::uint64_t max_drift_ms) {
  // The subtraction cannot wrap: it is done only when timestamp.wall_ms is the greater.
  return timestamp.wall_ms > wall_ms && timestamp.wall_ms - wall_ms > max_drift_ms;
}

Clock::Clock(std::string node, ClockLimits limits) : last_{0, 0, std::move(node)}, limits_(limits) {
  FENCEPOST_CHECK(!last_.node.empty());
  FENCEPOST_CHECK(last_.node.find(':') == std::string::npos);
}

Result<Timestamp, ClockErrorCode> Clock::now(std::uint64_t wall_ms) {
  // A clock that was set back, or two events in one millisecond, count up instead: versions must be
  // strictly greater. Req: VER-UPDATE-3
  if (wall_ms > last_.wall_ms) return advance(wall_ms, wall_ms, 0);
  return advance(wall_ms, last_.wall_ms, successor(last_.counter, limits_.max_counter));
}

Result<Timestamp, ClockErrorCode> Clock::update(const Timestamp& remote, std::uint64_t wall_ms) {
  const std::uint64_t newest = std::max({last_.wall_ms, remote.wall_ms, wall_ms});
  // The counter continues from whichever has the newest wall clock, and from the greater of two
  // that tie: else the result would not be above both. Req: VER-SET-2, VER-SET-3
  const bool ours = newest == last_.wall_ms;
  const bool theirs = newest == remote.wall_ms;
  if (!ours && !theirs) return advance(wall_ms, newest, 0);
  const std::uint64_t counter = std::max(ours ? last_.counter : 0, theirs ? remote.counter : 0);
  return advance(wall_ms, newest, successor(counter, limits_.max_counter));
}

Result<Timestamp, ClockErrorCode> Clock::advance(std::uint64_t wall_ms, std::uint64_t new_wall_ms,
                                                 std::optional<std::uint64_t> counter) {
  // All checks come before the clock moves: a timestamp that is refused leaves no trace. Req:
  // HLC-SKEW-6
  if (!counter) return fail(ClockErrorCode::kOverflow);
  const Timestamp next{new_wall_ms, *counter, last_.node};
  if (too_far_ahead(next, wall_ms, limits_.max_drift_ms)) return fail(ClockErrorCode::kDrift);
  last_.wall_ms = next.wall_ms;
  last_.counter = next.counter;
  return next;
}

Fencing check_fencing(const Timestamp* held, const Timestamp* offered) {
  // Compared with the token of the key, regardless of the version of its value. Req: FT-COMPARE-1,
  // FT-REQUIRED-1, FT-LOWER-1, FT-ACCEPT-1
  if (held == nullptr) return Fencing::kAccepted;
  if (offered == nullptr) return Fencing::kRequired;
  return *offered < *held ? Fencing::kLower : Fencing::kAccepted;
}

const Timestamp* token_after(const Timestamp* held, const Timestamp* offered) {
  // Never back, and a key does not lose its token to a request without one. Req: FT-ADVANCE-1,
  // FT-ADVANCE-2
  if (held == nullptr) return offered;
  if (offered == nullptr) return held;
  return *offered > *held ? offered : held;
}

}  // namespace fencepost::hlc
