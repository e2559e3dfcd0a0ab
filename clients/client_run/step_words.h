// Reads the steps of a case for clients. Private to client_run/.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "clients/client_run/client_case.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::client_run {

// Bytes as cases of scenarios/FORMAT.md have them; keys are without a prefix. Nothing after a
// error.
[[nodiscard]] std::optional<std::string> read_bytes(scenario::YamlReader& reader,
                                                    scenario::YamlNode node, std::string_view what);

// `answer` of a request. Nothing after an error.
[[nodiscard]] std::optional<Answer> read_answer(scenario::YamlReader& reader,
                                                scenario::YamlNode node);

// `expect` of a step that is a command: one, or {any_of: [...]}; without it, what it is for a
// command that succeeds. Empty after an error.
[[nodiscard]] std::vector<Expected> read_expected(scenario::YamlReader& reader,
                                                  scenario::YamlNode step, CommandKind command);

}  // namespace fencepost::client_run
