// The tables of a family of cases, read and checked: its axes, and which combinations of their
// values are left out. Private to axes.h.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {

// The most combinations of one family, before `only` and `except`.
inline constexpr std::size_t kMaxCombinations = 500;

struct Placeholder {
  YamlNode name;  // where it is given
  YamlNode value;
};

struct AxisValue {
  std::string name;
  YamlNode node;
  std::map<std::string, Placeholder> placeholders{};
};

struct Axis {
  std::string name;
  YamlNode node;
  std::vector<AxisValue> values{};
};

// One entry of `only` or `except`: the combinations whose values are among those named.
struct CombinationFilter {
  YamlNode node;
  std::map<std::string, std::set<std::string>> values{};  // by axis
};

// One value of each axis, in the order of the axes.
using Combination = std::vector<const AxisValue*>;

struct AxisTable {
  std::vector<Axis> axes;
  std::map<std::string, Placeholder> parts;  // the same in all combinations
  std::vector<CombinationFilter> only;
  std::vector<CombinationFilter> except;
  // Where it has a value: not all combinations, but enough that each pair of values is in one, and
  // each triple of values of these axes. See covering.h.
  std::optional<std::vector<std::size_t>> cover;
  std::size_t first_number = 1;  // of its members; more than 1 for one that was saved

  // The axis that gives this placeholder; null when none does.
  [[nodiscard]] const Axis* axis_of(const std::string& placeholder) const;
  // All placeholders, each at the first place that gives it.
  [[nodiscard]] std::map<std::string, Placeholder> placeholders() const;
};

// Reads `axes`, `parts`, `only` and `except` of a case. Reports errors, and returns nothing, unless
// all is well.
[[nodiscard]] std::optional<AxisTable> load_axis_table(YamlReader& reader, YamlNode node);

// The combinations that are to be cases, the last axis changing fastest. Reports filters that
// match nothing and when nothing is left.
[[nodiscard]] std::vector<Combination> combinations_of(YamlReader& reader, const AxisTable& table);

}  // namespace fencepost::scenario
