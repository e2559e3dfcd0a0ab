// Text that any report may hold. What a peer sends can be any bytes; XML 1.0 and JSON cannot hold
// them, and neither can a log of lines.
//
//   printable("a\0b\xff")  ->  a\x00b\xff      (backslash, x, two digits)
//
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::text {

// Characters of XML 1.0 in right UTF-8 stay, line feeds and tabs among them, but for control
// characters, line separators and marks that turn the direction of a line; each other byte becomes
// \xNN.
[[nodiscard]] std::string printable(std::string_view text);

// As printable(), on one line: line feeds and tabs become blanks.
[[nodiscard]] std::string one_line(std::string_view text);

// At most `most` bytes of `text`, which is right UTF-8: no character is cut in two, and a cut ends
// in an ellipsis. `most` is at least 3.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

// As one word of a shell's command line: plain words as they are, others in single quotes. A NUL,
// which no argument can hold, is kept.
[[nodiscard]] std::string shell_word(std::string_view text);

// The words of a command line, if shell_word() has written each of them; nothing for any other
// text.
[[nodiscard]] std::optional<std::vector<std::string>> words_of(std::string_view command);

// The text with *** instead of each secret; empty secrets are ignored.
[[nodiscard]] std::string without_secrets(std::string text, std::vector<std::string> secrets);

}  // namespace fencepost::text
