// Names on the command line that have changed: the old one works for one more version.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace fencepost::cli {

// The arguments with each old name of a command, an option or an argument replaced by the new one,
// and one warning on standard error for each old name. Values of options, and what follows "--",
// are unchanged.
[[nodiscard]] std::vector<std::string> with_new_names(const CLI::App& app,
                                                      const std::vector<std::string>& arguments);

}  // namespace fencepost::cli
