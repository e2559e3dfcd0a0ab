#include "base/bytes.h"

namespace fencepost {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '\\':
      out += "\\\\";
      return;
    case '"':
      out += "\\\"";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte < 0x7f) {
    out += c;
    return;
  }
  out += "\\x";
  out += kHex[byte >> 4U];
  out += kHex[byte & 0xfU];
}

// The byte that a one-letter escape stands for; nothing when it is no such escape.
std::optional<char> simple_escape(char letter) {
  switch (letter) {
    case '\\':
    case '"':
      return letter;
    case 'r':
      return '\r';
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case '0':
      return '\0';
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string escape(std::string_view bytes, std::size_t max_bytes) {
  std::string out;
  for (const char c : bytes.substr(0, max_bytes)) append_escaped(out, c);
  if (bytes.size() > max_bytes) out += "... (" + std::to_string(bytes.size()) + " bytes)";
  return out;
}

std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (text[i] != 'x') {
      const std::optional<char> byte = simple_escape(text[i]);
      if (!byte) return std::nullopt;
      out += *byte;
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::uint64_t stable_hash(std::string_view bytes) {
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  }
  return hash;
}

}  // namespace fencepost
