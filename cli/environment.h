// Where a run takes place, for reports that others have to trust.
#pragma once

#include <map>
#include <string>

namespace fencepost::cli {

// "system": kernel, machine and distribution; "libraries": as given; "job": the address of the CI
// job that this process is part of, as its variables say. What is not known is left out.
[[nodiscard]] std::map<std::string, std::string> environment_of_run(const std::string& libraries);

}  // namespace fencepost::cli
