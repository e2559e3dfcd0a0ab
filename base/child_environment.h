// The environment of a program that we start (child_process.h). Our own may hold secrets of a CI,
// which are no business of a broker, of a client under test or of a command that a file names.
//
//   std::vector<std::string> variables = environment_of_child({"KUBECONFIG"});
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fencepost {

// Does every child get the variable of this name? Those by which programs find people, places,
// languages, libraries and tools, and those of the sanitizers.
[[nodiscard]] bool is_for_every_child(std::string_view name);

// The variables of this process, each as "NAME=value".
[[nodiscard]] std::vector<std::string> own_environment();

// Those of them that are for every child, and of these names.
[[nodiscard]] std::vector<std::string> environment_of_child(
    const std::vector<std::string>& more = {});

// What a child inherits, with ours instead of variables of the same names.
[[nodiscard]] std::vector<std::string> environment_with(const std::vector<std::string>& inherited,
                                                        const std::vector<std::string>& ours);

}  // namespace fencepost
