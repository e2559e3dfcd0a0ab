// The scenarios and requirements: those built into the program, or a folder of one's own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "suite/scenario/requirement.h"
#include "suite/scenario/scenario.h"
#include "suite/scenario/scenario_loader.h"

namespace fencepost::scenario {

// Generated from scenarios/ when the program is built; requirements.yaml is among them.
[[nodiscard]] const std::vector<SourceFile>& built_in_files();
// The ids of the cases in them: loading these takes longer than a run of few.
[[nodiscard]] const std::vector<std::string_view>& built_in_cases();

// Is it requirements.yaml?
[[nodiscard]] bool is_catalogue(const SourceFile& file);

struct Library {
  Catalogue catalogue;
  std::vector<Case> cases;
  // How many of the suite's own cases are not among these, where they come from other files.
  std::size_t missing = 0;

  // What a whole run has: fewer cases are no statement of conformance.
  [[nodiscard]] std::size_t known_cases() const { return cases.size() + missing; }
};

// How many of the suite's own cases, which are built in, are not among `cases`.
[[nodiscard]] std::size_t missing_cases(const std::vector<Case>& cases);

// Loads the cases of `files`; requirements.yaml among them replaces the built-in catalogue. All
// errors are appended to `errors`.
[[nodiscard]] Library load_library(const std::vector<SourceFile>& files,
                                   std::vector<LoadError>& errors);

// The YAML files at `path`: itself, or those below it when it is a folder. The error says which
// cannot be read.
[[nodiscard]] Result<std::vector<SourceFile>, std::string> read_files(const std::string& path);

// The content of one file, within kMaxFileBytes.
[[nodiscard]] Result<SourceFile, std::string> read_file(const std::string& path);

}  // namespace fencepost::scenario
