// Strict reading of YAML: every complaint has file, line and column, says what was seen and what to
// write instead. A wrapper of yaml-cpp: duplicate keys, unknown keys, anchors, tags and plain
// scalars that YAML 1.1 readers retype (1.20, yes, 0x10, null, ~) are errors where text is
// expected.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/result.h"
#include "conformance/scenario/scenario.h"

namespace fencepost::scenario {

struct LoadError {
  Position position;
  std::string text;
};

// "file:line:column: text"
[[nodiscard]] std::string describe(const LoadError& error);

// The longest wait that a scenario may ask for.
inline constexpr std::chrono::milliseconds kMaxDuration = std::chrono::hours{1};

// Would a YAML reader take this plain scalar for something else than text? (true, 1.20, 0x10, ~,
// ...)
[[nodiscard]] bool is_retyped(std::string_view plain);

// Collects the complaints about one file.
class YamlReader {
 public:
  // Of a file that may hold secrets, complaints quote no text and no key: one line that lacks its
  // colon, or a password that begins with `!`, and what they quote is the password.
  enum class Content { kPublic, kSecret };
  YamlReader(std::string file, std::vector<LoadError>& errors, Content content = Content::kPublic)
      : file_(std::move(file)), errors_(errors), secret_(content == Content::kSecret) {}

  // Parses `content`, UTF-8; nothing after an error, which is reported. Anchors, aliases, tags, a
  // second document and nesting deeper than any scenario needs are errors, so that what is loaded
  // is a finite tree, and all of the file.
  [[nodiscard]] std::optional<YAML::Node> parse(const std::string& content);

  // Of an empty value: the line where it is missing, rather than the next token, where the parser
  // notices.
  [[nodiscard]] Position position(const YAML::Node& node) const;
  // Makes `built`, a node that no parser has seen, stand where `original` stands.
  static void place(YAML::Node& built, const YAML::Node& original);
  void complain(const YAML::Node& node, std::string text);
  // How many there are so far.
  [[nodiscard]] std::size_t complaints() const { return errors_.size(); }

  // Is `node` a mapping whose keys are all among `allowed`, each once, and have all of `required`?
  // Complains if not.
  bool check_map(const YAML::Node& node, std::string_view what,
                 std::span<const std::string_view> allowed,
                 std::initializer_list<std::string_view> required = {});

  // Is `node` a mapping whose keys are texts of the writer's choice, each once? Complains if not.
  bool check_names(const YAML::Node& node, std::string_view what);

  // A member of a mapping that check_map() has accepted; undefined when absent, and of what is no
  // mapping.
  [[nodiscard]] static YAML::Node member(const YAML::Node& map, std::string_view key);

  [[nodiscard]] static bool is_quoted(const YAML::Node& scalar);
  // Text: a quoted scalar, or a plain one that no YAML reader retypes.
  [[nodiscard]] std::optional<std::string> text(const YAML::Node& node, std::string_view what);
  // A whole number, not quoted.
  [[nodiscard]] std::optional<std::int64_t> integer(const YAML::Node& node, std::string_view what,
                                                    std::int64_t least, std::int64_t most);
  // true or false, not quoted.
  [[nodiscard]] std::optional<bool> boolean(const YAML::Node& node, std::string_view what);
  // A sequence of texts.
  [[nodiscard]] std::vector<std::string> texts(const YAML::Node& node, std::string_view what);
  // The same, with the node of each, for complaints about it.
  void for_each_text(const YAML::Node& node, std::string_view what,
                     const std::function<void(const std::string&, const YAML::Node&)>& use);
  // `150ms`, `2s`, `1m`; at most kMaxDuration.
  [[nodiscard]] std::optional<std::chrono::milliseconds> duration(const YAML::Node& node,
                                                                  std::string_view what);

 private:
  // The first byte that shows the file to be in another encoding than UTF-8, if any does.
  [[nodiscard]] std::optional<Position> position_of_other_encoding() const;
  // What stands there, for a complaint.
  [[nodiscard]] std::string shown(const YAML::Node& node) const;
  void complain_of_unknown_key(const YAML::Node& key, std::string_view what,
                               std::span<const std::string_view> allowed);
  [[nodiscard]] bool is_blank_before(const YAML::Mark& mark) const;
  [[nodiscard]] bool is_null_word(const YAML::Mark& mark) const;
  // The last line above `before` that is neither empty nor a comment.
  [[nodiscard]] Position position_of_missing_value(int before) const;

  std::string file_;
  std::vector<std::string> lines_;
  std::vector<LoadError>& errors_;
  bool secret_ = false;
};

// `150ms`, `2s`, `1m`, `1h`; nothing for anything else.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// The known word nearest to `word`, for "did you mean"; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace fencepost::scenario
