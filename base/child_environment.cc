#include "base/child_environment.h"

#include <algorithm>
#include <array>

#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace fencepost {
namespace {

using namespace std::string_view_literals;

constexpr std::array kNames = {
    "PATH"sv, "HOME"sv, "USER"sv, "LOGNAME"sv, "SHELL"sv, "TERM"sv, "TZ"sv, "LANG"sv, "LANGUAGE"sv,
    "TMPDIR"sv, "TMP"sv, "TEMP"sv, "HOSTNAME"sv, "LD_LIBRARY_PATH"sv, "SSL_CERT_FILE"sv,
    "SSL_CERT_DIR"sv, "LLVM_PROFILE_FILE"sv, "SOURCE_DATE_EPOCH"sv,
    // Where languages have their programs and libraries.
    "PYTHONPATH"sv, "PYTHONHOME"sv, "PYTHONDONTWRITEBYTECODE"sv, "VIRTUAL_ENV"sv, "NODE_PATH"sv,
    "NODE_EXTRA_CA_CERTS"sv, "GOPATH"sv, "GOROOT"sv, "GOCACHE"sv, "GOMODCACHE"sv, "GOFLAGS"sv,
    "CARGO_HOME"sv, "RUSTUP_HOME"sv, "JAVA_HOME"sv, "DOTNET_ROOT"sv, "GEM_HOME"sv, "GEM_PATH"sv};
constexpr std::array kBeginnings = {"LC_"sv,   "XDG_"sv,   "ASAN_"sv,     "LSAN_"sv,
                                    "TSAN_"sv, "UBSAN_"sv, "FENCEPOST_"sv};
// The password of --endpoint: of this process alone.
constexpr std::string_view kPassword = "FENCEPOST_PASSWORD";

}  // namespace

bool is_for_every_child(std::string_view name) {
  if (name == kPassword) return false;
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** variable = environ; *variable != nullptr; ++variable) out.emplace_back(*variable);
  return out;
}

std::vector<std::string> environment_of_child(const std::vector<std::string>& more) {
  std::vector<std::string> out = own_environment();
  std::erase_if(out, [&](const std::string& variable) {
    const std::string name = variable.substr(0, variable.find('='));
    return !is_for_every_child(name) && std::find(more.begin(), more.end(), name) == more.end();
  });
  return out;
}

std::vector<std::string> environment_with(const std::vector<std::string>& inherited,
                                          const std::vector<std::string>& ours) {
  std::vector<std::string> out;
  for (const std::string& each : inherited) {
    const std::string name = each.substr(0, each.find('=') + 1);
    const bool is_ours = std::any_of(ours.begin(), ours.end(), [&name](const std::string& other) {
      return other.starts_with(name);
    });
    if (!is_ours) out.push_back(each);
  }
  out.insert(out.end(), ours.begin(), ours.end());
  return out;
}

}  // namespace fencepost
