#include "suite/scenario/requirement.h"

#include <algorithm>
#include <array>

namespace fencepost::scenario {
namespace {

using namespace std::string_view_literals;

constexpr std::array kFile = {"requirements"sv, "sections"sv};
constexpr std::array kSection = {"title"sv, "documents"sv, "headings"sv, "note"sv};
constexpr std::array kDocuments = {"ga"sv, "preview"sv};
constexpr std::array kFields = {"id"sv,
                                "level"sv,
                                "binds"sv,
                                "text"sv,
                                "section"sv,
                                "documents"sv,
                                "source"sv,
                                "dialects"sv,
                                "observe"sv,
                                "untestable"sv,
                                "open"sv,
                                "outcomes"sv,
                                "judged_of_clients"sv};

std::optional<Level> level_named(std::string_view word) {
  for (const Level level : {Level::kMust, Level::kShould, Level::kMay}) {
    if (name(level) == word) return level;
  }
  return std::nullopt;
}

std::string optional_text(YamlReader& reader, YamlNode node, std::string_view key) {
  const YamlNode member = node.member(key);
  return member.is_defined() ? reader.text(member, key).value_or("") : "";
}

// The editions that a requirement or a section is in.
std::vector<std::string> load_documents(YamlReader& reader, YamlNode node) {
  const YamlNode member = node.member("documents");
  std::vector<std::string> out;
  reader.for_each_text(member, "documents", [&](const std::string& name, YamlNode item) {
    out.push_back(name);
    if (std::find(kDocuments.begin(), kDocuments.end(), name) != kDocuments.end()) return;
    reader.diagnose(item, "there is no document \"" + name + "\"; there are ga and preview");
  });
  return out;
}

std::map<std::string, std::string> load_texts_by_name(YamlReader& reader, YamlNode node,
                                                      std::string_view key) {
  std::map<std::string, std::string> out;
  const YamlNode member = node.member(key);
  if (!member.is_defined() || !reader.check_names(member, key)) return out;
  for (const auto& entry : member.entries()) {
    out[entry.key.scalar()] = reader.text(entry.value, key).value_or("");
  }
  return out;
}

std::optional<Section> load_section(YamlReader& reader, YamlNode node) {
  if (!reader.check_map(node, "section", kSection, {"title", "documents"})) return std::nullopt;
  Section out;
  out.position = reader.position(node);
  out.title = optional_text(reader, node, "title");
  out.note = optional_text(reader, node, "note");
  out.documents = load_documents(reader, node);
  out.headings = load_texts_by_name(reader, node, "headings");
  return out;
}

// What clients do, where they are judged by it.
std::string load_client_side(YamlReader& reader, YamlNode node, const Requirement& requirement) {
  constexpr std::string_view kKey = "judged_of_clients";
  const YamlNode member = node.member(kKey);
  if (!member.is_defined()) return {};
  if (requirement.binds != "client") return reader.text(member, kKey).value_or("");
  const auto judged = reader.boolean(member, kKey);
  if (!judged) return {};
  if (!*judged) reader.diagnose(member, "judged_of_clients must be true; leave it out otherwise");
  return requirement.text;
}

std::optional<Requirement> load_requirement(YamlReader& reader, YamlNode node) {
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
  out.documents = load_documents(reader, node);
  const std::string level = optional_text(reader, node, "level");
  if (const auto known = level_named(level)) {
    out.level = *known;
  } else {
    reader.diagnose(node, "level must be must, should or may, not \"" + level + "\"");
  }
  if (const auto open = node.member("open"); open.is_defined()) {
    out.open = reader.boolean(open, "open").value_or(false);
  }
  if (const auto outcomes = node.member("outcomes"); outcomes.is_defined()) {
    out.outcomes = reader.texts(outcomes, "outcomes");
  }
  out.dialects = load_texts_by_name(reader, node, "dialects");
  out.of_clients = load_client_side(reader, node, out);
  if (out.observe.empty() == out.untestable.empty()) {
    reader.diagnose(node, out.id + " needs either observe or untestable");
  }
  return out;
}

// Each requirement stands in a section that there is, and no section is there for nothing.
void check_sections(const std::vector<Section>& sections,
                    const std::vector<Requirement>& requirements, std::vector<LoadError>& errors) {
  std::vector<std::string_view> titles;
  std::set<std::string_view> used;
  for (const Section& section : sections) titles.push_back(section.title);
  for (const Requirement& requirement : requirements) {
    used.insert(requirement.section);
    if (std::find(titles.begin(), titles.end(), requirement.section) != titles.end()) continue;
    const std::string guess = nearest(requirement.section, titles);
    errors.push_back(
        {requirement.position, requirement.id + " is in the section \"" + requirement.section +
                                   "\", which is not one of the sections" +
                                   (guess.empty() ? "" : "; did you mean \"" + guess + "\"?")});
  }
  for (const Section& section : sections) {
    if (used.contains(section.title) || !section.note.empty()) continue;
    errors.push_back({section.position, "no requirement is in the section \"" + section.title +
                                            "\"; add a note that says why"});
  }
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
  const auto root = reader.parse(file);
  if (!root || !reader.check_map(*root, "the file", kFile, {"requirements"})) return out;
  std::set<std::string> seen;
  for (const YamlNode node : root->member("requirements").items()) {
    auto requirement = load_requirement(reader, node);
    if (!requirement) continue;
    if (!seen.insert(requirement->id).second) {
      reader.diagnose(node, "the requirement " + requirement->id + " is listed twice");
    }
    out.requirements_.push_back(std::move(*requirement));
  }
  if (const YamlNode sections = root->member("sections"); sections.is_defined()) {
    for (const YamlNode node : sections.items()) {
      if (auto section = load_section(reader, node)) out.sections_.push_back(std::move(*section));
    }
    check_sections(out.sections_, out.requirements_, errors);
  }
  return out;
}

bool can_be_broken(const Requirement& requirement) {
  return requirement.untestable.empty() && !requirement.open && requirement.level != Level::kMay;
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

}  // namespace fencepost::scenario
