#include "endpoint/memory_file.h"

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fencepost::endpoint {

MemoryFile::MemoryFile(const char* name, const std::string& content)
    : socket_(memfd_create(name, MFD_CLOEXEC)) {
  ok_ = write(descriptor(), content.data(), content.size()) == static_cast<ssize_t>(content.size());
}

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor()); }

std::string MemoryFile::path_for_others() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor());
}

std::string MemoryFile::content_from(std::size_t offset) const {
  std::string out;
  std::array<char, 4096> buffer{};
  auto at = static_cast<off_t>(offset);
  ssize_t got = 0;
  while ((got = pread(descriptor(), buffer.data(), buffer.size(), at)) > 0) {
    out.append(buffer.data(), static_cast<std::size_t>(got));
    at += got;
  }
  return out;
}

std::string MemoryFile::tail(std::size_t most) const {
  const auto size = static_cast<std::size_t>(std::max<off_t>(lseek(descriptor(), 0, SEEK_END), 0));
  std::string out = content_from(size - std::min(size, most));
  while (out.ends_with('\n') || out.ends_with('\r')) out.pop_back();
  return (size > most ? "..." : "") + out;
}

void MemoryFile::forget_until(std::size_t offset) const {
  // Where the system cannot, the memory stays in use.
  (void)fallocate(descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  static_cast<off_t>(offset));
}

}  // namespace fencepost::endpoint
