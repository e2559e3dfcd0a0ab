// The plugin's options, as they stand in the broker's configuration file.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "reference_store/service.h"

namespace fencepost::broker_plugin {

using OptionList = std::vector<std::pair<std::string, std::string>>;

struct Options {
  store::ServiceOptions service{};
  std::optional<pid_t> parent{};  // stop the broker when its parent is no longer this process
};

// Reads dialect, quota, authorization (a file), node_id and parent_pid. The error names the option,
// what was seen and what was expected.
[[nodiscard]] Result<Options, std::string> parse_options(const OptionList& list);

}  // namespace fencepost::broker_plugin
