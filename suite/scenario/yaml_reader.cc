#include "suite/scenario/yaml_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "base/text/printable.h"
#include "suite/scenario/file_kind.h"

namespace fencepost::scenario {
namespace {

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

constexpr std::size_t kMaxShown = 200;       // of a value, in an error
constexpr std::size_t kMaxDiagnosed = 1000;  // bytes

std::string kind_of(YamlNode node, bool quote = true) {
  if (node.is_map()) return "a mapping";
  if (node.is_list()) return "a list";
  if (!node.is_scalar()) return "nothing";
  // What a file holds on one line may be megabytes.
  return quote ? "\"" + text::shortened(text::printable(node.scalar()), kMaxShown) + "\""
               : "a text";
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::int64_t kMax = 1'000'000'000;
  if (code != std::errc{} || text.starts_with('-') || number > kMax) return std::nullopt;
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
    // How many letters have to be added or removed at least.
    const std::size_t least =
        std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size());
    if (least >= best_distance) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::optional<YamlNode> YamlReader::parse(const std::string& content) {
  if (const std::string_view kind = kind_of_file(content); !kind.empty()) {
    errors_.push_back({{file_, 1, 1}, fmt::format("this is {}", kind)});
    return std::nullopt;
  }
  std::vector<YamlDiagnostic> diagnostics;
  const auto root = parse_yaml(content, content_, tree_, diagnostics);
  for (YamlDiagnostic& diagnostic : diagnostics) {
    const auto [line, column] = diagnostic.place;
    errors_.push_back({{file_, line, column}, std::move(diagnostic.text)});
  }
  return root;
}

std::optional<YamlNode> YamlReader::parse(const SourceFile& file) {
  if (!file.encoded.empty()) {
    if (const auto root = tree_.decode(file.encoded)) return root;
  }
  return parse(file.content);
}

Position YamlReader::position(YamlNode node) const {
  return {file_, node.place().line, node.place().column};
}

void YamlReader::diagnose(YamlNode node, std::string_view text) {
  errors_.push_back({position(node), text::shortened(text::printable(text), kMaxDiagnosed)});
}

std::string YamlReader::shown(YamlNode node) const {
  return kind_of(node, content_ == Content::kPublic);
}

void YamlReader::diagnose_unknown_key(YamlNode key, std::string_view what,
                                      std::span<const std::string_view> allowed) {
  const std::string guess = nearest(key.is_scalar() ? key.scalar() : "", allowed);
  std::string list;
  for (const std::string_view name : allowed)
    list += (list.empty() ? "" : ", ") + std::string(name);
  // A password on a line of its own is a key to YAML.
  const std::string unknown = content_ == Content::kSecret ? "no such key" : "no key " + shown(key);
  diagnose(key, std::string(what) + " has " + unknown +
                    (guess.empty() ? "; allowed: " + list : "; did you mean \"" + guess + "\"?"));
}

bool YamlReader::check_map(YamlNode node, std::string_view what,
                           std::span<const std::string_view> allowed,
                           std::initializer_list<std::string_view> required) {
  if (!node.is_map()) {
    diagnose(node, std::string(what) + " must be a mapping, not " + shown(node));
    return false;
  }
  bool good = true;
  std::vector<std::string_view> seen;  // of the allowed ones, so few
  seen.reserve(std::min(node.size(), allowed.size()));
  const auto is_seen = [&](std::string_view key) {
    return std::find(seen.begin(), seen.end(), key) != seen.end();
  };
  for (const auto& entry : node.entries()) {
    const std::string_view key = entry.key.scalar();
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      diagnose_unknown_key(entry.key, what, allowed);
      good = false;
    } else if (is_seen(key)) {
      diagnose(entry.key, fmt::format("the key \"{}\" is twice in {}; remove one", key, what));
      good = false;
    } else {
      seen.push_back(key);
    }
  }
  for (const std::string_view key : required) {
    if (is_seen(key)) continue;
    diagnose(node, std::string(what) + " needs the key \"" + std::string(key) + "\"");
    good = false;
  }
  return good;
}

bool YamlReader::check_names(YamlNode node, std::string_view what) {
  if (!node.is_map()) {
    diagnose(node, std::string(what) + " must be a mapping, not " + shown(node));
    return false;
  }
  bool good = true;
  std::set<std::string> seen;
  for (const auto& entry : node.entries()) {
    const auto key = text(entry.key, "a name in " + std::string(what));
    if (!key) {
      good = false;
    } else if (!seen.insert(*key).second) {
      diagnose(entry.key,
               "the key \"" + *key + "\" is twice in " + std::string(what) + "; remove one");
      good = false;
    }
  }
  return good;
}

std::optional<std::string> YamlReader::text(YamlNode node, std::string_view what) {
  if (!node.is_scalar() && !node.is_null()) {
    diagnose(node, std::string(what) + " must be text, not " + shown(node));
    return std::nullopt;
  }
  if (node.is_null()) {
    diagnose(node, std::string(what) +
                       ": YAML reads an empty value, ~ and null as nothing, "
                       "not as text; write \"\", or put the word in quotes");
    return std::nullopt;
  }
  const std::string& scalar = node.scalar();
  if (!node.is_quoted() && text::is_retyped(scalar)) {
    diagnose(node, content_ == Content::kSecret
                       ? std::string(what) +
                             ": put it in quotes; YAML does not read it "
                             "as text"
                       : std::string(what) + ": YAML does not read " + scalar +
                             " as text; write \"" + scalar + "\"");
    return std::nullopt;
  }
  return scalar;
}

std::optional<std::int64_t> YamlReader::integer(YamlNode node, std::string_view what,
                                                std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  if (node.is_scalar() && !node.is_quoted()) {
    const std::string& text = node.scalar();
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    // YAML 1.1 readers take 010 for eight.
    const bool padded = text.size() > 1 && text[text[0] == '-' ? 1 : 0] == '0';
    const bool whole = code == std::errc{} && end == text.data() + text.size() && !padded;
    if (whole && number >= least && number <= most) return number;
  }
  diagnose(node, std::string(what) + " must be a whole number from " + std::to_string(least) +
                     " to " + std::to_string(most) + " without quotes, not " + kind_of(node));
  return std::nullopt;
}

std::optional<bool> YamlReader::boolean(YamlNode node, std::string_view what) {
  if (node.is_scalar() && !node.is_quoted()) {
    if (node.scalar() == "true") return true;
    if (node.scalar() == "false") return false;
  }
  diagnose(node, std::string(what) + " must be true or false, not " + kind_of(node));
  return std::nullopt;
}

std::vector<std::string> YamlReader::texts(YamlNode node, std::string_view what) {
  std::vector<std::string> out;
  for_each_text(node, what, [&](const std::string& entry, YamlNode) { out.push_back(entry); });
  return out;
}

void YamlReader::for_each_text(YamlNode node, std::string_view what,
                               const std::function<void(const std::string&, YamlNode)>& use) {
  if (!node.is_list()) {
    diagnose(node, std::string(what) + " must be a list of texts, not " + shown(node));
    return;
  }
  for (const YamlNode item : node.items()) {
    if (const std::optional<std::string> entry = text(item, what)) use(*entry, item);
  }
}

std::optional<std::chrono::milliseconds> YamlReader::duration(YamlNode node,
                                                              std::string_view what) {
  const auto parsed = node.is_scalar() ? parse_duration(node.scalar()) : std::nullopt;
  if (!parsed) {
    diagnose(node, std::string(what) + " must be a duration such as 150ms, 2s or 1m, not " +
                       kind_of(node));
    return std::nullopt;
  }
  if (*parsed > kMaxDuration) {
    diagnose(node, std::string(what) + " must be at most 1h, not " + kind_of(node));
    return std::nullopt;
  }
  return parsed;
}

}  // namespace fencepost::scenario
