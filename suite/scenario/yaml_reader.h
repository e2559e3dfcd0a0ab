// Strict reading of YAML: every error has file, line and column, says what was seen and what to
// write instead. Duplicate keys, unknown keys, anchors, tags and plain scalars that YAML 1.1
// readers retype (1.20, yes, 0x10, null, ~) are errors where text is expected.
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

#include "base/text/yaml_quote.h"
#include "suite/scenario/source_file.h"
#include "suite/scenario/yaml_parser.h"
#include "suite/scenario/yaml_tree.h"

namespace fencepost::scenario {

// The longest wait that a scenario may request.
inline constexpr std::chrono::milliseconds kMaxDuration = std::chrono::hours{1};

// Reads one file and collects the errors in it. The nodes that it returns live as long as
// it.
class YamlReader {
 public:
  using Content = YamlContent;
  YamlReader(std::string file, std::vector<LoadError>& errors, Content content = Content::kPublic)
      : file_(std::move(file)), errors_(errors), content_(content) {}

  // Parses `content`, UTF-8; nothing after an error, which is reported: see parse_yaml().
  [[nodiscard]] std::optional<YamlNode> parse(const std::string& content);
  // The same for a file, which needs no parsing if it has been parsed before.
  [[nodiscard]] std::optional<YamlNode> parse(const SourceFile& file);
  // For nodes that are built from those that were parsed.
  [[nodiscard]] YamlTree& tree() { return tree_; }

  [[nodiscard]] Position position(YamlNode node) const;
  void diagnose(YamlNode node, std::string_view text);
  // How many there are so far.
  [[nodiscard]] std::size_t diagnostics() const { return errors_.size(); }

  // Is `node` a mapping whose keys are all among `allowed`, each once, and have all of `required`?
  // Reports an error if not.
  bool check_map(YamlNode node, std::string_view what, std::span<const std::string_view> allowed,
                 std::initializer_list<std::string_view> required = {});

  // Is `node` a mapping whose keys are texts of the writer's choice, each once? Reports an error if
  // not.
  bool check_names(YamlNode node, std::string_view what);

  // Text: a quoted scalar, or a plain one that no YAML reader retypes.
  [[nodiscard]] std::optional<std::string> text(YamlNode node, std::string_view what);
  // A whole number, not quoted.
  [[nodiscard]] std::optional<std::int64_t> integer(YamlNode node, std::string_view what,
                                                    std::int64_t least, std::int64_t most);
  // true or false, not quoted.
  [[nodiscard]] std::optional<bool> boolean(YamlNode node, std::string_view what);
  // A sequence of texts.
  [[nodiscard]] std::vector<std::string> texts(YamlNode node, std::string_view what);
  // The same, with the node of each, for errors in it.
  void for_each_text(YamlNode node, std::string_view what,
                     const std::function<void(const std::string&, YamlNode)>& use);
  // `150ms`, `2s`, `1m`; at most kMaxDuration.
  [[nodiscard]] std::optional<std::chrono::milliseconds> duration(YamlNode node,
                                                                  std::string_view what);

 private:
  // What stands there, for an error.
  [[nodiscard]] std::string shown(YamlNode node) const;
  void diagnose_unknown_key(YamlNode key, std::string_view what,
                            std::span<const std::string_view> allowed);
  std::string file_;
  std::vector<LoadError>& errors_;
  Content content_;
  YamlTree tree_;
};

// `150ms`, `2s`, `1m`, `1h`; nothing for anything else.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// The known word nearest to `word`, for "did you mean"; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace fencepost::scenario
