// A child process that reads commands and writes results, as lines: the adapter of a client.
//
//   auto adapter = AdapterProcess::start({"python3", "adapter.py"});
//   (*adapter)->send("{...}\n");
//   (*adapter)->add_waits(entries);  poll_until(entries, deadline);
//   (*adapter)->move();  (*adapter)->take_line();
//
// Nothing here waits, except the destructor. Used by one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "base/child_process.h"
#include "base/result.h"
#include "endpoint/socket.h"

namespace fencepost::client_run {

enum class StartErrorKind {
  kProgram,  // there is no such program, or it may not be run
  kOurOwn,   // no pipe, no process to be had
};
struct StartError {
  StartErrorKind kind = StartErrorKind::kOurOwn;
  std::string text{};
};

class AdapterProcess {
 public:
  // Starts it, in its own process group; from now on this process ignores SIGPIPE. The error
  // says why it cannot be started.
  // It gets the variables that are for every child (base/child_environment.h), and these.
  [[nodiscard]] static Result<std::unique_ptr<AdapterProcess>, StartError> start(
      const std::vector<std::string>& command, const std::vector<std::string>& variables = {});

  // Ends it, and all that it has started.
  ~AdapterProcess();
  AdapterProcess(const AdapterProcess&) = delete;
  AdapterProcess& operator=(const AdapterProcess&) = delete;

  // Adds what move() waits for.
  void add_waits(std::vector<pollfd>& to) const;

  // Takes the line, and writes what can be written without waiting.
  void send(std::string_view line);
  // Reads and writes what it can without waiting.
  void move();
  // Its next line, without its end.
  [[nodiscard]] std::optional<std::string> take_line();
  // Its standard output has ended, and all lines are taken, or a line is too long.
  [[nodiscard]] bool is_gone() const { return gone_ && lines_.empty(); }

  // The memory that it and the processes that it has started have now; 0: not known.
  [[nodiscard]] std::size_t resident_bytes() const;

  // Ends it where it still runs, and waits for that: "ended with exit code 1", "was ended by signal
  // 11".
  [[nodiscard]] std::string how_it_ended();
  // The end of what it has written to its standard error.
  [[nodiscard]] const std::string& last_words() const { return last_words_; }

 private:
  AdapterProcess(ChildProcess child, endpoint::Socket input, endpoint::Socket output,
                 endpoint::Socket errors);
  void write_waiting();
  void read_output();
  void read_errors();

  ChildProcess child_;
  bool is_known_to_have_ended_ = false;
  std::optional<endpoint::Socket> input_;
  endpoint::Socket output_;
  endpoint::Socket errors_;
  std::string to_write_{};
  std::string held_{};  // a line that has not ended
  std::deque<std::string> lines_{};
  std::string last_words_{};
  bool gone_ = false;
  bool errors_ended_ = false;
};

}  // namespace fencepost::client_run
