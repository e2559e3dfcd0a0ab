#include "clients/client_run/adapter_process.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace fencepost::client_run {
namespace {

using endpoint::Socket;

constexpr std::size_t kMaxLine = std::size_t{64} << 20U;  // bytes
constexpr std::size_t kMaxLastWords = 2'000;
constexpr std::size_t kReadAtOnce = std::size_t{64} << 10U;
constexpr int kMaxReads = 16;  // before others have their turn
constexpr std::chrono::milliseconds kToEnd{500};

struct Pipe {
  Socket read;
  Socket write;
};

StartError our_own(int number) {
  return {StartErrorKind::kOurOwn, std::generic_category().message(number)};
}

// What execve() says of the program, and not of this machine.
bool is_of_program(int number) {
  return number == ENOENT || number == EACCES || number == ENOEXEC || number == ENOTDIR ||
         number == EISDIR || number == ELOOP || number == ENAMETOOLONG || number == EPERM ||
         number == ELIBBAD || number == ETXTBSY;
}

Result<Pipe, StartError> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(our_own(errno));
  return Pipe{Socket(ends[0]), Socket(ends[1])};
}

void never_wait_on(const Socket& socket) {
  fcntl(socket.descriptor(), F_SETFL, fcntl(socket.descriptor(), F_GETFL) | O_NONBLOCK);
}

bool has_to_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Result<std::unique_ptr<AdapterProcess>, StartError> AdapterProcess::start(
    const std::vector<std::string>& command, const std::vector<std::string>& variables) {
  // A child that ends while we write to it is noticed by its end, not by a signal to us.
  std::signal(SIGPIPE, SIG_IGN);
  auto input = make_pipe();
  if (!input) return fail(input.error());
  auto output = make_pipe();
  if (!output) return fail(output.error());
  auto errors = make_pipe();
  if (!errors) return fail(errors.error());
  const auto child = ChildProcess::start({.words = command,
                                          .variables = environment_of_child(variables),
                                          .input = input->read.descriptor(),
                                          .output = output->write.descriptor(),
                                          .errors = errors->write.descriptor()});
  if (!child) {
    StartError error = our_own(child.error());
    if (is_of_program(child.error())) error.kind = StartErrorKind::kProgram;
    return fail(std::move(error));
  }
  for (const Socket* each : {&input->write, &output->read, &errors->read}) never_wait_on(*each);
  return std::unique_ptr<AdapterProcess>(new AdapterProcess(
      *child, std::move(input->write), std::move(output->read), std::move(errors->read)));
}

AdapterProcess::AdapterProcess(ChildProcess child, Socket input, Socket output, Socket errors)
    : child_(child),
      input_(std::move(input)),
      output_(std::move(output)),
      errors_(std::move(errors)) {}

std::size_t AdapterProcess::resident_bytes() const {
  std::size_t pages = 0;
  std::vector<pid_t> family = {child_.pid()};
  constexpr std::size_t kMax = 1'000;  // of its processes
  for (std::size_t i = 0; i < family.size() && i < kMax; ++i) {
    const std::string folder = "/proc/" + std::to_string(family[i]);
    std::size_t whole = 0;
    std::size_t resident = 0;
    if (std::ifstream(folder + "/statm") >> whole >> resident) pages += resident;
    std::ifstream children(folder + "/task/" + std::to_string(family[i]) + "/children");
    for (pid_t child = 0; children >> child;) family.push_back(child);
  }
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

AdapterProcess::~AdapterProcess() { (void)how_it_ended(); }

void AdapterProcess::send(std::string_view line) {
  to_write_ += line;
  write_waiting();
}

void AdapterProcess::write_waiting() {
  while (!to_write_.empty() && input_) {
    const ssize_t written = write(input_->descriptor(), to_write_.data(), to_write_.size());
    if (written < 0) {
      if (!has_to_wait()) to_write_.clear();  // it is not read
      return;
    }
    to_write_.erase(0, static_cast<std::size_t>(written));
  }
}

void AdapterProcess::add_waits(std::vector<pollfd>& to) const {
  if (!gone_) to.push_back({output_.descriptor(), POLLIN, 0});
  if (!errors_ended_) to.push_back({errors_.descriptor(), POLLIN, 0});
  if (!to_write_.empty() && input_) to.push_back({input_->descriptor(), POLLOUT, 0});
}

void AdapterProcess::move() {
  write_waiting();
  read_output();
  read_errors();
}

void AdapterProcess::read_output() {
  std::array<char, kReadAtOnce> buffer;  // NOLINT: 64 KiB are not cleared for nothing
  for (int i = 0; i < kMaxReads && !gone_; ++i) {
    const ssize_t got = ::read(output_.descriptor(), buffer.data(), buffer.size());
    if (got < 0 && has_to_wait()) return;
    if (got <= 0) gone_ = true;
    for (ssize_t at = 0; at < got; ++at) {
      const char c = buffer.at(static_cast<std::size_t>(at));
      if (c != '\n') {
        held_ += c;
      } else if (!held_.empty()) {
        lines_.push_back(std::exchange(held_, {}));
      }
    }
    if (held_.size() > kMaxLine) gone_ = true;
  }
}

void AdapterProcess::read_errors() {
  std::array<char, kReadAtOnce> buffer;  // NOLINT: 64 KiB are not cleared for nothing
  for (int i = 0; i < kMaxReads && !errors_ended_; ++i) {
    const ssize_t got = ::read(errors_.descriptor(), buffer.data(), buffer.size());
    if (got < 0 && has_to_wait()) return;
    if (got <= 0) {
      errors_ended_ = true;
      return;
    }
    last_words_.append(buffer.data(), static_cast<std::size_t>(got));
    if (last_words_.size() > kMaxLastWords) {
      last_words_.erase(0, last_words_.size() - kMaxLastWords);
    }
  }
}

std::optional<std::string> AdapterProcess::take_line() {
  if (lines_.empty()) return std::nullopt;
  std::string out = std::move(lines_.front());
  lines_.pop_front();
  return out;
}

std::string AdapterProcess::how_it_ended() {
  if (is_known_to_have_ended_) return "is no longer running";
  input_.reset();  // so an adapter learns that it has to end
  constexpr timespec kInterval{.tv_sec = 0, .tv_nsec = 5'000'000};
  const auto deadline = std::chrono::steady_clock::now() + kToEnd;
  while (!child_.has_ended() && std::chrono::steady_clock::now() < deadline) {
    move();  // it may be blocked on a write
    nanosleep(&kInterval, nullptr);
  }
  const ChildEnding ending = child_.kill_all();  // with all that it has started
  is_known_to_have_ended_ = true;
  read_errors();
  return (ending.signal == 0 ? "ended with " : "was killed by ") + ending.text();
}

}  // namespace fencepost::client_run
