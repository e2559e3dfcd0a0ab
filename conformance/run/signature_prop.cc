// Signatures against a second opinion: the same rules as regular expressions.
#include <algorithm>
#include <array>
#include <random>
#include <regex>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "conformance/run/signature.h"

namespace fencepost::run {
namespace {

constexpr std::size_t kMaxRead = 2'000;
constexpr std::size_t kMaxPart = 160;
constexpr std::size_t kShown = 140;
constexpr std::size_t kMaxTokenLength = 64;

struct Expression {
  std::regex pattern;
  const char* replacement;
};

// In this order: an earlier rule leaves nothing for a later one to misread.
const std::array<Expression, 7>& expressions() {
  static const std::array<Expression, 7> all = {
      // `fencepost/<run>/<case>/`, the prefix of all keys, and the same in Base16.
      Expression{std::regex("fencepost/[0-9A-Za-z]{1,16}/[0-9a-f]{8}/"), "fencepost/*/*/"},
      Expression{std::regex("66656e6365706f73742f([3-7][0-9a-f]){1,16}2f([36][0-9a-f]){8}2f",
                            std::regex::icase),
                 "fencepost/*/*/ in Base16, then "},
      // `fp-<run>-<case>-`, the prefix of all client ids.
      Expression{std::regex("fp-[0-9A-Za-z]{1,16}-[0-9a-f]{8}-"), "fp-*-*-"},
      Expression{std::regex("66702d([3-7][0-9a-f]){1,16}2d([36][0-9a-f]){8}2d", std::regex::icase),
                 "fp-*-*- in Base16, then "},
      Expression{std::regex(R"re(correlation data "([^"\\]|\\.)*")re"), "correlation data *"},
      // Wall clocks in milliseconds, with the counter behind them.
      Expression{std::regex("[0-9]{10,}(:[0-9]{1,20})?"), "*"},
      Expression{std::regex("\\b[0-9]{1,20}(\\.[0-9]{1,20})? ms\\b"), "* ms"},
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

// Of printable ASCII.
std::string steady_by_expressions(const std::string& whole) {
  std::string text = without_versions(whole.substr(0, kMaxRead));
  for (const Expression& each : expressions()) {
    text = std::regex_replace(text, each.pattern, each.replacement);
  }
  text = without_cut_tokens(text);
  if (whole.size() > kMaxRead) text.resize(text.size() - std::min(text.size(), kMaxTokenLength));
  while (text.ends_with(' ')) text.pop_back();
  if (text.size() <= kMaxPart) return text;
  return fmt::format("{}...#{:08x}", text.substr(0, kShown), stable_hash(text) & 0xffffffffU);
}

// What the rules are about, and what is nearly that.
constexpr std::array<std::string_view, 60> kPieces = {"fencepost/",
                                                      "3ec1d66b",
                                                      "7c54f5e2",
                                                      "/",
                                                      "fp-",
                                                      "-",
                                                      "k",
                                                      " ",
                                                      "a",
                                                      "A",
                                                      "_",
                                                      "66656E6365706F73742F",
                                                      "66656e6365706f73742f",
                                                      "66702D",
                                                      "66702d",
                                                      "3333316431363662",
                                                      "3763353466356532",
                                                      "3EC1",
                                                      "2F",
                                                      "2f",
                                                      "2D",
                                                      "2d",
                                                      "46",
                                                      "57",
                                                      "1",
                                                      "correlation data \"",
                                                      "\"",
                                                      "\\",
                                                      "\\\"",
                                                      "absent",
                                                      "1767225600000",
                                                      "176722560",
                                                      "1767225600",
                                                      ":",
                                                      ":1",
                                                      "00001",
                                                      "12345678901234567890",
                                                      "0",
                                                      " ms",
                                                      "ms",
                                                      ".",
                                                      "5",
                                                      "...",
                                                      "... (",
                                                      "500",
                                                      " bytes)",
                                                      "... (500 bytes)",
                                                      "__ts = ",
                                                      "__ts equal to ",
                                                      "__ts greater than ",
                                                      "__ts",
                                                      "=",
                                                      "StateStore",
                                                      "19b77f5cc00",
                                                      "g",
                                                      ";",
                                                      "deadbeef",
                                                      "fp-3ec1d66b-7c54f5e2-",
                                                      "fencepost/3ec1d66b/7c54f5e2/",
                                                      "$3\\r\\none\\r\\n"};

TEST(SignatureProperty, IsThatOfTheExpressions) {
  constexpr int kExamples = 2'000;
  constexpr std::size_t kMaxPieces = 24;
  constexpr int kLong = 500;  // one example in so many is longer than what is read
  std::mt19937_64 random(1);
  for (int i = 0; i < kExamples; ++i) {
    std::string text;
    const std::size_t count = random() % kMaxPieces + (i % kLong == 0 ? kMaxRead / 4 : 1);
    for (std::size_t n = 0; n < count; ++n) text += kPieces[random() % kPieces.size()];
    CaseResult result{.verdict = Verdict::kFailed};
    result.requirement = "R-MUST-1";
    result.message = text;
    ASSERT_EQ(signature(result), "R-MUST-1: " + steady_by_expressions(text)) << text;
  }
}

}  // namespace
}  // namespace fencepost::run
