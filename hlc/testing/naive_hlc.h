// Hybrid logical clocks a second time, for tests only: short, slow, and written from the paper and
// the protocol's documents rather than from hlc.cc.
//
//   std::optional<naive::Padded> padded = naive::read("9:0:n");
//   *padded < *naive::read("10:0:n");      // as text: their digits are padded
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hlc/hlc.h"

namespace fencepost::hlc::naive {

// A timestamp without numbers: 20 digits each, so that their order is that of text.
struct Padded {
  std::array<char, kMaxDigits> wall{};
  std::array<char, kMaxDigits> counter{};
  std::string_view node{};  // lives as long as the text that it was read from

  friend auto operator<=>(const Padded&, const Padded&) = default;
};

// Nothing when the text is no timestamp.
[[nodiscard]] std::optional<Padded> read(std::string_view text);

// As hlc::format() is to write it.
[[nodiscard]] std::string spelled(const Padded& padded, Padding padding);

// What a clock with the last timestamp `last` is to give at `wall_ms`, by figure 5 of Kulkarni,
// Demirbas et al. (2014), in numbers that do not wrap. `message`: null for a local event.
[[nodiscard]] Result<Timestamp, ClockErrorCode> next(const Timestamp& last,
                                                     const Timestamp* message,
                                                     std::uint64_t wall_ms,
                                                     const ClockLimits& limits);

// Is `a` newer than `b`? Part by part.
[[nodiscard]] bool newer(const Timestamp& a, const Timestamp& b);

}  // namespace fencepost::hlc::naive
