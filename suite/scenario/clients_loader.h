// Reads the clients of a case, and their names where steps use them. Private to the scenario
// loader.
#pragma once

#include <string>

#include "suite/scenario/scenario.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {

// `node`: the case's `clients`, which may be undefined: then it has one client, "a".
void load_clients(YamlReader& reader, YamlNode node, Case& test_case);

// The client named by `node`, or the case's first when there is no node. Reports one that the
// case does not have.
[[nodiscard]] std::string load_client_name(YamlReader& reader, YamlNode node,
                                           const Case& test_case);

// A step makes the client subscribe to its notifications. A name that the case does not have is
// left alone.
void make_observer(Case& test_case, const std::string& client);
// A step drops its connection.
void make_dropping(Case& test_case, const std::string& client);

}  // namespace fencepost::scenario
