#include "base/text/output.h"

#include <algorithm>
#include <array>

#include <unistd.h>

#include "base/text/colour.h"
#include "base/utf8.h"

namespace fencepost::text {
namespace {

// What Paint writes, and kEraseLine.
constexpr std::array<std::string_view, 7> kStyles = {"\033[0m",  "\033[1m",  "\033[2m", "\033[31m",
                                                     "\033[32m", "\033[33m", kEraseLine};

// The length of the style at the beginning of the text; 0: there is none.
std::size_t style_length(std::string_view text) {
  const auto* found = std::find_if(kStyles.begin(), kStyles.end(),
                                   [&](std::string_view style) { return text.starts_with(style); });
  return found == kStyles.end() ? 0 : found->size();
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hexadecimal(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Does a command begin at `at`? GitHub's runner takes `::word` at the beginning of a line, and
// Azure's agent `##[` and `##vso[` anywhere in one. An IPv6 address (`[::1]`, `fe80::a`) is not
// one.
bool command_begins(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("##[") || rest.starts_with("##vso[")) return true;
  if (rest.size() < 3 || !rest.starts_with("::") || !is_letter(rest[2])) return false;
  const char before = at == 0 ? '\n' : text[at - 1];
  return before != '[' && !is_hexadecimal(before);
}

// `text` with the second character of each command as `escape` gives it: # or a colon.
template <typename Escape>
std::string without_commands(std::string_view text, const Escape& escape) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    out += text[at];
    if ((text[at] == '#' || text[at] == ':') && command_begins(text, at)) out += escape(text[++at]);
  }
  return out;
}

// A JSON document with escapes for the characters beyond ASCII, and DEL, that a terminal takes for
// commands or for the end or the turn of a line: C1, bidi, U+2028 and U+2029. All are in strings.
std::string without_marks(std::string_view document) {
  std::string out;
  out.reserve(document.size());
  while (!document.empty()) {
    const Character first = first_character(document);
    const std::size_t length = std::max<std::size_t>(first.length, 1);
    const bool shown =
        first.length == 0 || (first.code < 0x7f) ||
        (first.code > 0x7f && printable(document.substr(0, length)) == document.substr(0, length));
    if (shown || first.code > 0xffff) {
      out += document.substr(0, length);
    } else {
      out += fmt::format("\\u{:04x}", first.code);
    }
    document.remove_prefix(length);
  }
  return out;
}

std::string escaped(char c) { return fmt::format("\\x{:02x}", static_cast<unsigned char>(c)); }

}  // namespace

std::string for_output(std::string_view text, bool styled) {
  std::string out;
  // Most texts have nothing to escape, and printable() looks at each character.
  while (!text.empty()) {
    const std::size_t end =
        styled ? std::min(text.find_first_of("\r\033"), text.size()) : text.size();
    out += printable(text.substr(0, end));
    text.remove_prefix(end);
    if (text.empty()) break;
    const std::size_t style = style_length(text);
    out += style > 0 ? std::string(text.substr(0, style)) : escaped(text[0]);
    text.remove_prefix(std::max<std::size_t>(style, 1));
  }
  return without_commands(out, escaped);
}

std::string document_for_output(std::string_view document) {
  const std::size_t first = document.find_first_not_of(" \r\n\t");
  const char kind = first == std::string_view::npos ? '\0' : document[first];
  if (kind == '{' || kind == '[') {
    const auto escape = [](char c) { return fmt::format("\\u{:04x}", c); };
    return without_commands(without_marks(document), escape);
  }
  const bool page = document.substr(std::min(first, document.size())).starts_with("<!DOCTYPE html");
  if (kind == '<' && !page) return markup_for_output(document);
  return std::string(document);
}

std::string markup_for_output(std::string_view markup) {
  return without_commands(markup, [](char c) { return fmt::format("&#{};", static_cast<int>(c)); });
}

void write(std::FILE* stream, std::string_view lines, bool styled) {
  const std::string safe = for_output(lines, styled);
  (void)std::fwrite(safe.data(), 1, safe.size(), stream);
}

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

void write_commands(std::FILE* stream, std::string_view lines) {
  (void)std::fwrite(lines.data(), 1, lines.size(), stream);
}

void print_document(std::FILE* stream, std::string_view document) {
  const std::string safe = document_for_output(document);
  (void)std::fwrite(safe.data(), 1, safe.size(), stream);
}

}  // namespace fencepost::text
