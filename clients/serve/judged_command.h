// The command whose clients `serve --judge-clients` judges: it learns from environment variables
// where the broker is, and ends when the broker does.
//
//   auto command = JudgedCommand::start({"pytest", "tests"}, command_variables(place));
//   while (!(*command)->exit_code()) wait();
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/result.h"

namespace fencepost::serve {

struct BrokerPlace {
  std::string bind = "127.0.0.1";
  std::uint16_t port = 0;
  std::string url{};
  std::string ca_file{};  // empty: there is none
};
// "FENCEPOST_HOST=127.0.0.1" and so on: docs/CLIENTS.md.
[[nodiscard]] std::vector<std::string> command_variables(const BrokerPlace& place);

// Not thread safe.
class JudgedCommand {
 public:
  // In its own process group, so that all that it starts ends with it; with the environment of
  // this process, and these variables in it. `words` is not empty. The error says why it cannot be
  // started.
  [[nodiscard]] static Result<std::unique_ptr<JudgedCommand>, std::string> start(
      std::vector<std::string> words, const std::vector<std::string>& variables);

  ~JudgedCommand() { (void)end(); }
  JudgedCommand(const JudgedCommand&) = delete;
  JudgedCommand& operator=(const JudgedCommand&) = delete;

  // As shells say it: 128 and the number of a signal. Nothing while it runs.
  [[nodiscard]] std::optional<int> exit_code();
  // Ends it where it still runs, with SIGTERM, then SIGKILL after 5 s, and says how it has ended.
  int end();

 private:
  explicit JudgedCommand(ChildProcess child) : child_(child) {}

  ChildProcess child_;
};

}  // namespace fencepost::serve
