#include "base/text/printable.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/utf8.h"

namespace fencepost::text {
namespace {

constexpr std::string_view kEllipsis = "…";

// The bytes of the character at the beginning of `text`, when it is one that XML 1.0 can hold and
// its UTF-8 is right; 0 when not.
std::size_t character_length(std::string_view text) {
  const Character first = first_character(text);
  const bool control = first.code < 0x20 && first.code != '\n' && first.code != '\t';
  // Terminals take 0x9b for the beginning of a command, and let others turn the order of a line.
  const bool other_control = first.code >= 0x7f && first.code <= 0x9f;
  const bool turns = first.code == 0x061c || first.code == 0x200e || first.code == 0x200f ||
                     (first.code >= 0x202a && first.code <= 0x202e) ||
                     (first.code >= 0x2066 && first.code <= 0x2069);
  const bool ends_line = first.code == 0x2028 || first.code == 0x2029;
  const bool none = first.code == 0xfffe || first.code == 0xffff;
  return control || other_control || turns || ends_line || none ? 0 : first.length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out = printable(text);
  std::replace(out.begin(), out.end(), '\n', ' ');
  std::replace(out.begin(), out.end(), '\t', ' ');
  return out;
}

std::string shortened(std::string_view text, std::size_t most) {
  FENCEPOST_CHECK(most >= kEllipsis.size());
  if (text.size() <= most) return std::string(text);
  std::size_t end = most - kEllipsis.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + std::string(kEllipsis);
}

std::string shell_word(std::string_view text) {
  // What no shell gives a meaning to, wherever it stands. `=` is not included: a command may begin
  // with assignments.
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

namespace {

// Takes the word at the beginning off `command`; nothing where it is not one that shell_word()
// writes.
std::optional<std::string> take_word(std::string_view& command) {
  std::string out;
  std::size_t end = 0;
  if (command.starts_with('\'')) {
    for (end = 1; end < command.size(); ++end) {
      if (command[end] != '\'') {
        out += command[end];
      } else if (command.substr(end).starts_with("'\\''")) {
        out += '\'';
        end += 3;
      } else {
        ++end;
        break;
      }
    }
  } else {
    end = std::min(command.find(' '), command.size());
    out = command.substr(0, end);
  }
  const bool as_written = shell_word(out) == command.substr(0, end);
  command.remove_prefix(end);
  const bool ends = command.empty() || command.starts_with(' ');
  return as_written && ends ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<std::vector<std::string>> words_of(std::string_view command) {
  std::vector<std::string> out;
  while (true) {
    auto word = take_word(command);
    if (!word) return std::nullopt;
    out.push_back(std::move(*word));
    if (command.empty()) return out;
    command.remove_prefix(1);  // the blank
  }
}

std::string without_secrets(std::string text, std::vector<std::string> secrets) {
  constexpr std::string_view kStars = "***";
  // The longest first: one secret may be a part of another.
  std::sort(secrets.begin(), secrets.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  for (const std::string& secret : secrets) {
    if (secret.empty()) continue;
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + kStars.size())) {
      text.replace(at, secret.size(), kStars);
    }
  }
  return text;
}

}  // namespace fencepost::text
