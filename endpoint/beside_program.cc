#include "endpoint/beside_program.h"

#include <system_error>

namespace fencepost::endpoint {

std::optional<std::filesystem::path> find_beside_program(const std::string& name) {
  std::error_code failed;
  const std::filesystem::path here =
      std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  for (const std::filesystem::path& directory :
       {here, here.parent_path() / "lib" / "fencepost", here.parent_path() / "bin"}) {
    std::filesystem::path candidate = directory / name;
    if (std::filesystem::exists(candidate, failed)) return candidate;
  }
  return std::nullopt;
}

}  // namespace fencepost::endpoint
