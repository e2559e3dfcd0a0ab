// Reads untrusted files: within a limit, and without waiting forever.
// Writes files at untrusted places: an existing file of that name is replaced,
// and a link there is, but neither is ever followed or emptied.
//
//   const auto content = read_whole_file("report.json");
//   const std::string why = content ? "" : content.error();  // "cannot read f: it is a folder"
//   if (!write_new_file("report.json", content_of_it)) complain(std::strerror(errno));
//
// A library of its own, fencepost_files. Each object is of one thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fencepost {

// Limit of a file that is read whole: several times the size of our largest.
inline constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20U;
// Limit of one line of a file that is read line by line.
inline constexpr std::size_t kMaxLineBytes = std::size_t{8} << 20U;

// The bytes of a file, pipe or device; the error is a sentence with the path and no content. A pipe
// may take up to 4 s for each part.
[[nodiscard]] Result<std::string, std::string> read_whole_file(
    const std::string& path, std::size_t most_bytes = kMaxFileBytes);

// Mode of written files, before umask.
inline constexpr unsigned kNewFileMode = 0666;

// A descriptor of a new and empty file that stands at `path` from now on, for writing and reading;
// devices and pipes are opened as they are, a pipe that nobody reads is refused. -1 with errno:
// nothing has changed.
[[nodiscard]] int open_new_file(const std::string& path, unsigned mode = kNewFileMode);

// A file of this content, which stands at `path` when it is whole. False with errno: what was there
// still is.
[[nodiscard]] bool write_new_file(const std::string& path, std::string_view content);

// Lets this process, and those that it starts, have as many files and connections open as the
// machine allows, 65,536 at most: shells set 1,024. Returns how many that is; further calls change
// nothing.
std::size_t raise_open_files();

// Could it? Leaves nothing behind. False with errno.
[[nodiscard]] bool can_write_new_file(const std::string& path);

// A file that is open for reading.
class FileDescriptor {
 public:
  explicit FileDescriptor(const std::string& path);
  ~FileDescriptor();
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  // Why it is not; else empty.
  [[nodiscard]] const std::string& error() const { return error_; }
  // Bytes that were read, 0 at the end, -1 with errno: ETIMEDOUT after 4 s in which nothing came.
  [[nodiscard]] std::ptrdiff_t read(char* into, std::size_t size) const;

 private:
  int number_;
  std::string error_{};
};

// A file of any size, line by line.
//
//   LineReader file("run.jsonl");
//   for (std::string line; file.next(line);) use(line);
//   const std::string why = file.trouble();
class LineReader {
 public:
  explicit LineReader(std::string path, std::size_t most_bytes = kMaxLineBytes);

  // The next line, without its line feed; false behind the last one, and after an error.
  [[nodiscard]] bool next(std::string& line);
  // The line that came last has no line feed.
  [[nodiscard]] bool is_cut() const { return cut_; }
  // A sentence with the path; empty: none so far.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  [[nodiscard]] bool fill();

  std::string path_;
  std::size_t most_bytes_;
  FileDescriptor file_;
  std::vector<char> buffer_{};
  std::size_t at_ = 0;  // of what has been read into it
  std::size_t end_ = 0;
  bool cut_ = false;
  std::string error_{};
};

}  // namespace fencepost
