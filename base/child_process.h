// A program that we start: its words, variables, streams and process group, and how it ends.
//
//   auto child = ChildProcess::start({.words = {"make", "test"}});
//   if (child && !child->wait(std::chrono::seconds{60})) child->kill_all();
//
// Each object is of one thread at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/child_environment.h"
#include "base/result.h"

namespace fencepost {

struct ChildSetup {
  static constexpr int kNull = -1;  // nothing to be read, and output that nobody reads

  std::vector<std::string> words{};
  std::string program{};  // its path, or a name that PATH has; empty: the first word
  std::vector<std::string> variables = environment_of_child();
  std::string directory{};  // empty: ours
  int input = kNull;        // descriptors of ours
  int output = kNull;
  int errors = kNull;
  bool own_group = true;  // Ctrl-C in a terminal does not reach it, and all that it starts is in it
  // No other descriptors go along, but `more`. Else those do that are not close-on-exec, of which
  // Paho's libraries have some.
  bool alone = false;
  std::vector<int> more{};
  bool ends_with_thread = false;  // the kernel kills it with the thread that starts it
};

// The exit code of a program, or the signal that has ended it.
struct ChildEnding {
  int code = -1;
  int signal = 0;

  [[nodiscard]] int as_shells_say() const { return signal == 0 ? code : 128 + signal; }
  [[nodiscard]] std::string text() const;  // "exit code 1", "signal 9"
};

// The program continues when this object does not.
class ChildProcess {
 public:
  // Starts it; it has no signal blocked, and SIGPIPE ends it. The error is an errno.
  [[nodiscard]] static Result<ChildProcess, int> start(ChildSetup setup);

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Nobody else has its number until one of the next has said how it ended.
  [[nodiscard]] bool has_ended() const;
  // Nothing while it runs.
  [[nodiscard]] std::optional<ChildEnding> ending();
  // Nothing when it runs for longer.
  [[nodiscard]] std::optional<ChildEnding> wait(std::chrono::milliseconds most = std::chrono::hours{
                                                    1'000'000});
  // SIGTERM to it and its group where it still runs, and SIGKILL that much later.
  ChildEnding end(std::chrono::milliseconds patience);
  // SIGKILL to it and its group, unless it is known how it ended.
  ChildEnding kill_all();

 private:
  ChildProcess(pid_t pid, bool own_group) : pid_(pid), whom_(own_group ? -pid : pid) {}

  pid_t pid_;
  pid_t whom_;  // to signal
  std::optional<ChildEnding> ending_{};
};

}  // namespace fencepost
