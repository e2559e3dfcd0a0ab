// Words in colour on a terminal, by the escape codes of ECMA-48.
//
//   const Paint paint(on_terminal);
//   use(paint(Colour::kRed, "failed"));  // "\033[31mfailed\033[0m", or "failed" without colours
//
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace fencepost::text {

// The values are those of the escape codes.
enum class Colour { kBold = 1, kDim = 2, kRed = 31, kGreen = 32, kYellow = 33 };

class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}

  // The text as it is where colours are off.
  [[nodiscard]] std::string operator()(Colour colour, std::string_view text) const {
    if (!on_) return std::string(text);
    return "\033[" + std::to_string(static_cast<int>(colour)) + "m" + std::string(text) + "\033[0m";
  }

 private:
  bool on_;
};

// Empties the line that the cursor is on, and goes to its beginning.
inline constexpr const char* kEraseLine = "\r\033[K";

}  // namespace fencepost::text
