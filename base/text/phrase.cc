#include "base/text/phrase.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"

namespace fencepost::text {
namespace {

constexpr std::size_t kMaxGeneral = 120;
constexpr std::size_t kMaxSteady = 160;
constexpr std::size_t kShown = 140;    // of a longer one, before its hash
constexpr std::size_t kTagDigits = 8;  // of a case, behind the run id
// No name or time is longer: one that was cut begins at most this far before the cut.
constexpr std::size_t kMaxToken = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

template <typename Kind>
std::size_t length_of(std::string_view text, Kind is) {
  const auto end = std::find_if_not(text.begin(), text.end(), is);
  return static_cast<std::size_t>(end - text.begin());
}

std::string base16(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

bool starts_with_in_any_case(std::string_view text, std::string_view lower_case) {
  return text.size() >= lower_case.size() &&
         std::equal(lower_case.begin(), lower_case.end(), text.begin(),
                    [](char wanted, char c) { return lower(c) == wanted; });
}

// `<start><8 digits><end>`, as it is and as topics of notifications have it: in Base16. Without
// digits what stands between is nothing.
struct NamePattern {
  std::string start;
  std::string end;
  std::string instead;
  bool in_base16 = false;
  std::size_t tag_digits = kTagDigits;

  // How much of the text, which it is at the beginning of; 0 when it is not there.
  [[nodiscard]] std::size_t length_in(std::string_view text) const {
    const std::size_t digits = in_base16 ? 2 * tag_digits : tag_digits;
    const std::size_t whole = start.size() + digits + end.size();
    if (text.size() < whole) return 0;
    const bool begins = in_base16 ? starts_with_in_any_case(text, start) : text.starts_with(start);
    const std::string_view rest = text.substr(std::min(start.size(), text.size()));
    if (!begins || length_of(rest.substr(0, digits), is_hex) != digits) return 0;
    const std::string_view closing = rest.substr(digits);
    const bool ends = in_base16 ? starts_with_in_any_case(closing, end) : closing.starts_with(end);
    return ends ? whole : 0;
  }
};

std::vector<NamePattern> patterns_of(const RunNames& run) {
  if (run.run_id.empty()) return {};
  const std::string keys = run.key_prefix + "/";
  const std::string clients = "fp-";
  const std::string of_keys = keys + run.run_id + "/";
  const std::string of_clients = clients + run.run_id + "-";
  std::vector<NamePattern> out{
      {of_keys, "/", keys + "*/*/"},
      {base16(of_keys), base16("/"), keys + "*/*/ in Base16, then ", true},
      {of_clients, "-", clients + "*-*-"},
      {base16(of_clients), base16("-"), clients + "*-*- in Base16, then ", true}};
  // A store may have put other bytes around it. A short one, which a user has chosen, may be part
  // of anything.
  if (run.run_id.size() >= kTagDigits) out.push_back({run.run_id, "", "*", false, 0});
  return out;
}

// A wall clock in milliseconds, with the counter behind it: anywhere in the text, it is of now. A
// smaller number may be part of the fault.
std::size_t time_length(std::string_view text) {
  constexpr std::size_t kMinDigits = 10;
  constexpr std::size_t kMaxCounter = 20;
  const std::size_t wall = length_of(text, is_digit);
  if (wall < kMinDigits) return 0;
  if (wall == text.size() || text[wall] != ':') return wall;
  const std::size_t counter = std::min(length_of(text.substr(wall + 1), is_digit), kMaxCounter);
  return counter == 0 ? wall : wall + 1 + counter;
}

bool is_word(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '_'; }

// `12.5 ms`, as words of their own. How long the number is.
std::size_t milliseconds_length(std::string_view text) {
  constexpr std::string_view kUnit = " ms";
  std::size_t number = length_of(text, is_digit);
  if (number == 0) return 0;
  if (number < text.size() && text[number] == '.') {
    const std::size_t fraction = length_of(text.substr(number + 1), is_digit);
    if (fraction > 0) number += 1 + fraction;
  }
  const std::string_view rest = text.substr(number);
  if (!rest.starts_with(kUnit)) return 0;
  return rest.size() > kUnit.size() && is_word(rest[kUnit.size()]) ? 0 : number;
}

std::string without_names(std::string_view text, const std::vector<NamePattern>& patterns) {
  std::string out;
  char before = ' ';
  while (!text.empty()) {
    std::size_t length = 0;
    for (const NamePattern& pattern : patterns) {
      length = pattern.length_in(text);
      if (length == 0) continue;
      out += pattern.instead;
      break;
    }
    if (length == 0) {
      length = is_word(before) ? 0 : milliseconds_length(text);
      length = std::max(length, time_length(text));
      if (length > 0) out += '*';
    }
    if (length == 0) {
      out += text.front();
      length = 1;
    }
    before = text[length - 1];
    text.remove_prefix(length);
  }
  return out;
}

// In any form that a store has given to a version, what has digits in it is of this run, also in
// hexadecimal.
std::string without_numbers(std::string_view version) {
  std::string out;
  while (!version.empty()) {
    const std::size_t number = length_of(version, is_hex);
    const std::string_view digits = version.substr(0, number);
    if (number > 0 && std::any_of(digits.begin(), digits.end(), is_digit)) {
      out += '*';
    } else {
      out += digits;
    }
    version.remove_prefix(number);
    const std::size_t other = length_of(version, [](char c) { return !is_hex(c); });
    out += version.substr(0, other);
    version.remove_prefix(other);
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

// Without numbers and what is in quotes.
void add_general(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size() && out.size() < kMaxGeneral; ++i) {
    const char c = text[i];
    if (c == '"') {
      out += "\"*\"";
      i = std::min(text.find('"', i + 1), text.size());
    } else if (is_digit(c)) {
      i += length_of(text.substr(i), is_digit) - 1;
      out += '#';
    } else {
      out += c >= ' ' && c < 0x7f ? c : '?';
    }
  }
}

}  // namespace

Phrase::Phrase(std::string words) {
  if (!words.empty()) parts_.push_back({.text = std::move(words)});
}

Phrase& Phrase::words(std::string_view words) {
  parts_.push_back({.text = std::string(words)});
  return *this;
}

Phrase& Phrase::name(std::string_view name) {
  parts_.push_back({.kind = Kind::kName, .text = std::string(name)});
  return *this;
}

Phrase& Phrase::bytes(std::string_view bytes, std::size_t shown) {
  Part part{.kind = Kind::kBytes, .text = escape(bytes, shown)};
  if (bytes.size() > shown) {
    part.cut = fmt::format("... ({} bytes)", bytes.size());
    part.text.resize(part.text.size() - part.cut.size());
  }
  parts_.push_back(std::move(part));
  return *this;
}

Phrase& Phrase::quoted(std::string_view bytes_in_quotes, std::size_t shown) {
  return words("\"").bytes(bytes_in_quotes, shown).words("\"");
}

Phrase& Phrase::correlation_data(std::string_view bytes, std::size_t shown) {
  parts_.push_back({.kind = Kind::kQuote, .text = "\"" + escape(bytes, shown) + "\""});
  return *this;
}

Phrase& Phrase::version(std::string_view escaped) {
  parts_.push_back({.kind = Kind::kVersion, .text = std::string(escaped)});
  return *this;
}

Phrase& Phrase::milliseconds(std::int64_t count) {
  parts_.push_back({.kind = Kind::kTime, .text = fmt::format("{} ms", count)});
  return *this;
}

Phrase& Phrase::add(Phrase other) {
  std::move(other.parts_.begin(), other.parts_.end(), std::back_inserter(parts_));
  return *this;
}

Phrase& Phrase::means(std::string general) {
  general_ = std::move(general);
  return *this;
}

Phrase Phrase::any_of(std::vector<Phrase> phrases) {
  Phrase out;
  std::vector<std::string> texts;
  std::vector<std::string> meanings;
  const auto is_new = [](std::vector<std::string>& known, std::string text) {
    if (std::find(known.begin(), known.end(), text) != known.end()) return false;
    known.push_back(std::move(text));
    return true;
  };
  for (Phrase& each : phrases) {
    std::string general = each.general();
    if (!is_new(texts, each.text())) continue;
    if (!out.empty()) out.words("  or  ");
    out.add(std::move(each));
    is_new(meanings, std::move(general));
  }
  return out.means(fmt::format("{}", fmt::join(meanings, " or ")));
}

std::string Phrase::text() const {
  std::string out;
  for (const Part& part : parts_) out += part.text + part.cut;
  return out;
}

std::string Phrase::steady(const RunNames& run) const {
  const std::vector<NamePattern> patterns = patterns_of(run);
  std::string out;
  for (const Part& part : parts_) {
    switch (part.kind) {
      case Kind::kName:
        out += part.text;
        break;
      case Kind::kWords:
      case Kind::kBytes:
        out += without_names(part.text, patterns);
        break;
      case Kind::kQuote:
        out += '*';
        break;
      case Kind::kVersion:
        out += without_numbers(part.text);
        break;
      case Kind::kTime:
        out += "* ms";
        break;
    }
    if (part.cut.empty()) continue;
    // What stands just before a cut may be half of something that changes.
    out.resize(out.size() - std::min(out.size(), kMaxToken));
    out += part.cut;
  }
  out = ascii_escaped(out);
  while (out.ends_with(' ')) out.pop_back();
  if (out.size() <= kMaxSteady) return out;
  return fmt::format("{}...#{:08x}", out.substr(0, kShown), stable_hash(out) & 0xffffffffU);
}

std::string Phrase::general() const {
  if (!general_.empty()) return general_;
  std::string out;
  std::string joined;  // parts that are read as one text, where quotes may begin and end
  for (const Part& part : parts_) {
    if (part.kind != Kind::kName) {
      joined += part.text + part.cut;
      continue;
    }
    add_general(std::exchange(joined, {}), out);
    out += '*';
  }
  add_general(joined, out);
  return out;
}

}  // namespace fencepost::text
