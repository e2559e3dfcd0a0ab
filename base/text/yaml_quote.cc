#include "base/text/yaml_quote.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include <fmt/format.h>

#include "base/utf8.h"

namespace fencepost::text {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// Does it look like a number in any YAML reader's eyes? Digits with signs, points, exponents,
// bases, underscores.
bool looks_numeric(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (text.empty() || ((text[0] < '0' || text[0] > '9') && text[0] != '.')) return false;
  if (text == ".") return false;
  const bool based = text.starts_with("0x") || text.starts_with("0o") || text.starts_with("0b");
  const std::string_view allowed = based ? "0123456789abcdefABCDEFxo_" : "0123456789.eE+-_:";
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

// 2001-12-14t21:59:43.10-05:00: YAML 1.1 readers make a date of it.
bool looks_like_date(std::string_view text) {
  const std::size_t day = text.find_first_of("Tt \t");
  if (day == std::string_view::npos || !looks_numeric(text.substr(0, day))) return false;
  return text.find('-') != std::string_view::npos &&
         text.find_first_not_of("0123456789.+-:TtZz \t") == std::string_view::npos;
}

// Characters that YAML 1.2 does not let stand as they are, or that readers may take for line ends.
bool needs_escape(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code <= 0x9f);
  const bool line_end = code == 0x2028 || code == 0x2029;
  const bool mark = code == 0xfeff || code == 0xfffe || code == 0xffff;
  return control || line_end || mark;
}

// YAML's escapes name characters, not bytes.
std::string escape_of(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  return code <= 0xff ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Character first = first_character(text);
    const std::size_t length = std::max<std::size_t>(first.length, 1);
    if (first.length == 0) {
      out += escape_of(static_cast<unsigned char>(text[0]));
    } else if (needs_escape(first.code)) {
      out += escape_of(first.code);
    } else {
      if (first.code == '"' || first.code == '\\') out += '\\';
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out + "\"";
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

// A colon or a number sign beside a blank, a comma or a bracket would end the scalar. So only
// characters are plain that need no look at their neighbours, but for blanks and colons.
bool is_plain(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-:=+ ";
  constexpr std::string_view kNotFirst = "-:=+ ";
  return !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos &&
         kNotFirst.find(text.front()) == std::string_view::npos && text.back() != ':' &&
         text.back() != ' ' && text.find(": ") == std::string_view::npos &&
         !text.starts_with("...") && !is_retyped(text);
}

// Without an escape.
bool may_stand_in_quotes(std::string_view text) {
  while (!text.empty()) {
    const Character first = first_character(text);
    if (first.length == 0 || needs_escape(first.code)) return false;
    text.remove_prefix(first.length);
  }
  return true;
}

}  // namespace

std::string yaml_scalar(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  const bool has_special = text.find_first_of("\"\\") != std::string_view::npos;
  return has_special ? yaml_quoted(text) : double_quoted(text);
}

std::string yaml_quoted(std::string_view text) {
  return may_stand_in_quotes(text) ? single_quoted(text) : double_quoted(text);
}

bool is_retyped(std::string_view plain) {
  static const std::set<std::string> words = {"",      "~",     "null", "true", "false", "yes",
                                              "no",    "on",    "off",  "y",    "n",     ".inf",
                                              "-.inf", "+.inf", ".nan", "=",    "<<"};
  // Of most texts the first letter says it: loading all scenarios asks this of tens of thousands.
  constexpr std::string_view kFirst = "~nNtTfFyYoO.=<+-0123456789";
  if (!plain.empty() && kFirst.find(plain.front()) == std::string_view::npos) return false;
  return words.contains(lower(plain)) || looks_numeric(plain) || looks_like_date(plain);
}

}  // namespace fencepost::text
