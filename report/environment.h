// Where a run takes place, for reports that others have to trust.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "report/github.h"

namespace fencepost::report {

// "system": kernel, machine and distribution of this machine; "libraries": as given; "job": as
// job_address() says. What is not known is left out.
[[nodiscard]] std::map<std::string, std::string> environment_of_run(const std::string& libraries,
                                                                    const Variables& variables);

// The address of the CI job that a process with these variables is part of; empty when they say
// nothing of one. Pure.
[[nodiscard]] std::string job_address(const Variables& variables);

// PRETTY_NAME of the content of /etc/os-release, without quotes; empty when there is none. Pure.
[[nodiscard]] std::string distribution(std::string_view os_release);

}  // namespace fencepost::report
