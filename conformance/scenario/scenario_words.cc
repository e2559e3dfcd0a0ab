#include "conformance/scenario/scenario_words.h"

#include <algorithm>

#include "base/bytes.h"

namespace fencepost::scenario {

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c >= 0 && (c < ' ' || c == '\x7f')) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool is_plain_byte(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

std::string text_of_bytes(std::string_view bytes) {
  constexpr std::size_t kLong = 16;
  const bool same = bytes.find_first_not_of(bytes.substr(0, 1)) == std::string_view::npos;
  if (bytes.size() >= kLong && same) {
    return fmt::format("{{repeat: {}, times: {}}}", text_of_bytes(bytes.substr(0, 1)),
                       bytes.size());
  }
  if (std::all_of(bytes.begin(), bytes.end(), is_plain_byte)) return fmt::format("\"{}\"", bytes);
  return "{escaped: " + single_quoted(escape(bytes, bytes.size())) + "}";
}

std::string text_of_key(std::string_view key) {
  std::string out = "\"";
  for (const char c : key) {
    if (is_plain_byte(c)) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + "\"";
}

std::string duration_text(std::int64_t ms) {
  constexpr std::int64_t kMinuteMs = 60'000;
  if (ms % kMinuteMs == 0 && ms != 0) return fmt::format("{}m", ms / kMinuteMs);
  return ms % 1'000 == 0 && ms != 0 ? fmt::format("{}s", ms / 1'000) : fmt::format("{}ms", ms);
}

std::string moved(std::string_view base, std::int64_t by_ms) {
  if (by_ms == 0) return std::string(base);
  return fmt::format("{} {} {}", base, by_ms < 0 ? '-' : '+',
                     duration_text(by_ms < 0 ? -by_ms : by_ms));
}

}  // namespace fencepost::scenario
