// Reads YAML, and refuses what would make a file mean more than it shows: anchors, aliases, tags, a
// second document, nesting deeper than any scenario needs. So what is read is a finite tree, and
// all of the file. The only place that knows yaml-cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suite/scenario/yaml_tree.h"

namespace fencepost::scenario {

struct YamlDiagnostic {
  YamlPlace place;
  std::string text;
};

// For a file that may hold secrets, errors quote no text and no key: one line that lacks its colon,
// or a password that begins with `!`, and what they quote is the password.
enum class YamlContent { kPublic, kSecret };

// Adds the document in `content`, UTF-8, to `tree`, and returns its root: null when there is none.
// Nothing after an error. An empty value stands where it is missing, rather than where the next
// token is.
[[nodiscard]] std::optional<YamlNode> parse_yaml(const std::string& content, YamlContent kind,
                                                 YamlTree& tree,
                                                 std::vector<YamlDiagnostic>& diagnostics);

}  // namespace fencepost::scenario
