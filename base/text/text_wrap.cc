#include "base/text/text_wrap.h"

#include <algorithm>

#include <sys/ioctl.h>
#include <unistd.h>

namespace fencepost::text {
namespace {

constexpr std::size_t kMinWidth = 60;
constexpr std::size_t kMaxWidth = 140;
constexpr std::size_t kFileWidth = 100;

// Not the first byte of a character of UTF-8.
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

// Appends one line of the text, broken where it must be; returns the column it ends in.
std::size_t append_line(std::string& out, std::string_view line, std::size_t column,
                        const WrapOptions& options) {
  bool begun = false;  // is there a word on this line of output?
  while (!line.empty()) {
    const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t end = std::min(line.find(' ', blanks), line.size());
    const std::string_view word = line.substr(blanks, end - blanks);
    if (!word.empty() && begun && column + blanks + columns(word) > options.width) {
      out += "\n" + std::string(options.indent, ' ');
      column = options.indent;
    } else if (!word.empty()) {
      out.append(blanks, ' ');
      column += blanks;
    }
    out += word;
    column += columns(word);
    begun = begun || !word.empty();
    line.remove_prefix(end);
  }
  return column;
}

}  // namespace

std::string wrap(std::string_view text, const WrapOptions& options) {
  std::string out;
  std::size_t column = options.first;
  while (true) {
    const std::size_t end = text.find('\n');
    append_line(out, text.substr(0, end), column, options);
    if (end == std::string_view::npos) return out;
    out += "\n" + std::string(options.indent, ' ');
    column = options.indent;
    text.remove_prefix(end + 1);
  }
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  bool escape = false;
  for (const char c : text) {
    if (c == '\033') escape = true;
    if (!escape && !continues_character(c)) ++count;
    if (escape && c == 'm') escape = false;
  }
  return count;
}

std::string cut(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  std::size_t end = 0;
  for (std::size_t kept = 0; end < text.size(); ++end) {
    if (!continues_character(text[end]) && ++kept == width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string counted(std::size_t number, std::string_view noun) {
  constexpr std::size_t kGrouped = 10'000;
  constexpr std::size_t kGroup = 3;
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); number >= kGrouped && at > kGroup;) {
    at -= kGroup;
    digits.insert(at, ",");
  }
  return digits + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::string padded(std::string_view text, std::size_t width) {
  const std::size_t taken = columns(text);
  return std::string(text) + std::string(taken < width ? width - taken : 0, ' ');
}

std::size_t terminal_width(std::FILE* stream) {
  winsize size{};
  if (isatty(fileno(stream)) != 1 || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0) {
    return kFileWidth;
  }
  if (size.ws_col == 0) return kFileWidth;
  return std::clamp<std::size_t>(size.ws_col, kMinWidth, kMaxWidth);
}

}  // namespace fencepost::text
