#include "conformance/requirement.h"

#include <algorithm>
#include <array>

namespace fencepost::conformance {
namespace {

using namespace std::string_view_literals;

constexpr std::array kFile = {"requirements"sv};
constexpr std::array kFields = {"id"sv,      "level"sv,      "binds"sv,  "text"sv,
                                "section"sv, "documents"sv,  "source"sv, "dialects"sv,
                                "observe"sv, "untestable"sv, "open"sv,   "outcomes"sv};

std::optional<Level> level_named(std::string_view word) {
  for (const Level level : {Level::kMust, Level::kShould, Level::kMay}) {
    if (name(level) == word) return level;
  }
  return std::nullopt;
}

std::string optional_text(YamlReader& reader, const YAML::Node& node, std::string_view key) {
  const YAML::Node member = YamlReader::member(node, key);
  return member.IsDefined() ? reader.text(member, key).value_or("") : "";
}

std::optional<Requirement> load_requirement(YamlReader& reader, const YAML::Node& node) {
  if (!reader.check_map(node, "requirement", kFields,
                        {"id", "level", "binds", "text", "section", "documents", "source"})) {
    return std::nullopt;
  }
  Requirement out;
  out.position = reader.position(node);
  out.id = optional_text(reader, node, "id");
  out.binds = optional_text(reader, node, "binds");
  out.text = optional_text(reader, node, "text");
  out.section = optional_text(reader, node, "section");
  out.source = optional_text(reader, node, "source");
  out.observe = optional_text(reader, node, "observe");
  out.untestable = optional_text(reader, node, "untestable");
  out.documents = reader.texts(YamlReader::member(node, "documents"), "documents");
  const std::string level = optional_text(reader, node, "level");
  if (const auto known = level_named(level)) {
    out.level = *known;
  } else {
    reader.complain(node, "level must be must, should or may, not \"" + level + "\"");
  }
  if (const auto open = YamlReader::member(node, "open"); open.IsDefined()) {
    out.open = reader.boolean(open, "open").value_or(false);
  }
  if (const auto outcomes = YamlReader::member(node, "outcomes"); outcomes.IsDefined()) {
    out.outcomes = reader.texts(outcomes, "outcomes");
  }
  if (const auto dialects = YamlReader::member(node, "dialects"); dialects.IsMap()) {
    for (const auto& entry : dialects) {
      out.dialects[entry.first.Scalar()] = reader.text(entry.second, "dialects").value_or("");
    }
  }
  if (out.observe.empty() == out.untestable.empty()) {
    reader.complain(node, out.id + " needs either observe or untestable");
  }
  return out;
}

}  // namespace

std::string_view name(Level level) {
  switch (level) {
    case Level::kMust:
      return "must";
    case Level::kShould:
      return "should";
    case Level::kMay:
      return "may";
  }
  return "unknown";
}

Catalogue Catalogue::load(const SourceFile& file, std::vector<LoadError>& errors) {
  Catalogue out;
  YamlReader reader(file.name, errors);
  const auto root = reader.parse(file.content);
  if (!root || !reader.check_map(*root, "the file", kFile, {"requirements"})) return out;
  std::set<std::string> seen;
  for (const YAML::Node& node : YamlReader::member(*root, "requirements")) {
    auto requirement = load_requirement(reader, node);
    if (!requirement) continue;
    if (!seen.insert(requirement->id).second) {
      reader.complain(node, "the requirement " + requirement->id + " stands twice");
    }
    out.requirements_.push_back(std::move(*requirement));
  }
  return out;
}

const Requirement* Catalogue::find(std::string_view id) const {
  const auto found = std::find_if(requirements_.begin(), requirements_.end(),
                                  [&](const Requirement& entry) { return entry.id == id; });
  return found == requirements_.end() ? nullptr : &*found;
}

std::set<std::string> Catalogue::ids() const {
  std::set<std::string> out;
  for (const Requirement& requirement : requirements_) out.insert(requirement.id);
  return out;
}

Level Catalogue::level_of(const Case& test_case) const {
  Level strictest = Level::kMay;
  for (const std::string& id : test_case.requirements) {
    const Requirement* requirement = find(id);
    if (requirement != nullptr) strictest = std::min(strictest, requirement->level);
  }
  return strictest;
}

}  // namespace fencepost::conformance
