// Finds the libraries that belong to this program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace fencepost::endpoint {

// The file of this name beside the program, or in ../lib/fencepost when that is installed. Nothing:
// there is none.
[[nodiscard]] std::optional<std::filesystem::path> find_beside_program(const std::string& name);

}  // namespace fencepost::endpoint
