#include "suite/scenario/library.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"

namespace fencepost::scenario {
bool is_catalogue(const SourceFile& file) {
  return file.name == "requirements.yaml" || file.name.ends_with("/requirements.yaml");
}

Library load_library(const std::vector<SourceFile>& files, std::vector<LoadError>& errors) {
  Library library;
  auto catalogue = std::find_if(files.begin(), files.end(), is_catalogue);
  if (catalogue != files.end()) {
    library.catalogue = Catalogue::load(*catalogue, errors);
  } else {
    const auto& built_in = built_in_files();
    catalogue = std::find_if(built_in.begin(), built_in.end(), is_catalogue);
    if (catalogue != built_in.end()) library.catalogue = Catalogue::load(*catalogue, errors);
  }
  const std::set<std::string> ids = library.catalogue.ids();
  library.cases.reserve(built_in_cases().size());
  for (const SourceFile& file : files) {
    if (is_catalogue(file)) continue;
    for (Case& test_case : load_scenario(file, ids, errors)) {
      library.cases.push_back(std::move(test_case));
    }
  }
  check_unique_ids(library.cases, errors);
  return library;
}

std::size_t missing_cases(const std::vector<Case>& cases) {
  std::set<std::string_view> missing(built_in_cases().begin(), built_in_cases().end());
  for (const Case& each : cases) missing.erase(each.id);
  return missing.size();
}

Result<SourceFile, std::string> read_file(const std::string& path) {
  auto content = read_whole_file(path);
  if (!content) return fail(content.error());
  return SourceFile{path, *std::move(content)};
}

Result<std::vector<SourceFile>, std::string> read_files(const std::string& path) {
  std::error_code failed;
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(path, failed)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path, failed)) {
      if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
  } else {
    paths.emplace_back(path);
  }
  std::vector<SourceFile> files;
  for (const std::filesystem::path& entry : paths) {
    auto file = read_file(entry.string());
    if (!file) return fail(file.error());
    files.push_back(std::move(*file));
  }
  return files;
}

}  // namespace fencepost::scenario
