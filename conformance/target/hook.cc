#include "conformance/target/hook.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spawn.h>

#include "base/child_environment.h"
#include "endpoint/socket.h"

namespace fencepost::target {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPollInterval{5};
constexpr std::size_t kShownOutput = 2'000;  // bytes, from the end

// Where the command writes to. Not a pipe: a program that it leaves in the background would keep
// that open.
class Output {
 public:
  Output() : file_(memfd_create("fencepost-hook", MFD_CLOEXEC)) {}
  [[nodiscard]] int descriptor() const { return file_.descriptor(); }

  // The end of what was written, without blank lines behind it.
  [[nodiscard]] std::string tail() const {
    const off_t size = lseek(descriptor(), 0, SEEK_END);
    if (size <= 0) return {};
    const auto wanted = std::min<std::size_t>(static_cast<std::size_t>(size), kShownOutput);
    std::string text(wanted, '\0');
    const ssize_t got = pread(descriptor(), text.data(), wanted, size - static_cast<off_t>(wanted));
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return (static_cast<std::size_t>(size) > wanted ? "..." : "") + text;
  }

 private:
  endpoint::Socket file_;  // closes any descriptor
};

// Starts it in a process group of its own; an errno when that fails.
Result<pid_t, int> start(const Hook& hook, const Output& output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDERR_FILENO);
  // Connections of the client library are not close-on-exec; a broker that the command starts would
  // keep them open.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  if (!hook.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, hook.directory.c_str());
  }
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::array<std::string, 3> words = {"/bin/sh", "-c", hook.command};
  const std::array<char*, 4> arguments = {words[0].data(), words[1].data(), words[2].data(),
                                          nullptr};
  pid_t pid = 0;
  std::vector<std::string> variables = environment_of_child(hook.environment);
  const int failed = posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments.data(),
                                 pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return fail(failed);
  return pid;
}

// The status of the child when it ended in time.
std::optional<int> wait_for(pid_t pid, milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  while (true) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == pid) return status;
    if (Clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(kPollInterval);
  }
}

std::string with_output(const std::string& text, const Output& output) {
  const std::string tail = output.tail();
  return text + (tail.empty() ? "; it wrote nothing" : "; it wrote:\n" + tail);
}

}  // namespace

Result<void, std::string> run_hook(const Hook& hook) {
  const Output output;
  const auto pid = start(hook, output);
  if (!pid) {
    return fail(
        fmt::format("the hook cannot be started{}: {}",
                    hook.directory.empty() ? "" : " in " + hook.directory.string(),
                    std::strerror(pid.error())));  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  }
  const auto status = wait_for(*pid, hook.timeout);
  if (!status) {
    kill(-*pid, SIGKILL);
    waitpid(*pid, nullptr, 0);
    return fail(with_output(
        fmt::format("the hook did not end within {} ms and was killed", hook.timeout.count()),
        output));
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return {};
  const std::string how = WIFEXITED(*status) ? fmt::format("exit code {}", WEXITSTATUS(*status))
                                             : fmt::format("signal {}", WTERMSIG(*status));
  return fail(with_output(fmt::format("the hook ended with {}", how), output));
}

}  // namespace fencepost::target
