#include "hlc/testing/naive_hlc.h"

#include <algorithm>

namespace fencepost::hlc::naive {
namespace {

using Digits = std::array<char, kMaxDigits>;
__extension__ using Wide = unsigned __int128;

// False when it is no number, or one above `most`.
bool pad(std::string_view text, std::string_view most, Digits& out) {
  if (text.empty() || text.size() > out.size()) return false;
  out.fill('0');
  text.copy(out.data() + out.size() - text.size(), text.size());
  const std::string_view digits(out.data(), out.size());
  return digits.find_first_not_of("0123456789") == std::string_view::npos && digits <= most;
}

// The digits without leading zeros, but at least `width` of them.
std::string_view cut(const Digits& digits, std::size_t width) {
  const std::string_view all(digits.data(), digits.size());
  return all.substr(std::min(all.find_first_not_of('0'), all.size() - width));
}

}  // namespace

std::optional<Padded> read(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t last = text.rfind(':');
  if (first == last || last + 1 == text.size()) return std::nullopt;
  Padded out{.node = text.substr(last + 1)};
  // A third colon would be in what stands for the counter.
  const std::string_view counter = text.substr(first + 1, last - first - 1);
  if (!pad(text.substr(0, first), "09223372036854775807", out.wall)) return std::nullopt;
  if (!pad(counter, "18446744073709551615", out.counter)) return std::nullopt;
  return out;
}

std::string spelled(const Padded& padded, Padding padding) {
  const bool wide = padding == Padding::kCanonical;
  std::string out(cut(padded.wall, wide ? 15 : 1));
  out.append(":").append(cut(padded.counter, wide ? 5 : 1)).append(":").append(padded.node);
  return out;
}

Result<Timestamp, ClockErrorCode> next(const Timestamp& last, const Timestamp* message,
                                       std::uint64_t wall_ms, const ClockLimits& limits) {
  const std::uint64_t theirs = message != nullptr ? message->wall_ms : 0;
  const std::uint64_t wall = std::max({last.wall_ms, theirs, wall_ms});
  Wide counter = 0;
  if (wall == last.wall_ms) counter = Wide{last.counter} + 1;
  if (message != nullptr && wall == theirs) {
    counter = std::max(counter, Wide{message->counter} + 1);
  }
  if (counter > limits.max_counter) return fail(ClockErrorCode::kOverflow);
  if (wall > Wide{wall_ms} + limits.max_drift_ms) return fail(ClockErrorCode::kDrift);
  return Timestamp{wall, static_cast<std::uint64_t>(counter), last.node};
}

bool newer(const Timestamp& a, const Timestamp& b) {
  if (a.wall_ms != b.wall_ms) return a.wall_ms > b.wall_ms;
  if (a.counter != b.counter) return a.counter > b.counter;
  const auto below = [](char x, char y) {
    return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
  };
  return std::lexicographical_compare(b.node.begin(), b.node.end(), a.node.begin(), a.node.end(),
                                      below);
}

}  // namespace fencepost::hlc::naive
