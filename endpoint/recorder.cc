#include "endpoint/recorder.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "evidence/frame.h"

namespace fencepost::endpoint {
namespace {

// A frame begins to be written before it has this size: no record is larger than what a packet may
// hold.
constexpr std::size_t kLargeFrame = std::size_t{1} << 20U;
constexpr std::size_t kReadBlock = 65'536;

std::string cannot_write(const std::string& path, const std::string& why) {
  return "cannot write " + path + ": " + why;
}

std::string why_not(const std::string& path) {
  return cannot_write(path, std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): glibc's is
}

}  // namespace

Result<std::unique_ptr<Recorder>, std::string> Recorder::create(const std::string& path,
                                                                std::size_t most_content) {
  const int descriptor = open_new_file(path);
  if (descriptor < 0) return fail(why_not(path));
  ::fcntl(descriptor, F_SETFL, O_APPEND);
  ::flock(descriptor, LOCK_EX | LOCK_NB);  // go_on() leaves it alone
  return begin(std::unique_ptr<Recorder>(new Recorder(path, descriptor, most_content)),
               evidence::kMagic);
}

Result<std::unique_ptr<Recorder>, std::string> Recorder::go_on(const std::string& path) {
  const int descriptor =
      ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0 && errno == ELOOP) {
    return fail(cannot_write(path, "it is a symbolic link; name the file itself"));
  }
  if (descriptor < 0) return fail(why_not(path));
  std::unique_ptr<Recorder> out(new Recorder(path, descriptor, evidence::kMaxContent));
  struct stat about {};
  if (::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    return fail(cannot_write(path, "it is not a regular file"));
  }
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return fail(cannot_write(path, "another run is writing it"));
  }
  const std::string before = out->content();
  if (!before.empty() && !evidence::is_evidence(before)) {
    return fail(cannot_write(path, "the file that is there is not evidence of this version"));
  }
  evidence::Frames frames(before);
  while (frames.next()) {
  }
  if (::ftruncate(descriptor, static_cast<off_t>(frames.read_bytes())) != 0) {
    return fail(why_not(path));
  }
  return begin(std::move(out), before.empty() ? evidence::kMagic : std::string_view());
}

Result<std::unique_ptr<Recorder>, std::string> Recorder::begin(std::unique_ptr<Recorder> recorder,
                                                               std::string_view first) {
  recorder->pending_ = first;
  if (const auto written = recorder->flush(); !written) return fail(written.error());
  recorder->writer_ = std::thread([self = recorder.get()] { self->write_frames(); });
  return recorder;
}

Recorder::Recorder(std::string path, int descriptor, std::size_t most_content)
    : path_(std::move(path)), descriptor_(descriptor), most_content_(most_content) {}

Recorder::~Recorder() {
  {
    const std::lock_guard lock(adding_);
    ends_ = true;
  }
  wake_.notify_one();
  if (writer_.joinable()) {
    writer_.join();
    (void)flush();
  }
  ::close(descriptor_);
}

std::uint32_t Recorder::next_session() {
  const std::lock_guard lock(adding_);
  return ++sessions_;
}

void Recorder::add(const evidence::Record& record) {
  bool large = false;
  {
    const std::lock_guard lock(adding_);
    encoder_.add(record);
    large = encoder_.size() > kLargeFrame;
  }
  if (large) (void)flush();
}

Result<void, std::string> Recorder::flush() {
  const std::lock_guard lock(writing_);
  std::string records;
  {
    const std::lock_guard adding(adding_);
    records = encoder_.take();
  }
  content_ += records.size();
  if (full_.empty() && content_ > most_content_) {
    constexpr unsigned kMebibyte = 20;
    full_ = "the evidence " + path_ + " is full: the limit is " +
            std::to_string(most_content_ >> kMebibyte) +
            " MiB before compression; later messages are not in it";
  } else if (full_.empty() && records.size() > evidence::kMaxFrame) {
    full_ = cannot_write(path_, "a message is too large");
  } else if (full_.empty() && !records.empty()) {
    pending_ += evidence::make_frame(records);
  }
  write_pending();
  if (!full_.empty()) return fail(full_);
  if (!pending_.empty()) return fail(error_);
  return {};
}

void Recorder::write_frames() {
  std::unique_lock lock(adding_);
  while (!ends_) {
    wake_.wait_for(lock, kFlushInterval);
    if (encoder_.size() == 0) continue;
    lock.unlock();
    (void)flush();
    lock.lock();
  }
}

// What a full disk has cut off follows when there is room again: until then, the file ends within a
// frame, up to which it can be read.
void Recorder::write_pending() {
  std::size_t done = 0;
  while (done < pending_.size()) {
    const ssize_t count = ::write(descriptor_, pending_.data() + done, pending_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      error_ = why_not(path_);
      break;
    }
    done += static_cast<std::size_t>(count);
  }
  pending_.erase(0, done);
}

// Under its name, that is: another may have it by now.
bool Recorder::is_there() const {
  struct stat ours {};
  struct stat there {};
  return ::fstat(descriptor_, &ours) == 0 && ::stat(path_.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

bool Recorder::is_whole() {
  const std::lock_guard lock(writing_);
  return pending_.empty() && full_.empty() && is_there();
}

std::string Recorder::content() {
  const std::lock_guard lock(writing_);
  std::string out;
  std::vector<char> block(kReadBlock);
  for (off_t at = 0;;) {
    const ssize_t count = ::pread(descriptor_, block.data(), block.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    out.append(block.data(), static_cast<std::size_t>(count));
    at += count;
  }
  return out + pending_;
}

void Recorder::remove() {
  if (is_there()) std::remove(path_.c_str());
}

}  // namespace fencepost::endpoint
