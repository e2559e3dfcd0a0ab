// Reads the steps of a case. Private to the scenario loader.
#pragma once

#include <string>

#include "suite/scenario/scenario.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {

// `node`: the case's `steps`. Its requirements and clients must have been read before.
void load_steps(YamlReader& reader, YamlNode node, Case& test_case);

// The text under `note` of a case or step, for readers of the file; empty when there is none.
[[nodiscard]] std::string load_note(YamlReader& reader, YamlNode map);

}  // namespace fencepost::scenario
