// A folder in that for temporary files, which only this user can enter. It is removed, with all
// that is in it, when the object goes; a process that is killed leaves it.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace fencepost {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code failed;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(failed);
    std::string pattern = (parent / "fencepost-XXXXXX").string();
    if (failed) {
      errno = failed.value();
    } else if (mkdtemp(pattern.data()) != nullptr) {
      path_ = pattern;
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Empty: no folder could be made, and errno says why.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace fencepost
