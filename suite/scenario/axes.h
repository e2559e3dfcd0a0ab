// Families of cases: a case with `axes` stands for one case for each combination of their values.
// scenarios/FORMAT.md describes them. YAML trees in, YAML trees out: what comes out is read like a
// case that was written by hand, and its nodes stand where they stood in the file.
//
//   axes:
//     state:
//       absent: {before: [], answer: missing}
//       present: {before: [{set: {key: k, value: v}}], answer: {value: v}}
//   steps: [$before, {get: k, expect: $answer}]
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "suite/scenario/scenario.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {

// How many placeholders one case may replace. A value may name other placeholders, so a few lines
// could otherwise grow without bound.
inline constexpr std::size_t kMaxReplacements = 10'000;

struct FamilyMember {
  YamlNode node;                        // the case, without its axes
  std::string family{};                 // the id without that of the values; empty without axes
  std::vector<AxisBinding> bindings{};  // in the order of the axes; none without
};

// "command: get, state: absent"
[[nodiscard]] std::string describe(const std::vector<AxisBinding>& bindings);

// The cases that `node` stands for: itself when it has no axes, else its members, the last axis
// changing fastest, built in the tree of `reader`. Reports what is wrong with the axes; then
// there are none.
[[nodiscard]] std::vector<FamilyMember> members_of(YamlReader& reader, YamlNode node);

}  // namespace fencepost::scenario
