#include "suite/scenario/yaml_parser.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/utf8.h"

namespace fencepost::scenario {
namespace {

// yaml-cpp's tag of a quoted scalar; a plain one has "?".
constexpr std::string_view kQuotedTag = "!";
constexpr std::string_view kBlank = " \t\r";

constexpr std::size_t kMaxLines = 4'000'000;
constexpr std::size_t kMaxValues = 2'000'000;
// The limit for one line: the parser looks at all of it before it says that a list begins there.
constexpr std::ptrdiff_t kMaxOpened = 100'000;
constexpr std::ptrdiff_t kMaxCommas = 500'000;
constexpr std::size_t kMaxDiagnostics = 100;

// The lines of a text that ends in a line feed.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

// Why the parser is not used at all; nothing of most files.
std::optional<YamlDiagnostic> too_much(const std::vector<std::string_view>& lines) {
  if (lines.size() > kMaxLines) {
    return YamlDiagnostic{{}, "the file has more than 4,000,000 lines; split it"};
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    if (static_cast<std::ptrdiff_t>(line.size()) <= kMaxOpened) continue;
    const YamlPlace place{static_cast<int>(i) + 1, 1};
    if (std::count(line.begin(), line.end(), '[') + std::count(line.begin(), line.end(), '{') >
        kMaxOpened) {
      return YamlDiagnostic{place, "this line has more than 100,000 opening brackets and braces"};
    }
    if (std::count(line.begin(), line.end(), ',') > kMaxCommas) {
      return YamlDiagnostic{place, "this line has more than 500,000 commas; split it"};
    }
  }
  return std::nullopt;
}

// The first byte that shows the file to be in another encoding than UTF-8, if any does. The parser
// would take NULs and byte order marks for other encodings, and places would be those in its
// translation.
std::optional<YamlPlace> place_of_other_encoding(const std::vector<std::string_view>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t nul = lines[i].find('\0');
    if (nul != std::string::npos) {
      return YamlPlace{static_cast<int>(i) + 1, static_cast<int>(nul) + 1};
    }
    std::string_view rest = lines[i];
    while (!rest.empty()) {
      const std::size_t length = first_character(rest).length;
      if (length == 0) {
        const std::size_t column = lines[i].size() - rest.size();
        return YamlPlace{static_cast<int>(i) + 1, static_cast<int>(column) + 1};
      }
      rest.remove_prefix(length);
    }
  }
  return std::nullopt;
}

// Says where nodes stand.
class Places {
 public:
  explicit Places(const std::vector<std::string_view>& lines) : lines_(lines) {}

  [[nodiscard]] static YamlPlace of(const YAML::Mark& mark) {
    return {mark.line + 1, mark.column + 1};
  }

  // The place of an error of the parser, which may have read on behind the end of the text, or of a
  // line, as in "\U12: a place that there is.
  [[nodiscard]] YamlPlace within(const YAML::Mark& mark) const {
    const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
    if (line >= lines_.size()) return {static_cast<int>(lines_.size()) + 1, 1};
    const int end = static_cast<int>(lines_[line].size());
    return {mark.line + 1, std::clamp(mark.column, 0, end) + 1};
  }

  // The place of an empty value: the line where it is missing, rather than the next token, where
  // the parser notices.
  [[nodiscard]] YamlPlace of_null(const YAML::Mark& mark) const {
    return is_blank_before(mark) && !is_null_word(mark) ? of_missing_value(mark.line) : of(mark);
  }

 private:
  [[nodiscard]] bool is_blank_before(const YAML::Mark& mark) const {
    const auto line = static_cast<std::size_t>(mark.line);
    if (line >= lines_.size()) return true;
    return lines_[line].find_first_not_of(kBlank) >= static_cast<std::size_t>(mark.column);
  }

  [[nodiscard]] bool is_null_word(const YAML::Mark& mark) const {
    const auto line = static_cast<std::size_t>(mark.line);
    const auto column = static_cast<std::size_t>(mark.column);
    if (line >= lines_.size() || column >= lines_[line].size()) return false;
    const std::string_view word = lines_[line].substr(column);
    return word.starts_with('~') || word.starts_with("null") || word.starts_with("Null") ||
           word.starts_with("NULL");
  }

  // The last line above `before` that is neither empty nor a comment.
  [[nodiscard]] YamlPlace of_missing_value(int before) const {
    for (std::size_t i = std::min(static_cast<std::size_t>(before), lines_.size()); i > 0; --i) {
      const std::string_view line = lines_[i - 1];
      std::size_t first = line.find_first_not_of(kBlank);
      if (first == std::string::npos || line[first] == '#') continue;
      while (line.compare(first, 2, "- ") == 0) {
        const std::size_t next = line.find_first_not_of(kBlank, first + 1);
        if (next == std::string::npos) break;
        first = next;
      }
      return {static_cast<int>(i), static_cast<int>(first) + 1};
    }
    return {1, 1};
  }

  const std::vector<std::string_view>& lines_;
};

// Makes nodes of what the parser meets, and looks for what is not allowed. Aliases are not
// followed: one may stand inside the node that its anchor names.
class Builder : public YAML::EventHandler {
 public:
  Builder(const Places& places, YamlContent content, YamlTree& tree,
          std::vector<YamlDiagnostic>& diagnostics)
      : places_(places),
        secret_(content == YamlContent::kSecret),
        tree_(tree),
        diagnostics_(diagnostics) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) first_ = mark;
    if (documents_ != 2) return;
    // Before a comma the parser sees one empty document after the other, without end.
    const bool stuck = mark.pos == first_.pos;
    diagnose(mark,
             stuck ? "this is not YAML: no value begins like this"
                   : "a second document starts here; a file is one document, so make two files");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    look_at(mark, "", anchor);
    finish({.kind = YamlKind::kNull, .place = places_.of_null(mark)});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    diagnose(mark, "aliases are not allowed; write the value out");
    finish({.kind = YamlKind::kNull, .place = Places::of(mark)});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    look_at(mark, tag, anchor);
    finish({.kind = YamlKind::kScalar,
            .quoted = tag == kQuotedTag,
            .place = Places::of(mark),
            .scalar = value});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    enter(YamlKind::kList, mark, tag, anchor, style);
  }
  void OnSequenceEnd() override { leave(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    enter(YamlKind::kMap, mark, tag, anchor, style);
  }
  void OnMapEnd() override { leave(); }

  // Then there is nothing more to find out.
  [[nodiscard]] bool has_seen_a_second_document() const { return documents_ > 1; }
  [[nodiscard]] YamlNode root() const { return root_; }

 private:
  void diagnose(const YAML::Mark& mark, std::string text) {
    diagnostics_.push_back({Places::of(mark), std::move(text)});
    // Nobody reads more of them; the exception is for parse_yaml(), which has something to say
    // then.
    if (diagnostics_.size() >= kMaxDiagnostics) throw YAML::ParserException(mark, "");
  }

  void look_at(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) diagnose(mark, "anchors (&name) are not allowed; write the value out");
    if (!tag.empty() && tag != "?" && tag != kQuotedTag) {
      const std::string which = secret_ ? "(! before a value)" : "such as " + tag;
      diagnose(mark, "tags " + which + " are not allowed; quote the value to make it text");
    }
  }

  void enter(YamlKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
             YAML::EmitterStyle::value style) {
    look_at(mark, tag, anchor);
    constexpr std::size_t kMaxDepth = 50;
    open_.push_back({.kind = kind,
                     .quoted = tag == kQuotedTag,
                     .flow = style == YAML::EmitterStyle::Flow,
                     .place = Places::of(mark)});
    if (open_.size() == kMaxDepth + 1) {
      diagnose(mark, "lists and mappings are nested more than 50 deep here");
      throw YAML::ParserException(mark, "");  // there may be any number of them
    }
  }

  void leave() {
    YamlNode::Data done = std::move(open_.back());
    open_.pop_back();
    finish(std::move(done));
  }

  void finish(YamlNode::Data data) {
    if (++values_ > kMaxValues) {
      const YamlPlace place = data.place;
      diagnostics_.push_back({place, "the file has more than 2,000,000 values; split it"});
      throw YAML::ParserException(YAML::Mark::null_mark(), "");
    }
    const YamlNode node = tree_.add(std::move(data));
    if (!open_.empty()) {
      open_.back().children.push_back(node);
    } else if (documents_ == 1) {
      root_ = node;
    }
  }

  const Places& places_;
  bool secret_;
  YamlTree& tree_;
  std::vector<YamlDiagnostic>& diagnostics_;
  std::size_t values_ = 0;
  int documents_ = 0;
  YAML::Mark first_{};                // where the first begins
  std::vector<YamlNode::Data> open_;  // lists and mappings that have not ended, the innermost last
  YamlNode root_;
};

// The parser's words, but for what it has found, which it says behind a colon; and what to do.
std::string words_without_content(const std::string& words, const YamlPlace& place,
                                  const std::vector<std::string_view>& lines) {
  const auto number = static_cast<std::size_t>(place.line);
  const std::string_view line = number <= lines.size() ? lines[number - 1] : std::string_view();
  const bool has_tab =
      line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string_view::npos;
  return words.substr(0, words.find(':')) +
         (has_tab ? "; there is a tab here: indent YAML with spaces"
                  : "; a value with special characters needs quotes");
}

}  // namespace

std::optional<YamlNode> parse_yaml(const std::string& content, YamlContent kind, YamlTree& tree,
                                   std::vector<YamlDiagnostic>& diagnostics) {
  // Without a final line feed the parser marks an empty last value differently.
  const std::string text = content.ends_with('\n') ? content : content + "\n";
  const std::vector<std::string_view> lines = lines_of(text);
  if (auto diagnostic = too_much(lines)) {
    diagnostics.push_back(std::move(*diagnostic));
    return std::nullopt;
  }
  if (const auto place = place_of_other_encoding(lines)) {
    diagnostics.push_back({*place, "this is not text in UTF-8; save the file as UTF-8"});
    return std::nullopt;
  }
  const std::size_t before = diagnostics.size();
  const Places places(lines);
  Builder builder(places, kind, tree, diagnostics);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (!builder.has_seen_a_second_document() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    if (diagnostics.size() == before) {
      const YamlPlace place = places.within(error.mark);
      diagnostics.push_back(
          {place, "this is not YAML: " + (kind == YamlContent::kSecret
                                              ? words_without_content(error.msg, place, lines)
                                              : error.msg)});
    }
  }
  if (diagnostics.size() > before) return std::nullopt;
  return builder.root().is_defined() ? builder.root() : tree.add({});
}

}  // namespace fencepost::scenario
