// A folder in that for temporary files, which only this user can enter. It is removed, with all
// that is in it, when the object goes; a process that is killed leaves it.
//
//   const TemporaryFolder folder;
//   folder.write("descriptor.yaml", "url: 'inproc:'\n");
//   EXPECT_EQ(folder.read("report.json"), "{}\n");
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "base/check.h"

namespace fencepost {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fencepost-XXXXXX").string();
    FENCEPOST_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Writes a file, with the folders that its name has, and returns its path.
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

  // Empty when there is no such file.
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(path_ / name, std::ios::binary).rdbuf();
    return out.str();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace fencepost
