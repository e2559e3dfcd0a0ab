#include "cli/environment.h"

#include <fstream>
#include <string_view>

#include <sys/utsname.h>

#include <fmt/format.h>

#include "conformance/report/github.h"
#include "conformance/text/printable.h"

namespace fencepost::cli {
namespace {

// PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
std::string distribution() {
  constexpr std::string_view kName = "PRETTY_NAME=";
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kName)) continue;
    std::string value = line.substr(kName.size());
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return value;
  }
  return {};
}

std::string system_text() {
  utsname names{};
  if (uname(&names) != 0) return {};
  std::string out = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  const std::string name = distribution();
  return name.empty() ? out : out + ", " + name;
}

std::string job_address() {
  const auto variable = [](const char* name) {
    return report::variable_of_this_process(name).value_or("");
  };
  for (const char* name : {"CI_JOB_URL", "CIRCLE_BUILD_URL", "BUILDKITE_BUILD_URL", "BUILD_URL"}) {
    if (std::string value = variable(name); !value.empty()) return value;
  }
  const std::string run = variable("GITHUB_RUN_ID");
  if (run.empty()) return {};
  return fmt::format("{}/{}/actions/runs/{}", variable("GITHUB_SERVER_URL"),
                     variable("GITHUB_REPOSITORY"), run);
}

}  // namespace

std::map<std::string, std::string> environment_of_run(const std::string& libraries) {
  std::map<std::string, std::string> out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out[name] = text::printable(value);
  };
  add("system", system_text());
  add("libraries", libraries);
  add("job", job_address());
  return out;
}

}  // namespace fencepost::cli
