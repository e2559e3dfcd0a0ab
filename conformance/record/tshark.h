// Runs tshark (Debian: tshark) over a packet capture.
#pragma once

#include <charconv>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fencepost::record {

// Calls `use` with what `tshark -n -r FILE WORDS...` prints, piece by piece, to its end. The error
// says that the file is no capture, that tshark is not there, or what it has complained about.
[[nodiscard]] Result<void, std::string> run_tshark(
    const std::string& file, const std::vector<std::string>& words,
    const std::function<void(std::string_view)>& use);

// A field that is a number, and nothing else.
template <typename Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text, int base = 10) {
  Number out{};
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  if (code != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return out;
}

// A field with seconds and, perhaps, a fraction of them.
[[nodiscard]] std::optional<std::chrono::microseconds> time_in(std::string_view text);

}  // namespace fencepost::record
