#include "conformance/run/signature.h"

#include <algorithm>
#include <array>
#include <cstddef>
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

// Reads on in a text, piece by piece; once a piece is missing nothing more is read. No piece can
// begin with what may end the piece before it, so reading as much as possible is always right.
class Scan {
 public:
  Scan(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  Scan& literal(std::string_view wanted) {
    if (good_ && text_.substr(at_).starts_with(wanted)) {
      at_ += wanted.size();
    } else {
      good_ = false;
    }
    return *this;
  }
  // From `min` to `max` characters of a kind.
  template <typename Kind>
  Scan& run(Kind is, std::size_t min, std::size_t max) {
    std::size_t count = 0;
    while (count < max && at_ + count < text_.size() && is(text_[at_ + count])) ++count;
    good_ = good_ && count >= min;
    at_ += count;
    return *this;
  }
  // Pairs of hexadecimal digits, the first of each pair one of `first`: letters and digits in
  // Base16.
  Scan& pairs(std::string_view first, std::size_t min, std::size_t max);
  // The same, whether upper or lower case. `wanted` is in lower case.
  Scan& literal_of_any_case(std::string_view wanted);

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

 private:
  std::string_view text_;
  std::size_t at_;
  bool good_ = true;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_word(char c) { return is_alphanumeric(c) || c == '_'; }
bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_hex(char c) { return is_lower_hex(c) || (c >= 'A' && c <= 'F'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

Scan& Scan::pairs(std::string_view first, std::size_t min, std::size_t max) {
  std::size_t count = 0;
  while (count < max && at_ + 1 < text_.size() &&
         first.find(text_[at_]) != std::string_view::npos && is_hex(text_[at_ + 1])) {
    at_ += 2;
    ++count;
  }
  good_ = good_ && count >= min;
  return *this;
}

Scan& Scan::literal_of_any_case(std::string_view wanted) {
  for (const char c : wanted) {
    good_ = good_ && lower(next()) == c;
    if (good_) ++at_;
  }
  return *this;
}

constexpr std::size_t kMaxRunId = 16;      // what makes the ids of runs has fewer digits
constexpr std::size_t kCaseHash = 8;       // digits
constexpr std::size_t kMaxNumber = 20;     // digits of 64 bits
constexpr std::size_t kMinWallClock = 10;  // digits; a smaller number may be part of the fault

// Each gives the end of what changes between runs and begins at `at`, or `at`.
std::size_t end_of(const Scan& scan, std::size_t at) { return scan.good() ? scan.at() : at; }

// `fencepost/<run>/<case>/`, the prefix of all keys.
std::size_t key_prefix(std::string_view text, std::size_t at) {
  return end_of(Scan(text, at)
                    .literal("fencepost/")
                    .run(is_alphanumeric, 1, kMaxRunId)
                    .literal("/")
                    .run(is_lower_hex, kCaseHash, kCaseHash)
                    .literal("/"),
                at);
}

// The same as topics of notifications have it.
std::size_t key_prefix_in_base16(std::string_view text, std::size_t at) {
  return end_of(Scan(text, at)
                    .literal_of_any_case("66656e6365706f73742f")
                    .pairs("34567", 1, kMaxRunId)
                    .literal_of_any_case("2f")
                    .pairs("36", kCaseHash, kCaseHash)
                    .literal_of_any_case("2f"),
                at);
}

// `fp-<run>-<case>-`, the prefix of all client ids.
std::size_t client_prefix(std::string_view text, std::size_t at) {
  return end_of(Scan(text, at)
                    .literal("fp-")
                    .run(is_alphanumeric, 1, kMaxRunId)
                    .literal("-")
                    .run(is_lower_hex, kCaseHash, kCaseHash)
                    .literal("-"),
                at);
}

std::size_t client_prefix_in_base16(std::string_view text, std::size_t at) {
  return end_of(Scan(text, at)
                    .literal_of_any_case("66702d")
                    .pairs("34567", 1, kMaxRunId)
                    .literal_of_any_case("2d")
                    .pairs("36", kCaseHash, kCaseHash)
                    .literal_of_any_case("2d"),
                at);
}

// Up to the closing quote; escaped ones do not close.
std::size_t correlation_data(std::string_view text, std::size_t at) {
  const Scan begin = Scan(text, at).literal("correlation data \"");
  if (!begin.good()) return at;
  for (std::size_t i = begin.at(); i < text.size(); ++i) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') ++i;
  }
  return at;
}

// In milliseconds, with the counter behind it.
std::size_t wall_clock(std::string_view text, std::size_t at) {
  const Scan wall = Scan(text, at).run(is_digit, kMinWallClock, text.size());
  Scan counter = wall;
  counter.literal(":").run(is_digit, 1, kMaxNumber);
  return end_of(counter.good() ? counter : wall, at);
}

// `12.5 ms`, as words of their own.
std::size_t duration(std::string_view text, std::size_t at) {
  if (at > 0 && is_word(text[at - 1])) return at;
  Scan scan = Scan(text, at).run(is_digit, 1, kMaxNumber);
  if (scan.next() == '.') scan.literal(".").run(is_digit, 1, kMaxNumber);
  scan.literal(" ms");
  return is_word(scan.next()) ? at : end_of(scan, at);
}

// `... (500 bytes)`, which escape() puts where it has cut.
std::size_t cut_mark(std::string_view text, std::size_t at) {
  return end_of(Scan(text, at).literal("... (").run(is_digit, 1, kMaxNumber).literal(" bytes)"),
                at);
}

using Find = std::size_t (*)(std::string_view text, std::size_t at);

// `first`: what each piece that `find` finds begins with.
std::string replaced(std::string_view text, Find find, std::string_view first,
                     std::string_view replacement) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = std::min(text.find_first_of(first, at), text.size());
    out += text.substr(at, next - at);
    at = next;
    if (at == text.size()) break;
    const std::size_t end = find(text, at);
    if (end > at) {
      out += replacement;
      at = end;
    } else {
      out += text[at++];
    }
  }
  return out;
}

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";

struct Rule {
  Find find;
  std::string_view first;
  std::string_view replacement;
};

// In this order: an earlier rule leaves nothing for a later one to misread.
constexpr std::array kRules = {
    Rule{key_prefix, "f", "fencepost/*/*/"},
    Rule{key_prefix_in_base16, "6", "fencepost/*/*/ in Base16, then "},
    Rule{client_prefix, "f", "fp-*-*-"},
    Rule{client_prefix_in_base16, "6", "fp-*-*- in Base16, then "},
    Rule{correlation_data, "c", "correlation data *"},
    Rule{wall_clock, kDigits, "*"},
    Rule{duration, kDigits, "* ms"},
};

// Hexadecimal digits with a decimal one among the first of them.
std::size_t number(std::string_view text, std::size_t at) {
  const std::size_t most = Scan(text, at).run(is_hex, 0, kMaxNumber).at() - at;
  for (std::size_t before = most + 1; before-- > 0;) {
    Scan scan(text, at + before);
    if (is_digit(scan.next())) {
      return scan.run(is_digit, 1, 1).run(is_hex, 0, kMaxNumber).at();
    }
  }
  return at;
}

// Where the value of a `__ts` begins that stands at `at`; `at` where there is none.
std::size_t begin_of_version(std::string_view text, std::size_t at) {
  for (const std::string_view before : {"__ts = ", "__ts equal to ", "__ts greater than "}) {
    const Scan begin = Scan(text, at).literal(before);
    if (begin.good() && begin.next() != ' ' && begin.at() < text.size()) return begin.at();
  }
  return at;
}

// The value of `__ts`: whatever the store made of it, what has digits is of this run.
std::string without_versions(std::string_view text) {
  constexpr std::size_t kMaxVersion = 500;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = begin_of_version(text, at);
    if (begin == at) {
      out += text[at++];
      continue;
    }
    out += text.substr(at, begin - at);
    at = Scan(text, begin).run([](char c) { return c != ' '; }, 1, kMaxVersion).at();
    out += replaced(text.substr(begin, at - begin), number, kHexDigits, "*");
  }
  return out;
}

// What stands just before a cut may be half of something that changes.
std::string without_cut_tokens(std::string_view text) {
  std::string out;
  std::size_t since_cut = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = cut_mark(text, at);
    if (end == at) {
      out += text[at++];
      ++since_cut;
      continue;
    }
    out.resize(out.size() - std::min(since_cut, kMaxTokenLength));
    out += text.substr(at, end - at);
    at = end;
    since_cut = 0;
  }
  return out;
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
  for (const Rule& rule : kRules) text = replaced(text, rule.find, rule.first, rule.replacement);
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
