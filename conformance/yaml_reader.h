// Strict reading of YAML: every complaint has file, line and column, says what was seen and what to
// write instead. A wrapper of yaml-cpp: duplicate keys, unknown keys, anchors, tags and plain
// scalars that YAML 1.1 readers retype (1.20, yes, 0x10, null, ~) are errors where text is
// expected.
#pragma once

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
#include "conformance/scenario.h"

namespace fencepost::conformance {

struct LoadError {
  Position position;
  std::string text;
};

// "file:line:column: text"
[[nodiscard]] std::string describe(const LoadError& error);

// Would a YAML reader take this plain scalar for something else than text? (true, 1.20, 0x10, ~,
// ...)
[[nodiscard]] bool is_retyped(std::string_view plain);

// Collects the complaints about one file.
class YamlReader {
 public:
  YamlReader(std::string file, std::vector<LoadError>& errors)
      : file_(std::move(file)), errors_(errors) {}

  // Parses `text`; nothing after a syntax error, which is reported.
  [[nodiscard]] std::optional<YAML::Node> parse(const std::string& text);

  [[nodiscard]] Position position(const YAML::Node& node) const;
  void complain(const YAML::Node& node, std::string text);

  // Is `node` a mapping whose keys are all among `allowed`, each once, and have all of `required`?
  // Complains if not.
  bool check_map(const YAML::Node& node, std::string_view what,
                 std::span<const std::string_view> allowed,
                 std::initializer_list<std::string_view> required = {});

  // A member of a mapping that check_map() has accepted; undefined when absent.
  [[nodiscard]] static YAML::Node member(const YAML::Node& map, std::string_view key);

  // Text: a quoted scalar, or a plain one that no YAML reader retypes.
  [[nodiscard]] std::optional<std::string> text(const YAML::Node& node, std::string_view what);
  // A whole number, not quoted.
  [[nodiscard]] std::optional<std::int64_t> integer(const YAML::Node& node, std::string_view what,
                                                    std::int64_t least, std::int64_t most);
  // true or false, not quoted.
  [[nodiscard]] std::optional<bool> boolean(const YAML::Node& node, std::string_view what);
  // A sequence of texts.
  [[nodiscard]] std::vector<std::string> texts(const YAML::Node& node, std::string_view what);
  // `150ms`, `2s`, `1m`.
  [[nodiscard]] std::optional<std::chrono::milliseconds> duration(const YAML::Node& node,
                                                                  std::string_view what);

 private:
  std::string file_;
  std::vector<LoadError>& errors_;
};

// `150ms`, `2s`, `1m`, `1h`; nothing for anything else.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// The known word nearest to `word`, for "did you mean"; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace fencepost::conformance
