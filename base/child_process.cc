#include "base/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fencepost {
namespace {

using Clock = std::chrono::steady_clock;

// What ends soon is noticed soon; what runs for hours is not checked a thousand times a second.
constexpr std::chrono::milliseconds kFirstPoll{1};
constexpr std::chrono::milliseconds kSlowestPoll{20};

// As execve() wants them.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// Where the program may be.
std::vector<std::string> paths_of(const std::string& program) {
  if (program.find('/') != std::string::npos) return {program};
  const char* folders = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  std::istringstream path(folders == nullptr ? "/bin:/usr/bin" : folders);
  std::vector<std::string> out;
  for (std::string each; std::getline(path, each, ':');) {
    out.push_back(each.empty() ? program : each + "/" + program);
  }
  return out;
}

// What the child does between fork and exec: async-signal-safe calls only, as other threads may
// have held any lock. Returns why it cannot.
int become(const ChildSetup& setup, const std::vector<char*>& paths, char* const* arguments,
           char* const* variables, pid_t parent) {
  if (setup.ends_with_thread) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) return ESRCH;  // it is gone already
  }
  if (setup.own_group) setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread here
  std::signal(SIGPIPE, SIG_DFL);
  const std::array<int, 3> streams = {setup.input, setup.output, setup.errors};
  for (int target = 0; target < 3; ++target) {
    const int wanted = streams[static_cast<std::size_t>(target)];
    const int source = wanted == ChildSetup::kNull ? open("/dev/null", O_RDWR | O_CLOEXEC) : wanted;
    if (source == target ? fcntl(source, F_SETFD, 0) < 0 : dup2(source, target) < 0) return errno;
  }
  if (setup.alone) close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  for (const int each : setup.more) fcntl(each, F_SETFD, 0);
  if (!setup.directory.empty() && chdir(setup.directory.c_str()) != 0) return errno;
  int why = ENOENT;
  for (const char* path : paths) {
    if (path == nullptr) break;
    execve(path, arguments, variables);
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return errno;
    if (errno == EACCES || paths.size() == 2) why = errno;  // it is there, somewhere
  }
  return why;
}

}  // namespace

Result<ChildProcess, int> ChildProcess::start(ChildSetup setup) {
  std::vector<std::string> names =
      paths_of(setup.program.empty() ? setup.words.at(0) : setup.program);
  const std::vector<char*> paths = pointers_to(names);
  const std::vector<char*> arguments = pointers_to(setup.words);
  const std::vector<char*> variables = pointers_to(setup.variables);
  // Ends when it runs the program.
  std::array<int, 2> news{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, news.data()) != 0) return fail(errno);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  int why = pid < 0 ? errno : 0;
  if (pid == 0) {
    why = become(setup, paths, arguments.data(), variables.data(), parent);
    send(news[1], &why, sizeof why, MSG_NOSIGNAL);
    _exit(127);
  }
  close(news[1]);
  while (pid > 0 && recv(news[0], &why, sizeof why, 0) < 0 && errno == EINTR) continue;
  close(news[0]);
  if (why == 0) return ChildProcess(pid, setup.own_group);
  while (pid > 0 && waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return fail(why);
}

std::string ChildEnding::text() const {
  return signal == 0 ? "exit code " + std::to_string(code) : "signal " + std::to_string(signal);
}

bool ChildProcess::has_ended() const {
  siginfo_t seen{};
  const auto number = static_cast<id_t>(pid_);
  return ending_ || waitid(P_PID, number, &seen, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         seen.si_pid == pid_;
}

std::optional<ChildEnding> ChildProcess::ending() {
  if (ending_ || !has_ended()) return ending_;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  ending_ = WIFEXITED(status) ? ChildEnding{.code = WEXITSTATUS(status)}
                              : ChildEnding{.signal = WTERMSIG(status)};
  return ending_;
}

std::optional<ChildEnding> ChildProcess::wait(std::chrono::milliseconds most) {
  const Clock::time_point deadline = Clock::now() + most;
  std::chrono::milliseconds pause = kFirstPoll;
  while (!has_ended() && Clock::now() < deadline) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause + kFirstPoll, kSlowestPoll);
  }
  return ending();
}

ChildEnding ChildProcess::end(std::chrono::milliseconds patience) {
  if (const auto known = ending()) return *known;
  kill(whom_, SIGTERM);
  const auto ended = wait(patience);
  return ended ? *ended : kill_all();
}

ChildEnding ChildProcess::kill_all() {
  if (!ending_) kill(whom_, SIGKILL);
  while (!ending()) std::this_thread::sleep_for(kFirstPoll);
  return *ending_;
}

}  // namespace fencepost
