// Three lines as timestamps. Each is read, or refused, as by a second reader that knows no numbers:
// it pads their digits, so that their order is that of text. That order is a strict total one, and
// ours must be the same.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "fuzz/input_reader.h"
#include "hlc/hlc.h"

namespace {

using namespace fencepost::hlc;
using std::string_view;

struct Padded {
  std::array<char, kMaxDigits> wall{}, counter{};
  string_view node{};
  friend auto operator<=>(const Padded&, const Padded&) = default;
};

// False when it is no number, or one above `most`.
bool pad(string_view text, string_view most, std::array<char, kMaxDigits>& out) {
  if (text.empty() || text.size() > out.size()) return false;
  out.fill('0');
  text.copy(out.data() + out.size() - text.size(), text.size());
  const string_view digits(out.data(), out.size());
  return digits.find_first_not_of("0123456789") == string_view::npos && digits <= most;
}

std::optional<Padded> read(string_view text) {
  const std::size_t first = text.find(':'), last = text.rfind(':');
  if (first == last || last + 1 == text.size()) return std::nullopt;
  Padded out{.node = text.substr(last + 1)};
  const bool numbers =
      pad(text.substr(0, first), "09223372036854775807", out.wall) &&
      pad(text.substr(first + 1, last - first - 1), "18446744073709551615", out.counter);
  return numbers ? std::optional(out) : std::nullopt;
}

// As many digits as `width`, or more when there are more.
string_view cut(const std::array<char, kMaxDigits>& digits, std::size_t width) {
  const string_view all(digits.data(), digits.size());
  return all.substr(std::min(all.find_first_not_of('0'), all.size() - width));
}

void check_text(const Timestamp& timestamp, const Padded& padded) {
  std::string expected(cut(padded.wall, 15));
  expected.append(":").append(cut(padded.counter, 5)).append(":").append(padded.node);
  FENCEPOST_CHECK(format(timestamp) == expected);
  expected = cut(padded.wall, 1);
  expected.append(":").append(cut(padded.counter, 1)).append(":").append(padded.node);
  FENCEPOST_CHECK(format(timestamp, Padding::kNone) == expected);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  string_view rest = fencepost::fuzz::as_text(data, size);
  std::array<Padded, 3> theirs{};
  std::array<Timestamp, 3> ours{};
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto expected = read(line);
    const auto parsed = parse(line);
    FENCEPOST_CHECK(parsed.has_value() == expected.has_value());
    if (!parsed) return 0;
    check_text(*parsed, *expected);
    FENCEPOST_CHECK(parse(format(*parsed)) == *parsed);
    theirs[i] = *expected;
    ours[i] = *parsed;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      FENCEPOST_CHECK((ours[i] <=> ours[j]) == (theirs[i] <=> theirs[j]));
      FENCEPOST_CHECK((ours[i] == ours[j]) == (theirs[i] == theirs[j]));
    }
  }
  return 0;
}
