// Adapters to begin with: those in adapters/, as they are in the repository, built into the
// program.
//
//   const auto adapter = new_adapter("python");
//   for (const scenario::SourceFile& each : adapter->files) use(each);
//
// Pure; thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suite/scenario/scenario_loader.h"

namespace fencepost::client_run {

struct NewAdapter {
  std::vector<scenario::SourceFile> files{};  // names are within its folder
  std::string command{};                      // that starts it in that folder, as a shell has it
  std::string build{};                        // what to do before, there; empty: nothing
  std::string client{};                       // the file that stands for the SDK
};

// In "cpp", "go", "js", "python" or "rust"; nothing for another language.
[[nodiscard]] std::optional<NewAdapter> new_adapter(std::string_view language);

// Generated when the program is built: the files of adapters/ with their paths there.
[[nodiscard]] const std::vector<scenario::SourceFile>& adapter_files();

}  // namespace fencepost::client_run
