// Text as YAML scalars: the one place that knows how files are quoted. Each function gives a scalar
// on one line, for block and flow context alike, that every YAML reader takes for exactly this
// text.
//
//   yaml_scalar("k")      ->  k
//   yaml_scalar("1.20")   ->  "1.20"
//   yaml_scalar("a\"b")   ->  'a"b'
//   yaml_scalar("a\r\n")  ->  "a\r\n"
//
// The text is UTF-8; of a byte that is not, the character with its number is written. Pure and
// thread safe.
#pragma once

#include <string>
#include <string_view>

namespace fencepost::text {

// Plain where that is safe, else in quotes.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

// In single quotes, where YAML leaves everything alone; in double quotes when the text has what
// single quotes cannot hold (line ends and other control characters).
[[nodiscard]] std::string yaml_quoted(std::string_view text);

// Would a YAML reader take this plain scalar for something else than text? (true, 1.20, 0x10, ~,
// ...)
[[nodiscard]] bool is_retyped(std::string_view plain);

}  // namespace fencepost::text
