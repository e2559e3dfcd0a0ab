#include "conformance/yaml_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace fencepost::conformance {
namespace {

constexpr std::string_view kQuotedTag =
    "!";  // yaml-cpp's tag of a quoted scalar; a plain one has "?"

bool is_quoted(const YAML::Node& node) { return node.Tag() == kQuotedTag; }

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

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::string kind_of(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      return "a mapping";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Scalar:
      return "\"" + node.Scalar() + "\"";
    case YAML::NodeType::Null:
      return "nothing";
    case YAML::NodeType::Undefined:
      break;
  }
  return "nothing";
}

}  // namespace

std::string describe(const LoadError& error) {
  const Position& at = error.position;
  return at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
         error.text;
}

bool is_retyped(std::string_view plain) {
  static const std::set<std::string> kWords = {"",    "~",    "null",  "true",  "false",
                                               "yes", "no",   "on",    "off",   "y",
                                               "n",   ".inf", "-.inf", "+.inf", ".nan"};
  return kWords.contains(lower(plain)) || looks_numeric(plain);
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::int64_t kMost = 1'000'000'000;
  if (code != std::errc{} || number < 0 || number > kMost) return std::nullopt;
  if (unit == "ms") return std::chrono::milliseconds{number};
  if (unit == "s") return std::chrono::seconds{number};
  if (unit == "m") return std::chrono::minutes{number};
  if (unit == "h") return std::chrono::hours{number};
  return std::nullopt;
}

std::string nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::optional<YAML::Node> YamlReader::parse(const std::string& text) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    errors_.push_back(
        {{file_, error.mark.line + 1, error.mark.column + 1}, "this is not YAML: " + error.msg});
    return std::nullopt;
  }
}

Position YamlReader::position(const YAML::Node& node) const {
  const YAML::Mark mark = node.Mark();
  return {file_, mark.line + 1, mark.column + 1};
}

void YamlReader::complain(const YAML::Node& node, std::string text) {
  errors_.push_back({position(node), std::move(text)});
}

YAML::Node YamlReader::member(const YAML::Node& map, std::string_view key) {
  const YAML::Node found = map[std::string(key)];
  // yaml-cpp gives an invalid node for an absent key, and whatever one asks that throws.
  return found.IsDefined() ? found : YAML::Node(YAML::NodeType::Undefined);
}

bool YamlReader::check_map(const YAML::Node& node, std::string_view what,
                           std::span<const std::string_view> allowed,
                           std::initializer_list<std::string_view> required) {
  if (!node.IsMap()) {
    complain(node, std::string(what) + " must be a mapping, not " + kind_of(node));
    return false;
  }
  bool good = true;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      const std::string guess = nearest(key, allowed);
      std::string list;
      for (const std::string_view name : allowed)
        list += (list.empty() ? "" : ", ") + std::string(name);
      complain(entry.first, std::string(what) + " has no key \"" + key + "\"" +
                                (guess.empty() ? "; it may have: " + list
                                               : "; did you mean \"" + guess + "\"?"));
      good = false;
    } else if (!seen.insert(key).second) {
      complain(entry.first,
               "the key \"" + key + "\" stands twice in " + std::string(what) + "; remove one");
      good = false;
    }
  }
  for (const std::string_view key : required) {
    if (seen.contains(std::string(key))) continue;
    complain(node, std::string(what) + " needs the key \"" + std::string(key) + "\"");
    good = false;
  }
  return good;
}

std::optional<std::string> YamlReader::text(const YAML::Node& node, std::string_view what) {
  if (!node.IsScalar() && !node.IsNull()) {
    complain(node, std::string(what) + " must be text, not " + kind_of(node));
    return std::nullopt;
  }
  const std::string scalar = node.IsNull() ? "" : node.Scalar();
  if (!is_quoted(node) && is_retyped(scalar)) {
    complain(node, std::string(what) + ": YAML readers take " +
                       (scalar.empty() ? "an empty value" : scalar) +
                       " for something else than text; write \"" + scalar + "\"");
    return std::nullopt;
  }
  return scalar;
}

std::optional<std::int64_t> YamlReader::integer(const YAML::Node& node, std::string_view what,
                                                std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  if (node.IsScalar() && !is_quoted(node)) {
    const std::string& text = node.Scalar();
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = code == std::errc{} && end == text.data() + text.size();
    if (whole && number >= least && number <= most) return number;
  }
  complain(node, std::string(what) + " must be a whole number from " + std::to_string(least) +
                     " to " + std::to_string(most) + " without quotes, not " + kind_of(node));
  return std::nullopt;
}

std::optional<bool> YamlReader::boolean(const YAML::Node& node, std::string_view what) {
  if (node.IsScalar() && !is_quoted(node)) {
    if (node.Scalar() == "true") return true;
    if (node.Scalar() == "false") return false;
  }
  complain(node, std::string(what) + " must be true or false, not " + kind_of(node));
  return std::nullopt;
}

std::vector<std::string> YamlReader::texts(const YAML::Node& node, std::string_view what) {
  std::vector<std::string> out;
  if (!node.IsSequence()) {
    complain(node, std::string(what) + " must be a list of texts, not " + kind_of(node));
    return out;
  }
  for (const YAML::Node& item : node) {
    if (std::optional<std::string> entry = text(item, what)) out.push_back(std::move(*entry));
  }
  return out;
}

std::optional<std::chrono::milliseconds> YamlReader::duration(const YAML::Node& node,
                                                              std::string_view what) {
  const auto parsed = node.IsScalar() ? parse_duration(node.Scalar()) : std::nullopt;
  if (!parsed) {
    complain(node, std::string(what) + " must be a duration such as 150ms, 2s or 1m, not " +
                       kind_of(node));
  }
  return parsed;
}

}  // namespace fencepost::conformance
