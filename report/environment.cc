#include "report/environment.h"

#include <fstream>
#include <sstream>

#include <sys/utsname.h>

#include <fmt/format.h>

#include "base/text/printable.h"

namespace fencepost::report {
namespace {

std::string system_text() {
  utsname names{};
  if (uname(&names) != 0) return {};
  std::string out = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  std::ostringstream os_release;
  os_release << std::ifstream("/etc/os-release").rdbuf();
  const std::string name = distribution(os_release.str());
  return name.empty() ? out : out + ", " + name;
}

}  // namespace

std::string distribution(std::string_view os_release) {
  constexpr std::string_view kName = "PRETTY_NAME=";
  std::istringstream lines{std::string(os_release)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kName)) continue;
    std::string value = line.substr(kName.size());
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return value;
  }
  return {};
}

std::string job_address(const Variables& variables) {
  const auto variable = [&](const char* name) { return variables(name).value_or(""); };
  for (const char* name : {"CI_JOB_URL", "CIRCLE_BUILD_URL", "BUILDKITE_BUILD_URL", "BUILD_URL"}) {
    if (std::string value = variable(name); !value.empty()) return value;
  }
  const std::string run = variable("GITHUB_RUN_ID");
  if (run.empty()) return {};
  return fmt::format("{}/{}/actions/runs/{}", variable("GITHUB_SERVER_URL"),
                     variable("GITHUB_REPOSITORY"), run);
}

std::map<std::string, std::string> environment_of_run(const std::string& libraries,
                                                      const Variables& variables) {
  std::map<std::string, std::string> out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out[name] = text::printable(value);
  };
  add("system", system_text());
  add("libraries", libraries);
  add("job", job_address(variables));
  return out;
}

}  // namespace fencepost::report
