#include "base/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/poll_until.h"

namespace fencepost {
namespace {

constexpr std::chrono::seconds kPatience{4};
constexpr std::size_t kReadBytes = 65'536;

std::string words_of(int code) {
  if (code == ETIMEDOUT) {
    return "no data for " + std::to_string(kPatience.count()) + " s";
  }
  return std::strerror(code);  // NOLINT(concurrency-mt-unsafe): glibc's is safe
}

std::string refusal(const std::string& path, const std::string& why) {
  return "cannot read " + path + ": " + why;
}

std::string too_long(std::size_t most_bytes) {
  return "more than " + std::to_string(most_bytes >> 20U) + " MiB";
}

}  // namespace

namespace {

// A file beside `path` that has no meaning to anybody yet; gone with this object, unless it took
// the place of `path`.
class FileBeside {
 public:
  FileBeside(const std::string& path, unsigned mode) : path_(path) {
    // Nobody can guess the name, and O_EXCL takes neither a file nor a link that is there.
    std::array<unsigned char, 8> random{};
    if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) return;
    const std::size_t folder = path.rfind('/') + 1;  // npos + 1 is 0
    name_ = path.substr(0, folder) + ".fencepost-";
    for (const unsigned char byte : random) {
      name_ += "0123456789abcdef"[byte >> 4U];
      name_ += "0123456789abcdef"[byte & 0xfU];
    }
    name_ += ".partial";
    number_ = open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  }
  ~FileBeside() {
    const int why = errno;
    if (number_ >= 0 && !placed_) unlink(name_.c_str());
    if (number_ >= 0 && !taken_) close(number_);
    errno = why;
  }
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool take_place() {
    return placed_ = number_ >= 0 && rename(name_.c_str(), path_.c_str()) == 0;
  }
  // For the caller, who closes it.
  [[nodiscard]] int take() {
    taken_ = true;
    return number_;
  }

 private:
  const std::string& path_;
  std::string name_{};
  int number_ = -1;
  bool placed_ = false;
  bool taken_ = false;
};

// Is it a pipe, a device, a socket, a folder or a descriptor, which no file can take the place of?
bool is_no_file(const std::string& path) {
  for (const std::string_view descriptors : {"/proc/", "/dev/fd/", "/dev/std"}) {
    if (path.starts_with(descriptors)) return true;
  }
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
}

// The descriptor of what is_no_file(). Without O_NONBLOCK a pipe would wait for a reader, for ever
// perhaps; one that is slow is waited for.
int open_as_it_is(const std::string& path) {
  const int number = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (number >= 0) fcntl(number, F_SETFL, O_WRONLY);
  return number;
}

bool write_all(int number, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = write(number, content.data(), content.size());
    if (count < 0 && errno != EINTR) return false;
    content.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  return true;
}

}  // namespace

int open_new_file(const std::string& path, unsigned mode) {
  if (is_no_file(path)) return open_as_it_is(path);
  FileBeside file(path, mode);
  return file.take_place() ? file.take() : -1;
}

bool write_new_file(const std::string& path, std::string_view content) {
  if (!is_no_file(path)) {
    FileBeside file(path, kNewFileMode);
    return file.number() >= 0 && write_all(file.number(), content) && file.take_place();
  }
  const int number = open_as_it_is(path);
  if (number < 0) return false;
  const bool written = write_all(number, content);
  const int why = errno;
  const bool closed = close(number) == 0;
  if (!written) errno = why;
  return written && closed;
}

std::size_t raise_open_files() {
  constexpr rlim_t kEnough = 65'536;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
  const rlim_t most = std::min(files.rlim_max, kEnough);
  if (files.rlim_cur < most) {
    rlimit more{.rlim_cur = most, .rlim_max = files.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &more) == 0) files = more;
  }
  return static_cast<std::size_t>(std::min(files.rlim_cur, kEnough));
}

bool can_write_new_file(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) {
    errno = EISDIR;
    return false;
  }
  // To open a pipe and to close it again would end its reader.
  if (is_no_file(path)) return access(path.c_str(), W_OK) == 0;
  return FileBeside(path, kNewFileMode).number() >= 0;
}

FileDescriptor::FileDescriptor(const std::string& path)
    // Opening a pipe would wait for somebody who writes.
    : number_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  struct stat about {};
  if (number_ < 0 || fstat(number_, &about) != 0) {
    error_ = refusal(path, words_of(errno));
  } else if (S_ISDIR(about.st_mode)) {
    error_ = refusal(path, "it is a folder");
  }
}

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) close(number_);
}

std::ptrdiff_t FileDescriptor::read(char* into, std::size_t size) const {
  while (true) {
    pollfd entry{.fd = number_, .events = POLLIN, .revents = 0};
    const int ready = poll_until({&entry, 1}, std::chrono::steady_clock::now() + kPatience);
    if (ready == 0) {
      errno = ETIMEDOUT;
      return -1;
    }
    const ssize_t count = ready < 0 ? -1 : ::read(number_, into, size);
    if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
  }
}

Result<std::string, std::string> read_whole_file(const std::string& path, std::size_t most_bytes) {
  const FileDescriptor file(path);
  if (!file.error().empty()) return fail(file.error());
  std::string out;
  std::array<char, kReadBytes> buffer;  // NOLINT(*-member-init): written by read()
  while (true) {
    const std::ptrdiff_t count = file.read(buffer.data(), buffer.size());
    if (count == 0) return out;
    if (count < 0) return fail(refusal(path, words_of(errno)));
    out.append(buffer.data(), static_cast<std::size_t>(count));
    if (out.size() > most_bytes) return fail(refusal(path, "it has " + too_long(most_bytes)));
  }
}

LineReader::LineReader(std::string path, std::size_t most_bytes)
    : path_(std::move(path)), most_bytes_(most_bytes), file_(path_), error_(file_.error()) {}

bool LineReader::fill() {
  buffer_.resize(kReadBytes);
  const std::ptrdiff_t count = file_.read(buffer_.data(), buffer_.size());
  if (count < 0) error_ = refusal(path_, words_of(errno));
  at_ = 0;
  end_ = count > 0 ? static_cast<std::size_t>(count) : 0;
  return end_ > 0;
}

bool LineReader::next(std::string& line) {
  line.clear();
  cut_ = false;
  while (error_.empty()) {
    if (at_ == end_ && !fill()) {
      cut_ = !line.empty();
      return cut_ && error_.empty();
    }
    const char* begin = buffer_.data() + at_;
    const void* found = std::memchr(begin, '\n', end_ - at_);
    const std::size_t length =
        found == nullptr ? end_ - at_
                         : static_cast<std::size_t>(static_cast<const char*>(found) - begin);
    line.append(begin, length);
    at_ += length;
    if (line.size() > most_bytes_) {
      error_ = refusal(path_, "a line has " + too_long(most_bytes_));
    } else if (found != nullptr) {
      ++at_;
      return true;
    }
  }
  return false;
}

}  // namespace fencepost
