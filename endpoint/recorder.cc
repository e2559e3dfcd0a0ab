#include "endpoint/recorder.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/files.h"
#include "evidence/frame.h"

namespace fencepost::endpoint {
namespace {

// A frame begins to be written before it has this size: no record is larger than what a packet may
// hold.
constexpr std::size_t kLargeFrame = std::size_t{1} << 20U;

std::string why_not(const std::string& path) {
  return "cannot write the evidence " + path + ": " +
         std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): glibc's is safe
}

}  // namespace

Result<std::unique_ptr<Recorder>, std::string> Recorder::create(const std::string& path,
                                                                std::size_t most_content) {
  const int descriptor = open_new_file(path);
  if (descriptor < 0) return fail(why_not(path));
  ::fcntl(descriptor, F_SETFL, O_APPEND);
  std::unique_ptr<Recorder> out(new Recorder(path, descriptor, most_content));
  {
    const std::lock_guard lock(out->writing_);
    out->write(std::string(evidence::kMagic));
    if (!out->trouble_.empty()) return fail(out->trouble_);
  }
  out->writer_ = std::thread([recorder = out.get()] { recorder->write_frames(); });
  return out;
}

Recorder::Recorder(std::string path, int descriptor, std::size_t most_content)
    : path_(std::move(path)), descriptor_(descriptor), most_content_(most_content) {}

Recorder::~Recorder() {
  {
    const std::lock_guard lock(adding_);
    ends_ = true;
  }
  wake_.notify_one();
  if (writer_.joinable()) writer_.join();
  (void)flush();
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
  if (content_ > most_content_ && trouble_.empty()) {
    constexpr unsigned kMebibyte = 20;
    trouble_ = "the evidence " + path_ + " is full: it may have " +
               std::to_string(most_content_ >> kMebibyte) +
               " MiB before compression; what came after that is not in it";
  }
  if (!records.empty() && records.size() <= evidence::kMaxFrame) {
    if (trouble_.empty()) write(evidence::make_frame(records));
  } else if (!records.empty() && trouble_.empty()) {
    trouble_ = "cannot write the evidence " + path_ + ": a message is too large";
  }
  if (!trouble_.empty()) return fail(trouble_);
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

// A file with a hole could not be read behind it, so the first trouble is the last.
void Recorder::write(const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size() && trouble_.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) trouble_ = why_not(path_);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

}  // namespace fencepost::endpoint
