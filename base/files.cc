#include "base/files.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace fencepost {
namespace {

constexpr int kPatienceMs = 4'000;
constexpr std::size_t kReadBytes = 65'536;

std::string words_of(int code) {
  if (code == ETIMEDOUT) {
    return "nothing has come from it for " + std::to_string(kPatienceMs / 1'000) + " s";
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

FileDescriptor::FileDescriptor(const std::string& path)
    // Opening a pipe would wait for somebody who writes.
    : number_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  struct stat about {};
  if (number_ < 0 || fstat(number_, &about) != 0) {
    trouble_ = refusal(path, words_of(errno));
  } else if (S_ISDIR(about.st_mode)) {
    trouble_ = refusal(path, "it is a folder");
  }
}

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) close(number_);
}

std::ptrdiff_t FileDescriptor::read(char* into, std::size_t size) const {
  while (true) {
    pollfd entry{.fd = number_, .events = POLLIN, .revents = 0};
    const int ready = poll(&entry, 1, kPatienceMs);
    if (ready == 0) {
      errno = ETIMEDOUT;
      return -1;
    }
    // Not read(), of which endpoint/paho_waker.cc has a version.
    const iovec part{.iov_base = into, .iov_len = size};
    const ssize_t count = ready < 0 ? -1 : readv(number_, &part, 1);
    if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
  }
}

Result<std::string, std::string> read_whole_file(const std::string& path, std::size_t most_bytes) {
  const FileDescriptor file(path);
  if (!file.trouble().empty()) return fail(file.trouble());
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
    : path_(std::move(path)), most_bytes_(most_bytes), file_(path_), trouble_(file_.trouble()) {}

bool LineReader::fill() {
  buffer_.resize(kReadBytes);
  const std::ptrdiff_t count = file_.read(buffer_.data(), buffer_.size());
  if (count < 0) trouble_ = refusal(path_, words_of(errno));
  at_ = 0;
  end_ = count > 0 ? static_cast<std::size_t>(count) : 0;
  return end_ > 0;
}

bool LineReader::next(std::string& line) {
  line.clear();
  cut_ = false;
  while (trouble_.empty()) {
    if (at_ == end_ && !fill()) {
      cut_ = !line.empty();
      return cut_ && trouble_.empty();
    }
    const char* begin = buffer_.data() + at_;
    const void* found = std::memchr(begin, '\n', end_ - at_);
    const std::size_t length =
        found == nullptr ? end_ - at_
                         : static_cast<std::size_t>(static_cast<const char*>(found) - begin);
    line.append(begin, length);
    at_ += length;
    if (line.size() > most_bytes_) {
      trouble_ = refusal(path_, "a line has " + too_long(most_bytes_));
    } else if (found != nullptr) {
      ++at_;
      return true;
    }
  }
  return false;
}

}  // namespace fencepost
