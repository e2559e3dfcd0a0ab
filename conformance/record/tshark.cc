#include "conformance/record/tshark.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spawn.h>

#include "base/files.h"
#include "endpoint/socket.h"

namespace fencepost::record {
namespace {

constexpr std::size_t kShownOutput = 500;

// A child process whose output is read while it runs.
class Tshark {
 public:
  // An errno when it cannot be started.
  [[nodiscard]] int start(std::vector<std::string> words) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    output_.emplace(ends[0]);
    const endpoint::Socket input(ends[1]);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, input.descriptor(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors_.descriptor(), STDERR_FILENO);
    const int failed = posix_spawnp(&pid_, "tshark", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
  }

  // The next bytes; none at the end.
  [[nodiscard]] std::string_view read_some() {
    ssize_t got = 0;
    do {
      got = ::read(output_->descriptor(), buffer_.data(), buffer_.size());
    } while (got < 0 && errno == EINTR);
    return {buffer_.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  }

  // Did it end well? Otherwise what it has complained about.
  [[nodiscard]] Result<void, std::string> wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    std::string text(kShownOutput, '\0');
    const ssize_t got = pread(errors_.descriptor(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return fail("tshark: " + text);
  }

 private:
  std::optional<endpoint::Socket> output_;
  endpoint::Socket errors_{memfd_create("fencepost-tshark", MFD_CLOEXEC)};
  pid_t pid_ = -1;
  std::array<char, 65536> buffer_{};
};

// Why tshark, which takes a minute to guess at 10 MB of text, is not asked; empty: it is a capture,
// or a compressed one.
std::string not_a_capture(const std::string& path) {
  constexpr std::array<std::string_view, 8> kBegins = {
      "\xd4\xc3\xb2\xa1", "\xa1\xb2\xc3\xd4", "\x4d\x3c\xb2\xa1", "\xa1\xb2\x3c\x4d",
      "\x0a\x0d\x0d\x0a", "\x1f\x8b",         "\x28\xb5\x2f\xfd", "\x04\x22\x4d\x18"};
  const FileDescriptor file(path);
  if (!file.trouble().empty()) return file.trouble();
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed))
    return "cannot read " + path + ": it is no file";
  std::array<char, 4> bytes{};
  const std::ptrdiff_t count = file.read(bytes.data(), bytes.size());
  if (count < 0) return "cannot read " + path + ": " + std::generic_category().message(errno);
  const std::string_view begin(bytes.data(), static_cast<std::size_t>(count));
  const bool known =
      count == 0 || std::any_of(kBegins.begin(), kBegins.end(),
                                [&](std::string_view each) { return begin.starts_with(each); });
  return known ? "" : "cannot read " + path + ": it is neither a pcap nor a pcapng file";
}

}  // namespace

Result<void, std::string> run_tshark(const std::string& file, const std::vector<std::string>& words,
                                     const std::function<void(std::string_view)>& use) {
  if (std::string wrong = not_a_capture(file); !wrong.empty()) return fail(std::move(wrong));
  std::vector<std::string> all = {"tshark", "-n", "-r", file};
  all.insert(all.end(), words.begin(), words.end());
  Tshark tshark;
  if (const int failed = tshark.start(std::move(all)); failed != 0) {
    return fail(failed == ENOENT ? std::string("tshark, which reads packet captures, is not "
                                               "installed: apt-get install tshark")
                                 : std::string("cannot start tshark: ") +
                                       std::generic_category().message(failed));
  }
  for (std::string_view some = tshark.read_some(); !some.empty(); some = tshark.read_some()) {
    use(some);
  }
  return tshark.wait();
}

std::optional<std::chrono::microseconds> time_in(std::string_view text) {
  constexpr std::size_t kDigits = 6;
  const std::size_t point = std::min(text.find('.'), text.size());
  constexpr std::uint64_t kMaxSeconds = 1'000'000'000'000;  // microseconds of it do not overflow
  const auto seconds = number_in<std::uint64_t>(text.substr(0, point));
  std::string fraction(text.substr(std::min(point + 1, text.size())).substr(0, kDigits));
  fraction.resize(kDigits, '0');
  const auto rest = number_in<std::uint32_t>(fraction);
  if (!seconds || *seconds > kMaxSeconds || !rest) return std::nullopt;
  return std::chrono::seconds{*seconds} + std::chrono::microseconds{*rest};
}

}  // namespace fencepost::record
