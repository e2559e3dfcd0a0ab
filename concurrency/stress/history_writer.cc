#include "concurrency/stress/history_writer.h"

#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/files.h"

namespace fencepost::stress {
namespace {

std::string error_text() { return std::error_code(errno, std::generic_category()).message(); }

}  // namespace

Result<std::unique_ptr<HistoryWriter>, std::string> HistoryWriter::open(
    const std::string& path, const history::Bounds& bounds, Copy copy) {
  const int descriptor = path.empty() ? -1 : open_new_file(path);
  if (descriptor < 0 && !path.empty()) {
    return fail("cannot write " + path + ": " + error_text());
  }
  std::unique_ptr<HistoryWriter> out(new HistoryWriter(path, descriptor, std::move(copy)));
  out->write(history::header_line());
  out->write(history::bounds_line(bounds));
  if (!out->error_.empty()) return fail(out->error_);
  return out;
}

HistoryWriter::~HistoryWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void HistoryWriter::write(const std::string& line) {
  std::string_view left = descriptor_ < 0 ? std::string_view() : line;
  while (!left.empty() && error_.empty()) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_ = "cannot write " + path_ + ": " + error_text();
      return;
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  if (copy_) copy_(line);
}

void HistoryWriter::called(std::uint64_t id, const history::Operation& operation) {
  write(history::call_line(id, operation));
}
void HistoryWriter::returned(std::uint64_t id, const history::Operation& operation) {
  write(history::return_line(id, operation));
}
void HistoryWriter::notified(const history::Notification& notification) {
  write(history::notification_line(notification));
}
void HistoryWriter::linked(const history::Connection& connection) {
  write(history::connection_line(connection));
}
void HistoryWriter::disturbed(const history::Disturbance& disturbance) {
  write(history::disturbance_line(disturbance));
}

}  // namespace fencepost::stress
