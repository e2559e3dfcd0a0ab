#include "conformance/run/signature.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <regex>
#include <string_view>

#include <fmt/format.h>

#include "base/bytes.h"
#include "conformance/text/yaml_quote.h"

namespace fencepost::run {
namespace {

constexpr std::size_t kMaxRead = 2'000;  // of a part: the rest does not count
constexpr std::size_t kMaxPart = 160;    // of a part, without what changes between runs
constexpr std::size_t kShown = 140;      // of a longer part, before its hash

// No token that changes between runs is longer: one that was cut begins at most this far before the
// cut.
constexpr std::size_t kMaxTokenLength = 64;

struct Rule {
  std::regex pattern;
  const char* replacement;
};

// In this order: an earlier rule leaves nothing for a later one to misread.
const std::array<Rule, 7>& rules() {
  static const std::array<Rule, 7> all = {
      // `fencepost/<run>/<case>/`, the prefix of all keys, and the same in Base16.
      Rule{std::regex("fencepost/[0-9A-Za-z]{1,16}/[0-9a-f]{8}/"), "fencepost/*/*/"},
      Rule{std::regex("66656e6365706f73742f([3-7][0-9a-f]){1,16}2f([36][0-9a-f]){8}2f",
                      std::regex::icase),
           "fencepost/*/*/ in Base16, then "},
      // `fp-<run>-<case>-`, the prefix of all client ids.
      Rule{std::regex("fp-[0-9A-Za-z]{1,16}-[0-9a-f]{8}-"), "fp-*-*-"},
      Rule{std::regex("66702d([3-7][0-9a-f]){1,16}2d([36][0-9a-f]){8}2d", std::regex::icase),
           "fp-*-*- in Base16, then "},
      Rule{std::regex(R"re(correlation data "([^"\\]|\\.)*")re"), "correlation data *"},
      // Wall clocks in milliseconds, with the counter behind them.
      Rule{std::regex("[0-9]{10,}(:[0-9]{1,20})?"), "*"},
      Rule{std::regex("\\b[0-9]{1,20}(\\.[0-9]{1,20})? ms\\b"), "* ms"},
      // escape() says how long the bytes were that it has cut.
  };
  return all;
}

// The value of `__ts`: whatever the store made of it, what has digits is of this run.
std::string without_versions(const std::string& text) {
  static const std::regex version("(__ts (?:=|equal to|greater than) )(\\S{1,500})");
  static const std::regex number("[0-9A-Fa-f]{0,20}[0-9][0-9A-Fa-f]{0,20}");
  std::string out;
  auto rest = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), version), end; at != end; ++at) {
    out.append(rest, (*at)[2].first);
    out += std::regex_replace((*at)[2].str(), number, "*");
    rest = (*at)[2].second;
  }
  return out.append(rest, text.cend());
}

// `abc... (500 bytes)`: what stands just before the cut may be half of something that changes.
std::string without_cut_tokens(const std::string& text) {
  static const std::regex cut("\\.\\.\\. \\([0-9]{1,20} bytes\\)");
  std::string out;
  auto rest = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), cut), end; at != end; ++at) {
    out.append(rest, (*at)[0].first);
    const auto before = static_cast<std::size_t>((*at)[0].first - rest);
    out.resize(out.size() - std::min(before, kMaxTokenLength));
    out += at->str();
    rest = (*at)[0].second;
  }
  return out.append(rest, text.cend());
}

std::string ascii_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return out;
}

// The part of a signature that this text is.
std::string steady(std::string_view whole) {
  std::string text = ascii_escaped(whole.substr(0, kMaxRead));
  const bool read_in_part = whole.size() > kMaxRead;
  text = without_versions(text);
  for (const Rule& rule : rules()) text = std::regex_replace(text, rule.pattern, rule.replacement);
  text = without_cut_tokens(text);
  if (read_in_part) text.resize(text.size() - std::min(text.size(), kMaxTokenLength));
  while (text.ends_with(' ')) text.pop_back();
  if (text.size() <= kMaxPart) return text;
  return fmt::format("{}...#{:08x}", text.substr(0, kShown), stable_hash(text) & 0xffffffffU);
}

}  // namespace

std::string signature(const CaseResult& result) {
  if (!result.signature.empty()) return result.signature;
  if (result.unexpected_pass || result.message.empty()) return {};
  std::string out = ascii_escaped(result.requirement) + ": " + steady(result.message);
  if (!result.expected.empty()) out += " | want " + steady(result.expected);
  if (!result.actual.empty()) out += " | got " + steady(result.actual);
  return out;
}

std::string quoted_signature(const std::string& signature) { return text::yaml_quoted(signature); }

}  // namespace fencepost::run
