// Text for a terminal: broken into lines that fit, and how many columns there are.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace fencepost::text {

struct WrapOptions {
  std::size_t width = 80;  // columns of a line, with its indentation
  std::size_t indent = 0;  // blanks before each line but the first
  std::size_t first = 0;   // columns that are taken on the first line already
};

// `text` with line breaks in place of blanks, so that no line is longer than `width`; a word that
// is longer stands alone. Line breaks of the text itself stay. A character of UTF-8 counts as a
// column.
[[nodiscard]] std::string wrap(std::string_view text, const WrapOptions& options);

// How many characters of UTF-8 the text has; escape codes of colours (colour.h) do not count.
[[nodiscard]] std::size_t columns(std::string_view text);

// The text as it is when it fills at most `width` columns, else its beginning with an ellipsis.
// Knows no colours. `width` is at least 1.
[[nodiscard]] std::string cut(std::string_view text, std::size_t width);

// "1 case", "2069 cases", "52,378 cases".
[[nodiscard]] std::string counted(std::size_t number, std::string_view noun);

// The text with blanks behind it, so that it fills `width` columns.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width);

// The width of the terminal behind `stream`, from 60 to 140; 100 when it is not a terminal.
[[nodiscard]] std::size_t terminal_width(std::FILE* stream);

}  // namespace fencepost::text
