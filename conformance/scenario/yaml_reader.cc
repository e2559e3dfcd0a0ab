#include "conformance/scenario/yaml_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <sstream>

#include <yaml-cpp/eventhandler.h>

namespace fencepost::scenario {
namespace {

constexpr std::string_view kQuotedTag =
    "!";  // yaml-cpp's tag of a quoted scalar; a plain one has "?"

// yaml-cpp lets nobody but its parser mark a node, so one that is built carries its place in its
// tag:
// "@line:column", from 1. Of a file no tag can be it, as files have none.
constexpr char kPlaceTag = '@';

constexpr std::string_view kBlank = " \t\r";

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

// Looks for what would make a YAML file mean more than it shows. Loading such a file could take
// forever: an alias may stand inside the node that its anchor names.
class Inspector : public YAML::EventHandler {
 public:
  explicit Inspector(bool secret) : secret_(secret) {}

  struct Finding {
    YAML::Mark mark;
    std::string text;
  };
  std::vector<Finding> findings;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) first_ = mark;
    if (documents_ != 2) return;
    // Before a comma the parser sees one empty document after the other, without end.
    const bool stuck = mark.pos == first_.pos;
    findings.push_back(
        {mark, stuck ? "this is not YAML: no value begins like this"
                     : "a second document starts here; a file is one document, so make two files"});
  }
  // Then there is nothing more to find out.
  [[nodiscard]] bool has_seen_a_second_document() const { return documents_ > 1; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { look_at(mark, "", anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    findings.push_back({mark, "aliases are not allowed; write the value out"});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string&) override {
    look_at(mark, tag, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    enter(mark, tag, anchor);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    enter(mark, tag, anchor);
  }
  void OnMapEnd() override { --depth_; }

 private:
  void look_at(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0)
      findings.push_back({mark, "anchors (&name) are not allowed; write the value out"});
    if (!tag.empty() && tag != "?" && tag != kQuotedTag) {
      const std::string which = secret_ ? "(! before a value)" : "such as " + tag;
      findings.push_back(
          {mark, "tags " + which + " are not allowed; quote the value to make it text"});
    }
  }
  void enter(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    look_at(mark, tag, anchor);
    constexpr int kMaxDepth = 50;
    if (++depth_ == kMaxDepth + 1) {
      findings.push_back({mark, "lists and mappings are nested more than 50 deep here"});
    }
  }

  bool secret_;
  int documents_ = 0;
  YAML::Mark first_{};  // where the first begins
  int depth_ = 0;
};

std::string kind_of(const YAML::Node& node, bool quote = true) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      return "a mapping";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Scalar:
      return quote ? "\"" + node.Scalar() + "\"" : "a text";
    case YAML::NodeType::Null:
      return "nothing";
    case YAML::NodeType::Undefined:
      break;
  }
  return "nothing";
}

// Where a node stands that has no mark; the beginning of the file when nobody knows.
Position place_of(const YAML::Node& node) {
  Position place{{}, 1, 1};
  const std::string& tag = node.Tag();
  if (tag.empty() || tag[0] != kPlaceTag) return place;
  const char* end = tag.data() + tag.size();
  const auto [colon, code] = std::from_chars(tag.data() + 1, end, place.line);
  if (code == std::errc{} && colon != end) std::from_chars(colon + 1, end, place.column);
  return place;
}

}  // namespace

std::string describe(const LoadError& error) {
  const Position& at = error.position;
  return at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
         error.text;
}

bool is_retyped(std::string_view plain) {
  static const std::set<std::string> words = {"",      "~",     "null", "true", "false", "yes",
                                              "no",    "on",    "off",  "y",    "n",     ".inf",
                                              "-.inf", "+.inf", ".nan", "=",    "<<"};
  return words.contains(lower(plain)) || looks_numeric(plain) || looks_like_date(plain);
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::int64_t kMost = 1'000'000'000;
  if (code != std::errc{} || text.starts_with('-') || number > kMost) return std::nullopt;
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
    // So many letters are to be added or taken away at least.
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

std::optional<YAML::Node> YamlReader::parse(const std::string& content) {
  // Without a final line feed the parser marks an empty last value differently.
  const std::string text = content.ends_with('\n') ? content : content + "\n";
  lines_.clear();
  std::istringstream whole(text);
  for (std::string line; std::getline(whole, line);) lines_.push_back(std::move(line));
  if (const auto position = position_of_other_encoding()) {
    errors_.push_back({*position, "this is not text in UTF-8; save the file as UTF-8"});
    return std::nullopt;
  }
  Inspector inspector(secret_);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (!inspector.has_seen_a_second_document() && parser.HandleNextDocument(inspector)) {
    }
    if (inspector.findings.empty()) return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    if (inspector.findings.empty()) {
      // The parser's words may name what it has found.
      inspector.findings.push_back(
          {error.mark,
           "this is not YAML" +
               (secret_ ? "; a value with special characters needs quotes" : ": " + error.msg)});
    }
  }
  for (const Inspector::Finding& found : inspector.findings) {
    errors_.push_back({{file_, found.mark.line + 1, found.mark.column + 1}, found.text});
  }
  return std::nullopt;
}

// The parser would take NULs and byte order marks for other encodings, and places would be those in
// its translation.
std::optional<Position> YamlReader::position_of_other_encoding() const {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const std::size_t nul = lines_[i].find('\0');
    if (nul != std::string::npos)
      return Position{file_, static_cast<int>(i) + 1, static_cast<int>(nul) + 1};
  }
  const bool marked =
      !lines_.empty() && (lines_[0].starts_with("\xfe\xff") || lines_[0].starts_with("\xff\xfe"));
  if (marked) return Position{file_, 1, 1};
  return std::nullopt;
}

Position YamlReader::position(const YAML::Node& node) const {
  const YAML::Mark mark = node.Mark();
  if (mark.is_null()) return {file_, place_of(node).line, place_of(node).column};
  if (node.IsNull() && is_blank_before(mark) && !is_null_word(mark)) {
    return position_of_missing_value(mark.line);
  }
  return {file_, mark.line + 1, mark.column + 1};
}

void YamlReader::place(YAML::Node& built, const YAML::Node& original) {
  const YAML::Mark mark = original.Mark();
  const Position at =
      mark.is_null() ? place_of(original) : Position{{}, mark.line + 1, mark.column + 1};
  built.SetTag(std::string(1, kPlaceTag) + std::to_string(at.line) + ":" +
               std::to_string(at.column));
}

bool YamlReader::is_blank_before(const YAML::Mark& mark) const {
  const auto line = static_cast<std::size_t>(mark.line);
  if (line >= lines_.size()) return true;
  return lines_[line].find_first_not_of(kBlank) >= static_cast<std::size_t>(mark.column);
}

bool YamlReader::is_null_word(const YAML::Mark& mark) const {
  const auto line = static_cast<std::size_t>(mark.line);
  const auto column = static_cast<std::size_t>(mark.column);
  if (line >= lines_.size() || column >= lines_[line].size()) return false;
  const std::string_view word = std::string_view(lines_[line]).substr(column);
  return word.starts_with('~') || lower(word.substr(0, 4)) == "null";
}

Position YamlReader::position_of_missing_value(int before) const {
  for (std::size_t i = std::min(static_cast<std::size_t>(before), lines_.size()); i > 0; --i) {
    const std::string& line = lines_[i - 1];
    std::size_t first = line.find_first_not_of(kBlank);
    if (first == std::string::npos || line[first] == '#') continue;
    while (line.compare(first, 2, "- ") == 0) {
      const std::size_t next = line.find_first_not_of(kBlank, first + 1);
      if (next == std::string::npos) break;
      first = next;
    }
    return {file_, static_cast<int>(i), static_cast<int>(first) + 1};
  }
  return {file_, 1, 1};
}

void YamlReader::complain(const YAML::Node& node, std::string text) {
  errors_.push_back({position(node), std::move(text)});
}

YAML::Node YamlReader::member(const YAML::Node& map, std::string_view key) {
  if (!map.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
  const YAML::Node found = map[std::string(key)];
  // yaml-cpp gives an invalid node for an absent key, and whatever one asks that throws.
  return found.IsDefined() ? found : YAML::Node(YAML::NodeType::Undefined);
}

std::string YamlReader::shown(const YAML::Node& node) const { return kind_of(node, !secret_); }

void YamlReader::complain_of_unknown_key(const YAML::Node& key, std::string_view what,
                                         std::span<const std::string_view> allowed) {
  const std::string guess = nearest(key.IsScalar() ? key.Scalar() : "", allowed);
  std::string list;
  for (const std::string_view name : allowed)
    list += (list.empty() ? "" : ", ") + std::string(name);
  // A password on a line of its own is a key to YAML.
  const std::string unknown = secret_ ? "no such key" : "no key " + shown(key);
  complain(key,
           std::string(what) + " has " + unknown +
               (guess.empty() ? "; it may have: " + list : "; did you mean \"" + guess + "\"?"));
}

bool YamlReader::check_map(const YAML::Node& node, std::string_view what,
                           std::span<const std::string_view> allowed,
                           std::initializer_list<std::string_view> required) {
  if (!node.IsMap()) {
    complain(node, std::string(what) + " must be a mapping, not " + shown(node));
    return false;
  }
  bool good = true;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      complain_of_unknown_key(entry.first, what, allowed);
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

bool YamlReader::check_names(const YAML::Node& node, std::string_view what) {
  if (!node.IsMap()) {
    complain(node, std::string(what) + " must be a mapping, not " + shown(node));
    return false;
  }
  bool good = true;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const auto key = text(entry.first, "a name in " + std::string(what));
    if (!key) {
      good = false;
    } else if (!seen.insert(*key).second) {
      complain(entry.first,
               "the key \"" + *key + "\" stands twice in " + std::string(what) + "; remove one");
      good = false;
    }
  }
  return good;
}

bool YamlReader::is_quoted(const YAML::Node& scalar) { return scalar.Tag() == kQuotedTag; }

std::optional<std::string> YamlReader::text(const YAML::Node& node, std::string_view what) {
  if (!node.IsScalar() && !node.IsNull()) {
    complain(node, std::string(what) + " must be text, not " + shown(node));
    return std::nullopt;
  }
  if (node.IsNull()) {
    complain(node, std::string(what) +
                       ": YAML readers take an empty value, ~ and null for nothing "
                       "rather than for text; write \"\", or put the word in quotes");
    return std::nullopt;
  }
  const std::string& scalar = node.Scalar();
  if (!is_quoted(node) && is_retyped(scalar)) {
    complain(node, secret_ ? std::string(what) +
                                 ": put it in quotes; YAML readers take it for "
                                 "something else than text"
                           : std::string(what) + ": YAML readers take " + scalar +
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
    // YAML 1.1 readers take 010 for eight.
    const bool padded = text.size() > 1 && text[text[0] == '-' ? 1 : 0] == '0';
    const bool whole = code == std::errc{} && end == text.data() + text.size() && !padded;
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
  for_each_text(node, what,
                [&](const std::string& entry, const YAML::Node&) { out.push_back(entry); });
  return out;
}

void YamlReader::for_each_text(
    const YAML::Node& node, std::string_view what,
    const std::function<void(const std::string&, const YAML::Node&)>& use) {
  if (!node.IsSequence()) {
    complain(node, std::string(what) + " must be a list of texts, not " + shown(node));
    return;
  }
  for (const YAML::Node& item : node) {
    if (const std::optional<std::string> entry = text(item, what)) use(*entry, item);
  }
}

std::optional<std::chrono::milliseconds> YamlReader::duration(const YAML::Node& node,
                                                              std::string_view what) {
  const auto parsed = node.IsScalar() ? parse_duration(node.Scalar()) : std::nullopt;
  if (!parsed) {
    complain(node, std::string(what) + " must be a duration such as 150ms, 2s or 1m, not " +
                       kind_of(node));
    return std::nullopt;
  }
  if (*parsed > kMaxDuration) {
    complain(node, std::string(what) + " must be at most 1h, not " + kind_of(node));
    return std::nullopt;
  }
  return parsed;
}

}  // namespace fencepost::scenario
