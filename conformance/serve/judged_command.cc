#include "conformance/serve/judged_command.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spawn.h>

#include "base/child_environment.h"
#include "conformance/text/printable.h"
#include "endpoint/broker_process.h"

namespace fencepost::serve {
namespace {

constexpr std::chrono::seconds kEndOfCommand{5};
constexpr int kSignalBase = 128;  // as shells say it

// A process group of its own, so that all that it starts ends with it.
int spawn_command(std::vector<std::string> words, std::vector<std::string> environment,
                  pid_t& child) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> variables = pointers_to(environment);
  const int failed =
      posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  return failed;
}

}  // namespace

std::vector<std::string> command_variables(const BrokerPlace& place) {
  std::vector<std::string> out = {"FENCEPOST_HOST=" + endpoint::address_to_reach(place.bind),
                                  "FENCEPOST_PORT=" + std::to_string(place.port),
                                  "FENCEPOST_URL=" + place.url};
  if (!place.ca_file.empty()) {
    out.push_back("FENCEPOST_CA_FILE=" + std::filesystem::absolute(place.ca_file).string());
  }
  return out;
}

Result<std::unique_ptr<JudgedCommand>, std::string> JudgedCommand::start(
    std::vector<std::string> words, const std::vector<std::string>& variables) {
  const std::string program = words.at(0);
  pid_t child = -1;
  const int failed =
      spawn_command(std::move(words), environment_with(own_environment(), variables), child);
  if (failed == 0) return std::unique_ptr<JudgedCommand>(new JudgedCommand(child));
  return fail(fmt::format("cannot start {}: {}", text::shell_word(program),
                          std::generic_category().message(failed)));
}

std::optional<int> JudgedCommand::exit_code() {
  int status = 0;
  if (exit_code_ || waitpid(child_, &status, WNOHANG) != child_) return exit_code_;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
  return exit_code_;
}

int JudgedCommand::end() {
  if (exit_code_) return *exit_code_;
  kill(-child_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kEndOfCommand;
  constexpr timespec kInterval{.tv_sec = 0, .tv_nsec = 10'000'000};
  while (!exit_code()) {
    if (std::chrono::steady_clock::now() >= deadline) kill(-child_, SIGKILL);
    nanosleep(&kInterval, nullptr);
  }
  return *exit_code_;
}

}  // namespace fencepost::serve
