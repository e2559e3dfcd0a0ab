// Test only: a temporary folder with what tests do in it.
//
//   const TemporaryFolder folder;
//   folder.write("descriptor.yaml", "url: 'inproc:'\n");
//   EXPECT_EQ(folder.read("report.json"), "{}\n");
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/check.h"
#include "base/temporary_folder.h"

namespace fencepost::test {

class TemporaryFolder : public fencepost::TemporaryFolder {
 public:
  TemporaryFolder() { FENCEPOST_CHECK(!path().empty()); }

  // Writes a file, with the folders that its name has, and returns its path.
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name, std::ios::binary) << content;
    return path() / name;
  }

  // Empty when there is no such file.
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(path() / name, std::ios::binary).rdbuf();
    return out.str();
  }
};

}  // namespace fencepost::test
