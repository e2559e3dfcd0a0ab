// The manual page and the completion of shells, made of the same options and words as --help.
//
//   fencepost manual            the page fencepost(1), in troff
//   fencepost completion bash   what bash sources; zsh and fish as well
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace fencepost::cli {

// The manual page of the program and all its commands. `version` stands at the bottom of the page.
[[nodiscard]] std::string manual_page(const CLI::App& app, const std::string& version);

// `shell`: bash, zsh or fish.
[[nodiscard]] std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace fencepost::cli
