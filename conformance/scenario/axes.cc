#include "conformance/scenario/axes.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "conformance/scenario/axis_table.h"
#include "conformance/scenario/scenario_fields.h"
#include "conformance/scenario/timestamp_expression.h"

namespace fencepost::scenario {
namespace {

using namespace std::string_view_literals;

// What may have placeholders. Not `divergence`: the loader finds each member's part of it.
constexpr std::array kReplaced = {"requirements"sv, "requires"sv, "tags"sv, "exclusive"sv,
                                  "clients"sv,      "steps"sv,    "note"sv};
// Lists to which values of axes add.
constexpr std::array kLists = {"requirements"sv, "requires"sv, "tags"sv};
constexpr std::array kOwn = {"axes"sv, "parts"sv, "only"sv, "except"sv};

template <std::size_t kSize>
bool contains(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A plain scalar that begins with a dollar. Quoted ones are text.
bool is_placeholder(const YAML::Node& node) {
  return node.IsScalar() && !YamlReader::is_quoted(node) && node.Scalar().starts_with('$');
}

// Calls `use` for each placeholder in a tree, also for those that stand as keys.
template <typename Use>
void for_each_placeholder(const YAML::Node& node, const Use& use) {
  if (is_placeholder(node)) use(node);
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) for_each_placeholder(item, use);
  } else if (node.IsMap()) {
    for (const auto& entry : node) {
      for_each_placeholder(entry.first, use);
      for_each_placeholder(entry.second, use);
    }
  }
}

// Builds nodes that belong to the tree of a pool, and stand where others stand.
class NodeBuilder {
 public:
  explicit NodeBuilder(const YAML::Node& pool) : pool_(pool) {}

  YAML::Node make(const YAML::Node& built, const YAML::Node& like) {
    YAML::Node fresh = pool_[pool_.size()];
    fresh = built;
    YamlReader::place(fresh, like);
    return fresh;
  }
  YAML::Node make(YAML::NodeType::value type, const YAML::Node& like) {
    return make(YAML::Node(type), like);
  }
  YAML::Node text(const std::string& text, const YAML::Node& like) {
    return make(YAML::Node(text), like);
  }

 private:
  YAML::Node pool_;
};

// Adds the texts under `cites` in the steps.
void collect_citations(const YAML::Node& node, std::vector<YAML::Node>& out) {
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) collect_citations(item, out);
  } else if (node.IsMap()) {
    for (const auto& entry : node) {
      const bool cites = entry.first.IsScalar() && entry.first.Scalar() == "cites";
      if (cites && entry.second.IsScalar()) out.push_back(entry.second);
      collect_citations(entry.second, out);
    }
  }
}

// Makes the members of one family.
class Family {
 public:
  Family(YamlReader& reader, NodeBuilder& builder, const YAML::Node& node, const AxisTable& table)
      : reader_(reader), builder_(builder), node_(node), table_(table) {}

  std::vector<FamilyMember> expand() {
    const std::size_t before = reader_.complaints();
    check_places();
    std::vector<FamilyMember> out;
    for (const Combination& combination : combinations_of(reader_, table_)) {
      out.push_back(make_member(combination));
    }
    if (reader_.complaints() == before) check_all_used();
    if (reader_.complaints() > before) return {};
    return out;
  }

 private:
  // Placeholders stand for values, and only where members may differ.
  void check_places() {
    for (const auto& entry : node_) {
      const std::string& key = entry.first.Scalar();
      if (key == "axes" || key == "parts" || contains(kReplaced, key)) continue;
      for_each_placeholder(entry.second, [&](const YAML::Node& found) {
        reader_.complain(found, key +
                                    " is the same for all members and has no placeholders; quote " +
                                    found.Scalar() + " if it is text");
      });
    }
  }

  FamilyMember make_member(const Combination& combination) {
    combination_ = &combination;
    replacements_ = 0;
    FamilyMember member;
    const YAML::Node id = YamlReader::member(node_, "id");
    member.family = id.IsScalar() ? id.Scalar() : "";
    for (std::size_t i = 0; i < combination.size(); ++i) {
      member.bindings.push_back({table_.axes[i].name, combination[i]->name});
    }
    words_ = describe(member.bindings);
    member.node = builder_.make(YAML::NodeType::Map, node_);
    for (const auto& entry : node_) {
      const std::string& key = entry.first.Scalar();
      if (contains(kOwn, key) || contains(kLists, key)) continue;
      if (key == "exclusive" && given("exclusive").IsDefined()) continue;
      member.node.force_insert(entry.first, member_value(key, entry.second));
    }
    if (const YAML::Node exclusive = given("exclusive"); exclusive.IsDefined()) {
      member.node.force_insert("exclusive", exclusive);
    }
    for (const std::string_view list : kLists) add_list(std::string(list), member.node);
    return member;
  }

  YAML::Node member_value(const std::string& key, const YAML::Node& value) {
    if (contains(kReplaced, key)) return replace(value);
    if (!value.IsScalar()) return value;
    if (key == "title") return builder_.text(value.Scalar() + " (" + words_ + ")", value);
    if (key != "id") return value;
    std::string id = value.Scalar();
    for (const AxisValue* bound : *combination_) id += "." + bound->name;
    return builder_.text(id, value);
  }

  // What the last value that says so gives for this key; undefined when none does.
  YAML::Node given(std::string_view key) {
    YAML::Node out(YAML::NodeType::Undefined);
    for (const AxisValue* value : *combination_) {
      if (const YAML::Node own = YamlReader::member(value->node, key); own.IsDefined()) {
        out.reset(replace(own));
      }
    }
    return out;
  }

  // The family's own entries, then those of the values; of requirements also those that steps cite.
  void add_list(const std::string& key, YAML::Node& member) {
    const YAML::Node own = YamlReader::member(node_, key);
    std::vector<YAML::Node> items;
    const auto add = [&](const YAML::Node& list) {
      if (!list.IsDefined()) return;
      const YAML::Node replaced = replace(list);
      if (!replaced.IsSequence()) {
        reader_.complain(list, key + " must be a list of texts");
        return;
      }
      for (const YAML::Node& item : replaced) items.push_back(item);
    };
    add(own);
    for (const AxisValue* value : *combination_) add(YamlReader::member(value->node, key));
    if (key == "requirements") collect_citations(YamlReader::member(member, "steps"), items);
    if (items.empty() && !own.IsDefined() && key != "requirements") return;
    YAML::Node list = builder_.make(YAML::NodeType::Sequence, own.IsDefined() ? own : node_);
    std::set<std::string> seen;
    for (const YAML::Node& item : items) {
      if (!item.IsScalar() || seen.insert(item.Scalar()).second) list.push_back(item);
    }
    member.force_insert(key, list);
  }

  // The tree with what the placeholders stand for; the same node when there are none.
  YAML::Node replace(const YAML::Node& node) {
    if (is_placeholder(node)) return value_of(node);
    if (node.IsSequence()) return replace_in_list(node);
    if (node.IsMap()) return replace_in_mapping(node);
    return node;
  }

  YAML::Node replace_in_list(const YAML::Node& node) {
    std::vector<YAML::Node> items;
    bool changed = false;
    for (const YAML::Node& item : node) {
      const YAML::Node replaced = replace(item);
      changed = changed || !replaced.is(item);
      if (is_placeholder(item) && replaced.IsSequence()) {
        for (const YAML::Node& part : replaced) items.push_back(part);
      } else {
        items.push_back(replaced);
      }
    }
    if (!changed) return node;
    YAML::Node out = builder_.make(YAML::NodeType::Sequence, node);
    for (const YAML::Node& item : items) out.push_back(item);
    return out;
  }

  YAML::Node replace_in_mapping(const YAML::Node& node) {
    std::vector<std::pair<YAML::Node, YAML::Node>> entries;
    bool changed = false;
    for (const auto& entry : node) {
      if (is_placeholder(entry.first)) {
        complain_once(entry.first, "a placeholder stands for a value, not for a key; quote " +
                                       entry.first.Scalar() + " if it is text");
      }
      entries.emplace_back(entry.first, replace(entry.second));
      changed = changed || !entries.back().second.is(entry.second);
    }
    if (!changed) return node;
    YAML::Node out = builder_.make(YAML::NodeType::Map, node);
    for (const auto& [key, value] : entries) out.force_insert(key, value);
    return out;
  }

  YAML::Node value_of(const YAML::Node& node) {
    const std::string name = node.Scalar().substr(1);
    const YAML::Node* value = find(name);
    if (value == nullptr) {
      complain_of_missing(node, name);
      return node;
    }
    used_.insert(name);
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
      complain_once(node,
                    "the placeholder " + node.Scalar() + " stands for itself; break the circle");
      return node;
    }
    if (++replacements_ > kMaxReplacements) {
      complain_once(node_, "this case has more than " + std::to_string(kMaxReplacements) +
                               " placeholders when their values are written out; make it smaller");
      return node;
    }
    open_.push_back(name);
    const YAML::Node replaced = replace(*value);
    open_.pop_back();
    return replaced;
  }

  // What a name stands for in this combination; null when nothing.
  [[nodiscard]] const YAML::Node* find(const std::string& name) const {
    for (const AxisValue* bound : *combination_) {
      const auto found = bound->placeholders.find(name);
      if (found != bound->placeholders.end()) return &found->second.value;
    }
    const auto part = table_.parts.find(name);
    return part == table_.parts.end() ? nullptr : &part->second.value;
  }

  void complain_of_missing(const YAML::Node& node, const std::string& name) {
    const Axis* axis = table_.axis_of(name);
    if (axis != nullptr) {
      const auto index = static_cast<std::size_t>(axis - table_.axes.data());
      complain_once(node, "there is no " + node.Scalar() + " where " + words_ + "; give " +
                              "the value " + (*combination_)[index]->name + " of the axis " +
                              axis->name + " a " + name +
                              ", or leave the combination out with except");
      return;
    }
    const std::map<std::string, Placeholder> known = table_.placeholders();
    std::vector<std::string_view> known_names;
    for (const auto& [key, placeholder] : known) known_names.push_back(key);
    const std::string guess = nearest(name, known_names);
    complain_once(node, "no axis gives the placeholder " + node.Scalar() +
                            (guess.empty() ? "; add it to the values of an axis, or quote it if it "
                                             "is text"
                                           : "; did you mean $" + guess + "?"));
  }

  // Members have most of their nodes in common.
  void complain_once(const YAML::Node& node, const std::string& text) {
    const Position at = reader_.position(node);
    if (complained_.insert({at.line, at.column}).second) reader_.complain(node, text);
  }

  void check_all_used() {
    for (const auto& [name, placeholder] : table_.placeholders()) {
      if (used_.contains(name)) continue;
      reader_.complain(placeholder.name, "no step uses $" + name + "; remove it");
    }
  }

  YamlReader& reader_;
  NodeBuilder& builder_;
  const YAML::Node& node_;
  const AxisTable& table_;
  const Combination* combination_ = nullptr;  // of the member that is being made
  std::string words_;                         // the same, for people
  std::size_t replacements_ = 0;
  std::vector<std::string> open_;  // placeholders whose values are being written out
  std::set<std::string> used_;
  std::set<std::pair<int, int>> complained_;
};

// What only a family may have, in a case without axes.
void check_plain_case(YamlReader& reader, const YAML::Node& node) {
  for (const std::string_view key : kOwn) {
    if (const YAML::Node own = YamlReader::member(node, key); own.IsDefined()) {
      reader.complain(own, std::string(key) + " goes with axes, and this case has none; remove it");
    }
  }
  for_each_placeholder(node, [&](const YAML::Node& found) {
    if (!is_name(found.Scalar().substr(1))) return;  // such as $share/...
    reader.complain(found, found.Scalar() +
                               " is a placeholder, and this case has no axes to say "
                               "what it stands for; quote it if it is text");
  });
}

}  // namespace

std::string describe(const std::vector<AxisBinding>& bindings) {
  std::string out;
  for (const AxisBinding& binding : bindings) {
    out += (out.empty() ? "" : ", ") + binding.axis + ": " + binding.value;
  }
  return out;
}

// yaml-cpp keeps the nodes of a tree in a set, and unites two sets when a node of one tree goes
// into the other: it copies the second into the first. So whatever is built here begins as a node
// of the pool, which has all of the file in its set already, and nothing is copied any more.
FamilyExpander::FamilyExpander(YamlReader& reader, const YAML::Node& root)
    : reader_(reader), pool_(YAML::NodeType::Sequence) {
  pool_.push_back(root);
}

std::vector<FamilyMember> FamilyExpander::members_of(const YAML::Node& node) {
  if (!node.IsMap() || !YamlReader::member(node, "axes").IsDefined()) {
    if (node.IsMap()) check_plain_case(reader_, node);
    return {{.node = node}};
  }
  const auto table = load_axis_table(reader_, node);
  if (!table) return {};
  NodeBuilder builder(pool_);
  return Family(reader_, builder, node, *table).expand();
}

}  // namespace fencepost::scenario
