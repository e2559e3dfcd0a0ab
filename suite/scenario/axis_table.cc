#include "suite/scenario/axis_table.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "suite/scenario/covering.h"
#include "suite/scenario/scenario_fields.h"
#include "suite/scenario/timestamp_expression.h"

namespace fencepost::scenario {
namespace {

constexpr std::int64_t kMaxNumber = 1'000'000;

bool is_reserved(std::string_view name) {
  return std::find(fields::kAxisValue.begin(), fields::kAxisValue.end(), name) !=
         fields::kAxisValue.end();
}

// A value's name becomes part of the case's id, where dots separate values.
bool is_value_name(std::string_view name) {
  return !name.empty() && name.front() != '-' && name.back() != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

// The same text for two trees if and only if they are the same.
std::string text_of(YamlNode node) {
  std::string out;
  if (node.is_scalar()) {
    const std::string& text = node.scalar();
    return (node.is_quoted() ? "\"" : "") + std::to_string(text.size()) + ":" + text;
  }
  if (node.is_list()) {
    for (const YamlNode item : node.items()) out += text_of(item) + ",";
    return "[" + out + "]";
  }
  for (const auto& entry : node.entries())
    out += text_of(entry.key) + "=" + text_of(entry.value) + ",";
  return node.is_map() ? "{" + out + "}" : "~";
}

std::string list_of(const std::vector<std::string_view>& names) {
  std::string out;
  for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string guess = nearest(word, known);
  return guess.empty() ? "; there are: " + list_of(known) : "; did you mean \"" + guess + "\"?";
}

class TableLoader {
 public:
  TableLoader(YamlReader& reader, AxisTable& table) : reader_(reader), table_(table) {}

  void load(YamlNode node) {
    const std::size_t before = reader_.diagnostics();
    load_axes(node.member("axes"));
    if (reader_.diagnostics() > before) return;
    load_parts(node.member("parts"));
    load_cover(node.member("cover"));
    if (!table_.cover) check_product(node.member("axes"));
    load_filters(node.member("only"), "only", table_.only);
    load_filters(node.member("except"), "except", table_.except);
    if (table_.cover && !(table_.only.empty() && table_.except.empty())) {
      reader_.diagnose(node.member("cover"), "cover excludes only and except; remove one");
    }
  }

 private:
  void load_axes(YamlNode node) {
    if (!node.is_map() || node.size() == 0) {
      reader_.diagnose(
          node,
          "axes must map names to their values, e.g. {state: {absent: {answer: missing}, "
          "present: {answer: {value: v}}}}");
      return;
    }
    if (!reader_.check_names(node, "axes")) return;
    for (const auto& entry : node.entries()) {
      if (!is_name(entry.key.scalar())) {
        reader_.diagnose(entry.key,
                         "an axis is named by letters, digits, _ and -, and begins with a "
                         "letter");
        continue;
      }
      load_axis(entry.key, entry.value);
    }
  }

  void load_axis(YamlNode name, YamlNode node) {
    Axis axis{.name = name.scalar(), .node = name};
    if (!node.is_map() || node.size() == 0) {
      reader_.diagnose(
          node, "the axis " + axis.name +
                    " needs at least one value: a name, and what the placeholders stand for, "
                    "e.g. {absent: {answer: missing}}");
      return;
    }
    if (!reader_.check_names(node, "the axis " + axis.name)) return;
    for (const auto& entry : node.entries()) {
      if (!is_value_name(entry.key.scalar())) {
        reader_.diagnose(
            entry.key,
            "a value of an axis is named by lower-case letters, digits and dashes, and begins "
            "and ends with a letter or digit, because the name becomes part of the case's id");
        continue;
      }
      load_value(entry.key, entry.value, axis);
    }
    const bool empty = std::all_of(axis.values.begin(), axis.values.end(),
                                   [](const auto& value) { return value.node.size() == 0; });
    if (empty && axis.values.size() == node.size()) {
      reader_.diagnose(name, "the axis " + axis.name +
                                 " changes nothing, as its values are empty; give them "
                                 "placeholders, or remove it");
    }
    table_.axes.push_back(std::move(axis));
  }

  void load_value(YamlNode name, YamlNode node, Axis& axis) {
    const std::string what = "the value " + name.scalar() + " of the axis " + axis.name;
    if (!reader_.check_names(node, what)) return;
    AxisValue value{.name = name.scalar(), .node = node};
    for (const auto& entry : node.entries()) {
      if (!is_reserved(entry.key.scalar())) add(entry.key, entry.value, value.placeholders);
    }
    const YamlNode note = node.member("note");
    if (note.is_defined()) (void)reader_.text(note, "note");
    const auto [earlier, is_new] = contents_.emplace(axis.name + " " + text_of(node), value.name);
    if (!is_new) {
      reader_.diagnose(name, "the values " + earlier->second + " and " + value.name +
                                 " are the same, which would duplicate cases; remove one");
    }
    axis.values.push_back(std::move(value));
  }

  void load_parts(YamlNode node) {
    if (!node.is_defined() || !reader_.check_names(node, "parts")) return;
    for (const auto& entry : node.entries()) {
      if (is_reserved(entry.key.scalar())) {
        reader_.diagnose(entry.key, "a part cannot be named " + entry.key.scalar() +
                                        "; write that into the case itself");
        continue;
      }
      add(entry.key, entry.value, table_.parts);
    }
  }

  void add(YamlNode name, YamlNode value, std::map<std::string, Placeholder>& out) {
    const std::string& text = name.scalar();
    const Axis* other = table_.axis_of(text);
    if (!is_name(text)) {
      reader_.diagnose(name,
                       "a placeholder is named by letters, digits, _ and -, and begins with a "
                       "letter");
    } else if (other != nullptr) {
      reader_.diagnose(name, "the axis " + other->name + " gives the placeholder " + text +
                                 " already; choose another name");
    } else {
      out[text] = {name, value};
    }
  }

  // `pairs`, or {triples: [axis, ...]}, or {member: 7} for a member that was saved
  void load_cover(YamlNode node) {
    if (!node.is_defined()) return;
    table_.cover.emplace();
    if (const YamlNode member = node.is_map() ? node.member("member") : YamlNode();
        member.is_defined() && node.size() == 1) {
      const auto number = reader_.integer(member, "member", 1, kMaxNumber);
      table_.first_number = static_cast<std::size_t>(number.value_or(1));
      return;
    }
    const YamlNode triples = node.is_map() ? node.member("triples") : YamlNode();
    if (!triples.is_list() || node.size() != 1) {
      if (node.is_scalar() && node.scalar() == "pairs") return;
      reader_.diagnose(node, "cover must be pairs, or {triples: [axis, axis, axis, ...]}");
      return;
    }
    std::set<std::size_t> chosen;
    reader_.for_each_text(triples, "an axis", [&](const std::string& name, YamlNode at) {
      const auto axis = std::find_if(table_.axes.begin(), table_.axes.end(),
                                     [&](const Axis& each) { return each.name == name; });
      if (axis == table_.axes.end()) {
        reader_.diagnose(at, "there is no axis \"" + name + "\"");
      } else {
        chosen.insert(static_cast<std::size_t>(axis - table_.axes.begin()));
      }
    });
    table_.cover->assign(chosen.begin(), chosen.end());
  }

  void check_product(YamlNode node) {
    std::size_t product = 1;
    for (const Axis& axis : table_.axes) {
      product *= axis.values.size();
      if (product <= kMaxCombinations) continue;
      reader_.diagnose(node, "these axes have more than " + std::to_string(kMaxCombinations) +
                                 " combinations; split the case");
      return;
    }
  }

  void load_filters(YamlNode node, const std::string& what, std::vector<CombinationFilter>& out) {
    if (!node.is_defined()) return;
    if (!node.is_list() || node.size() == 0) {
      reader_.diagnose(node, what + " must be a list of combinations, e.g. [{state: absent}]");
      return;
    }
    for (const YamlNode item : node.items()) {
      CombinationFilter filter{.node = item};
      if (!item.is_map() || item.size() == 0) {
        reader_.diagnose(item, what + " must be a list of combinations, e.g. [{state: absent}]");
        continue;
      }
      if (!reader_.check_names(item, "an entry of " + what)) continue;
      for (const auto& entry : item.entries()) load_filter_axis(entry.key, entry.value, filter);
      out.push_back(std::move(filter));
    }
  }

  // `state: absent` or `state: [absent, expired]`
  void load_filter_axis(YamlNode name, YamlNode node, CombinationFilter& filter) {
    std::vector<std::string_view> axes;
    const Axis* axis = nullptr;
    for (const Axis& known : table_.axes) {
      axes.push_back(known.name);
      if (known.name == name.scalar()) axis = &known;
    }
    if (axis == nullptr) {
      reader_.diagnose(
          name, "there is no axis \"" + name.scalar() + "\"" + did_you_mean(name.scalar(), axes));
      return;
    }
    std::vector<std::string_view> values;
    for (const AxisValue& value : axis->values) values.push_back(value.name);
    const auto add = [&](const std::string& value, YamlNode at) {
      if (std::find(values.begin(), values.end(), value) == values.end()) {
        reader_.diagnose(at, "the axis " + axis->name + " has no value \"" + value + "\"" +
                                 did_you_mean(value, values));
      } else if (!filter.values[axis->name].insert(value).second) {
        reader_.diagnose(at, "the value " + value + " is here twice; remove one");
      }
    };
    if (node.is_list()) {
      if (node.size() == 0)
        reader_.diagnose(node, "name at least one value of the axis " + axis->name);
      reader_.for_each_text(node, "a value of the axis", add);
    } else if (const auto value = reader_.text(node, "a value of the axis")) {
      add(*value, node);
    }
  }

  YamlReader& reader_;
  AxisTable& table_;
  std::map<std::string, std::string> contents_;  // of all values so far, to their names
};

bool matches(const CombinationFilter& filter, const AxisTable& table,
             const Combination& combination) {
  for (std::size_t i = 0; i < table.axes.size(); ++i) {
    const auto wanted = filter.values.find(table.axes[i].name);
    if (wanted != filter.values.end() && !wanted->second.contains(combination[i]->name)) {
      return false;
    }
  }
  return true;
}

// Counts up like an odometer; false after the last combination.
bool advance(const AxisTable& table, std::vector<std::size_t>& digits) {
  for (std::size_t i = digits.size(); i > 0; --i) {
    if (++digits[i - 1] < table.axes[i - 1].values.size()) return true;
    digits[i - 1] = 0;
  }
  return false;
}

}  // namespace

const Axis* AxisTable::axis_of(const std::string& placeholder) const {
  for (const Axis& axis : axes) {
    for (const AxisValue& value : axis.values) {
      if (value.placeholders.contains(placeholder)) return &axis;
    }
  }
  return nullptr;
}

std::map<std::string, Placeholder> AxisTable::placeholders() const {
  std::map<std::string, Placeholder> out = parts;
  for (const Axis& axis : axes) {
    for (const AxisValue& value : axis.values) {
      out.insert(value.placeholders.begin(), value.placeholders.end());
    }
  }
  return out;
}

std::optional<AxisTable> load_axis_table(YamlReader& reader, YamlNode node) {
  const std::size_t before = reader.diagnostics();
  AxisTable table;
  TableLoader(reader, table).load(node);
  if (reader.diagnostics() > before) return std::nullopt;
  return table;
}

std::vector<Combination> combinations_of(YamlReader& reader, const AxisTable& table) {
  std::vector<Combination> out;
  if (table.cover) {
    std::vector<std::size_t> sizes;
    for (const Axis& axis : table.axes) sizes.push_back(axis.values.size());
    for (const auto& row : covering_rows(sizes, *table.cover)) {
      Combination& combination = out.emplace_back();
      for (std::size_t i = 0; i < row.size(); ++i) {
        combination.push_back(&table.axes[i].values[row[i]]);
      }
    }
    return out;
  }
  std::set<const CombinationFilter*> used;
  std::vector<std::size_t> digits(table.axes.size(), 0);
  do {
    Combination combination;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      combination.push_back(&table.axes[i].values[digits[i]]);
    }
    const auto matched = [&](const CombinationFilter& filter) {
      if (!matches(filter, table, combination)) return false;
      used.insert(&filter);
      return true;
    };
    // Each filter is tried, so that one that matches nothing shows.
    const auto wanted = std::count_if(table.only.begin(), table.only.end(), matched);
    if (!table.only.empty() && wanted == 0) continue;
    if (std::count_if(table.except.begin(), table.except.end(), matched) > 0) continue;
    out.push_back(std::move(combination));
  } while (advance(table, digits));
  for (const auto* list : {&table.only, &table.except}) {
    for (const CombinationFilter& filter : *list) {
      if (used.contains(&filter)) continue;
      reader.diagnose(filter.node, "this matches no combination that is left; remove it");
    }
  }
  if (out.empty()) {
    reader.diagnose(table.axes.front().node, "only and except leave no combination, so no case");
  }
  return out;
}

}  // namespace fencepost::scenario
