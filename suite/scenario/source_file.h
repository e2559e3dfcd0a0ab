// A file by name and content, and what is wrong with it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suite/scenario/scenario.h"

namespace fencepost::scenario {

struct SourceFile {
  std::string name;
  std::string content;
  // The same as encode() makes of it, of a YAML file that was parsed before; empty of others. Not
  // owned: it is built into the program.
  std::string_view encoded{};
};

// A file that is built into the program: see fencepost_embed() in cmake/fencepost.cmake.
struct EmbeddedFile {
  std::string_view name;
  std::string_view content;
  std::string_view encoded{};
};
[[nodiscard]] std::vector<SourceFile> source_files(std::span<const EmbeddedFile> embedded);

struct LoadError {
  Position position;
  std::string text;
};

// "file:line:column: text"
[[nodiscard]] std::string describe(const LoadError& error);

// The first 100, which is what people read, each as `say` puts it, and how many more there are.
[[nodiscard]] std::vector<std::string> describe_all(
    const std::vector<LoadError>& errors,
    const std::function<std::string(const LoadError&)>& say = describe);

}  // namespace fencepost::scenario
