#include "suite/scenario/axes.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "suite/scenario/axis_table.h"
#include "suite/scenario/scenario_fields.h"
#include "suite/scenario/timestamp_expression.h"

namespace fencepost::scenario {
namespace {

using namespace std::string_view_literals;

// What may have placeholders. Not `divergence`: the loader finds each member's part of it.
constexpr std::array kReplaced = {"requirements"sv, "requires"sv, "tags"sv, "exclusive"sv,
                                  "clients"sv,      "steps"sv,    "note"sv};
// Lists to which values of axes add.
constexpr std::array kLists = {"requirements"sv, "requires"sv, "tags"sv};
constexpr std::array kOwn = {"axes"sv, "parts"sv, "only"sv, "except"sv, "cover"sv};

template <std::size_t kSize>
bool contains(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_placeholder(YamlNode node) { return node.is_scalar() && node.has_placeholder(); }

// Calls `use` for each placeholder in a tree, also for those that stand as keys.
template <typename Use>
void for_each_placeholder(YamlNode node, const Use& use) {
  if (!node.has_placeholder()) return;
  if (is_placeholder(node)) use(node);
  if (node.is_list()) {
    for (const YamlNode item : node.items()) for_each_placeholder(item, use);
  } else if (node.is_map()) {
    for (const auto& entry : node.entries()) {
      for_each_placeholder(entry.key, use);
      for_each_placeholder(entry.value, use);
    }
  }
}

// Adds the texts under `cites` in the steps.
void collect_citations(YamlNode node, std::vector<YamlNode>& out) {
  if (node.is_list()) {
    for (const YamlNode item : node.items()) collect_citations(item, out);
  } else if (node.is_map()) {
    for (const auto& entry : node.entries()) {
      const bool cites = entry.key.is_scalar() && entry.key.scalar() == "cites";
      if (cites && entry.value.is_scalar()) out.push_back(entry.value);
      collect_citations(entry.value, out);
    }
  }
}

// Makes the members of one family.
class Family {
 public:
  Family(YamlReader& reader, YamlNode node, const AxisTable& table)
      : reader_(reader), tree_(reader.tree()), node_(node), table_(table) {}

  std::vector<FamilyMember> expand() {
    const std::size_t before = reader_.diagnostics();
    check_places();
    std::vector<FamilyMember> out;
    const std::vector<Combination> combinations = combinations_of(reader_, table_);
    for (const Combination& combination : combinations) {
      number_ = table_.first_number + out.size();
      out.push_back(make_member(combination));
    }
    if (reader_.diagnostics() == before) check_all_used();
    if (reader_.diagnostics() > before) return {};
    return out;
  }

 private:
  // Placeholders stand for values, and only where members may differ.
  void check_places() {
    for (const auto& entry : node_.entries()) {
      const std::string& key = entry.key.scalar();
      if (key == "axes" || key == "parts" || contains(kReplaced, key)) continue;
      for_each_placeholder(entry.value, [&](YamlNode found) {
        reader_.diagnose(found, key +
                                    " is the same for all members and has no placeholders; quote " +
                                    found.scalar() + " if it is text");
      });
    }
  }

  FamilyMember make_member(const Combination& combination) {
    combination_ = &combination;
    replacements_ = 0;
    FamilyMember member;
    const YamlNode id = node_.member("id");
    member.family = id.is_scalar() ? id.scalar() : "";
    for (std::size_t i = 0; i < combination.size(); ++i) {
      member.bindings.push_back({table_.axes[i].name, combination[i]->name});
    }
    words_ = describe(member.bindings);
    std::vector<YamlNode> nodes;  // keys and values by turns
    for (const auto& entry : node_.entries()) {
      const std::string& key = entry.key.scalar();
      if (contains(kOwn, key) || contains(kLists, key)) continue;
      if (key == "exclusive" && given("exclusive").is_defined()) continue;
      nodes.push_back(entry.key);
      nodes.push_back(member_value(key, entry.value));
    }
    if (const YamlNode exclusive = given("exclusive"); exclusive.is_defined()) {
      nodes.push_back(tree_.add_text("exclusive", exclusive.place()));
      nodes.push_back(exclusive);
    }
    for (const std::string_view key : kLists) add_list(std::string(key), nodes);
    member.node = tree_.add_map(std::move(nodes), node_.place());
    return member;
  }

  YamlNode member_value(const std::string& key, YamlNode value) {
    if (contains(kReplaced, key)) return replace(value);
    if (!value.is_scalar()) return value;
    if (key == "title") {
      // The names of many values would be too long to read.
      const std::string which = table_.cover ? "combination " + std::to_string(number_) : words_;
      return tree_.add_text(value.scalar() + " (" + which + ")", value.place());
    }
    if (key != "id") return value;
    std::string id = value.scalar();
    if (table_.cover) return tree_.add_text(id + "." + std::to_string(number_), value.place());
    for (const AxisValue* bound : *combination_) id += "." + bound->name;
    return tree_.add_text(std::move(id), value.place());
  }

  // What the last value that says so gives for this key; undefined when none does.
  YamlNode given(std::string_view key) {
    YamlNode out;
    for (const AxisValue* value : *combination_) {
      if (const YamlNode own = value->node.member(key); own.is_defined()) out = replace(own);
    }
    return out;
  }

  // The family's own entries, then those of the values; of requirements also those that steps cite.
  // `nodes`: keys and values of the member so far.
  void add_list(const std::string& key, std::vector<YamlNode>& nodes) {
    const YamlNode own = node_.member(key);
    std::vector<YamlNode> items;
    const auto add = [&](YamlNode list) {
      if (!list.is_defined()) return;
      const YamlNode replaced = replace(list);
      if (!replaced.is_list()) {
        reader_.diagnose(list, key + " must be a list of texts");
        return;
      }
      for (const YamlNode item : replaced.items()) items.push_back(item);
    };
    add(own);
    for (const AxisValue* value : *combination_) add(value->node.member(key));
    if (key == "requirements") {
      for (std::size_t i = 0; i < nodes.size(); i += 2) {
        if (nodes[i].scalar() == "steps") collect_citations(nodes[i + 1], items);
      }
    }
    if (items.empty() && !own.is_defined() && key != "requirements") return;
    const YamlPlace place = own.is_defined() ? own.place() : node_.place();
    std::vector<YamlNode> once;
    std::set<std::string_view> seen;
    for (const YamlNode item : items) {
      if (!item.is_scalar() || seen.insert(item.scalar()).second) once.push_back(item);
    }
    nodes.push_back(tree_.add_text(key, place));
    nodes.push_back(tree_.add_list(std::move(once), place));
  }

  // The tree with what the placeholders stand for; the same node when there are none.
  YamlNode replace(YamlNode node) {
    if (!node.has_placeholder()) return node;
    if (node.is_list()) return replace_in_list(node);
    if (node.is_map()) return replace_in_mapping(node);
    return value_of(node);
  }

  YamlNode replace_in_list(YamlNode node) {
    std::vector<YamlNode> items;
    items.reserve(node.size());
    bool changed = false;
    for (const YamlNode item : node.items()) {
      const YamlNode replaced = replace(item);
      changed = changed || replaced != item;
      if (is_placeholder(item) && replaced.is_list()) {
        for (const YamlNode part : replaced.items()) items.push_back(part);
      } else {
        items.push_back(replaced);
      }
    }
    return changed ? tree_.add_list(std::move(items), node.place()) : node;
  }

  YamlNode replace_in_mapping(YamlNode node) {
    std::vector<YamlNode> nodes;  // keys and values by turns
    nodes.reserve(2 * node.size());
    bool changed = false;
    for (const auto& [key, value] : node.entries()) {
      if (is_placeholder(key)) {
        diagnose_once(key, "a placeholder stands for a value, not for a key; quote " +
                               key.scalar() + " if it is text");
      }
      nodes.push_back(key);
      nodes.push_back(replace(value));
      changed = changed || nodes.back() != value;
    }
    return changed ? tree_.add_map(std::move(nodes), node.place()) : node;
  }

  YamlNode value_of(YamlNode node) {
    const std::string name = node.scalar().substr(1);
    const YamlNode value = find(name);
    if (!value.is_defined()) {
      diagnose_missing(node, name);
      return node;
    }
    used_.insert(name);
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
      diagnose_once(node,
                    "the placeholder " + node.scalar() + " refers to itself; break the cycle");
      return node;
    }
    if (++replacements_ > kMaxReplacements) {
      diagnose_once(node_, "this case has more than " + std::to_string(kMaxReplacements) +
                               " placeholders when their values are written out; make it smaller");
      return node;
    }
    open_.push_back(name);
    const YamlNode replaced = replace(value);
    open_.pop_back();
    return replaced;
  }

  // What a name stands for in this combination; undefined when nothing.
  [[nodiscard]] YamlNode find(const std::string& name) const {
    for (const AxisValue* bound : *combination_) {
      const auto found = bound->placeholders.find(name);
      if (found != bound->placeholders.end()) return found->second.value;
    }
    const auto part = table_.parts.find(name);
    return part == table_.parts.end() ? YamlNode() : part->second.value;
  }

  void diagnose_missing(YamlNode node, const std::string& name) {
    const Axis* axis = table_.axis_of(name);
    if (axis != nullptr) {
      const auto index = static_cast<std::size_t>(axis - table_.axes.data());
      diagnose_once(node, "there is no " + node.scalar() + " where " + words_ + "; give " +
                              "the value " + (*combination_)[index]->name + " of the axis " +
                              axis->name + " a " + name +
                              ", or leave the combination out with except");
      return;
    }
    const std::map<std::string, Placeholder> known = table_.placeholders();
    std::vector<std::string_view> known_names;
    for (const auto& [key, placeholder] : known) known_names.push_back(key);
    const std::string guess = nearest(name, known_names);
    diagnose_once(node, "no axis gives the placeholder " + node.scalar() +
                            (guess.empty() ? "; add it to the values of an axis, or quote it if it "
                                             "is text"
                                           : "; did you mean $" + guess + "?"));
  }

  // Members have most of their nodes in common.
  void diagnose_once(YamlNode node, const std::string& text) {
    const Position at = reader_.position(node);
    if (diagnosed_.insert({at.line, at.column}).second) reader_.diagnose(node, text);
  }

  void check_all_used() {
    for (const auto& [name, placeholder] : table_.placeholders()) {
      if (used_.contains(name)) continue;
      reader_.diagnose(placeholder.name, "no step uses $" + name + "; remove it");
    }
  }

  YamlReader& reader_;
  YamlTree& tree_;
  const YamlNode node_;
  const AxisTable& table_;
  const Combination* combination_ = nullptr;  // of the member that is being made
  std::string words_;                         // the same, for people
  std::size_t number_ = 0;                    // and which it is, from 1
  std::size_t replacements_ = 0;
  std::vector<std::string> open_;  // placeholders whose values are being written out
  std::set<std::string> used_;
  std::set<std::pair<int, int>> diagnosed_;
};

// What only a family may have, in a case without axes.
void check_plain_case(YamlReader& reader, YamlNode node) {
  for (const std::string_view key : kOwn) {
    if (const YamlNode own = node.member(key); own.is_defined()) {
      reader.diagnose(own, std::string(key) + " needs axes, and this case has none; remove it");
    }
  }
  for_each_placeholder(node, [&](YamlNode found) {
    if (!is_name(found.scalar().substr(1))) return;  // such as $share/...
    reader.diagnose(found, found.scalar() +
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

std::vector<FamilyMember> members_of(YamlReader& reader, YamlNode node) {
  if (!node.is_map() || !node.member("axes").is_defined()) {
    if (node.is_map()) check_plain_case(reader, node);
    return {{.node = node}};
  }
  const auto table = load_axis_table(reader, node);
  if (!table) return {};
  return Family(reader, node, *table).expand();
}

}  // namespace fencepost::scenario
