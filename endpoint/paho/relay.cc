#include "endpoint/paho/relay.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/socket.h>

#include "endpoint/cancellation.h"
#include "endpoint/connector.h"

namespace fencepost::endpoint {
namespace {

constexpr std::size_t kRelayChunk = std::size_t{64} << 10U;
// The most that is read from a broker that floods before other connections get their turn.
constexpr int kChunksAtOnce = 16;
constexpr std::chrono::seconds kFarewell{1};

class WhenReady final : public PollLoop::Handler {
 public:
  explicit WhenReady(std::function<void()> what) : what_(std::move(what)) {}
  void on_ready() override { what_(); }
  void on_tick(Duration /*now*/) override {}

 private:
  const std::function<void()> what_;
};

}  // namespace

PahoRelay::PahoRelay(std::unique_ptr<Stream> broker, Socket listener, std::uint16_t port,
                     PollLoop& loop)
    : loop_(loop), listener_(std::move(listener)), port_(port), broker_(std::move(broker)) {}

Result<std::shared_ptr<PahoRelay>, std::string> PahoRelay::start(std::unique_ptr<Stream> broker,
                                                                 PollLoop& loop) {
  auto listener = listen_at("127.0.0.1", 0, 1);
  if (!listener) return fail(std::string("no port of this machine for Paho"));
  std::shared_ptr<PahoRelay> out(
      new PahoRelay(std::move(broker), std::move(listener->socket), listener->port, loop));
  try {
    out->listener_id_ = loop.add(out->listener_.descriptor(), out->ready(&PahoRelay::accept_paho));
    out->broker_id_ = loop.add(out->broker_->descriptor(), out->ready(&PahoRelay::serve_broker));
  } catch (const std::system_error& no_thread) {
    return fail(std::string("no thread for Paho: ") + no_thread.what());
  }
  loop.watch(out->listener_id_, out->listener_.descriptor(), true, false);
  loop.watch(out->broker_id_, out->broker_->descriptor(), false, false);
  return out;
}

std::shared_ptr<PollLoop::Handler> PahoRelay::ready(void (PahoRelay::*what)()) {
  return std::make_shared<WhenReady>([relay = shared_from_this(), what] { (*relay.*what)(); });
}

std::string PahoRelay::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

void PahoRelay::accept_paho() {
  Socket accepted(accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (accepted.descriptor() < 0) return;
  std::unique_ptr<Stream> paho = Stream::accepted(std::move(accepted), nullptr);
  // Not with the lock: see PollLoop::add().
  const int descriptor = paho->descriptor();
  const std::uint64_t id = loop_.add(descriptor, ready(&PahoRelay::serve_paho));
  bool too_late = false;
  {
    const std::lock_guard lock(mutex_);
    paho_ = std::move(paho);
    paho_id_ = id;
    too_late = ended_;
    watch_paho();
    watch_broker();
  }
  if (too_late) loop_.remove(id, descriptor);
}

void PahoRelay::serve_paho() {
  const std::lock_guard lock(mutex_);
  if (ended_ || paho_ == nullptr) return;
  const bool broker_waited = !to_paho_.empty();
  write_paho();
  read_paho();
  write_broker();
  watch_paho();
  if (broker_waited || !to_broker_.empty()) watch_broker();
}

void PahoRelay::serve_broker() {
  const std::lock_guard lock(mutex_);
  if (ended_ || paho_ == nullptr) return;
  write_broker();
  read_broker();
  write_paho();
  watch_broker();
  if (!to_paho_.empty()) watch_paho();
}

void PahoRelay::read_paho() {
  std::array<char, kRelayChunk> chunk;  // NOLINT: 64 KiB are not cleared for nothing
  while (!paho_over_) {
    const Moved moved = paho_->read(chunk.data(), chunk.size());
    paho_over_ = moved.ended;
    if (moved.bytes == 0) return;
    // What Paho writes after the end of its connection is lost, and seems to be written.
    if (broker_over_) continue;
    guard_.on_written({chunk.data(), moved.bytes});
    to_broker_.append(chunk.data(), moved.bytes);
    if (moved.bytes < chunk.size()) return;  // there was no more
  }
}

void PahoRelay::write_broker() {
  while (!broker_over_ && written_ < to_broker_.size()) {
    const Moved moved = broker_->write(std::string_view(to_broker_).substr(written_));
    // What the broker said before its end is still to be read.
    written_ = moved.ended ? to_broker_.size() : written_ + moved.bytes;
    if (moved.bytes == 0 && !moved.ended) return;
  }
  to_broker_.clear();
  written_ = 0;
  if (!paho_over_ || broker_over_ || broker_notified_) return;
  broker_notified_ = true;
  broker_->end_writing();
}

void PahoRelay::read_broker() {
  std::array<char, kRelayChunk> chunk;  // NOLINT: as above
  for (int i = 0; i < kChunksAtOnce && !broker_over_; ++i) {
    write_paho();
    if (!to_paho_.empty()) return;
    Moved moved = broker_->read(chunk.data(), chunk.size());
    if (moved.bytes > 0) {
      moved.error = guard_.on_read({chunk.data(), moved.bytes});
      moved.ended = !moved.error.empty();
      if (!moved.ended) to_paho_.assign(chunk.data(), moved.bytes);
    }
    if (moved.ended) {
      why_ = std::move(moved.error);
      end_broker();
    }
    if (moved.bytes < chunk.size() && broker_->is_plain()) return;  // there was no more
    if (moved.bytes == 0) return;
  }
}

void PahoRelay::write_paho() {
  while (!to_paho_.empty()) {
    const Moved moved = paho_->write(to_paho_);
    if (moved.ended) to_paho_.clear();
    if (moved.bytes == 0) break;
    to_paho_.erase(0, moved.bytes);
  }
  if (!broker_over_ || paho_notified_ || !to_paho_.empty()) return;
  paho_notified_ = true;
  paho_->end_writing();
}

void PahoRelay::end_broker() {
  broker_over_ = true;
  broker_->cut();
}

// What has ended is reported again and again, and so not watched. OpenSSL holds nothing back that
// the socket would not tell of: a chunk is larger than what it decrypts at a time.
void PahoRelay::watch_broker() const {
  const bool to_read = to_paho_.empty();
  const bool to_write = !to_broker_.empty() || broker_->waits_to_write();
  if (broker_over_ || (!to_read && !to_write)) return;
  loop_.watch(broker_id_, broker_->descriptor(), to_read, to_write);
}

void PahoRelay::watch_paho() const {
  if (paho_over_ && to_paho_.empty()) return;
  loop_.watch(paho_id_, paho_->descriptor(), !paho_over_, !to_paho_.empty());
}

void PahoRelay::cut() {
  const std::lock_guard lock(mutex_);
  if (paho_ == nullptr || broker_over_) return;
  read_paho();
  write_broker();
  end_broker();
  write_paho();
  watch_paho();
}

void PahoRelay::end() {
  loop_.remove(listener_id_, listener_.descriptor());
  loop_.remove(broker_id_, broker_->descriptor());
  forget_paho();
  const std::lock_guard lock(mutex_);
  if (paho_ != nullptr) read_paho();
  paho_over_ = true;
  write_broker();
  // A socket that is closed with something unread in it takes back what has been sent.
  std::array<char, kRelayChunk> chunk;  // NOLINT: as above
  const Duration deadline = steady_now() + kFarewell;
  while (!broker_over_) {
    const Moved moved = broker_->read(chunk.data(), chunk.size());
    broker_over_ = moved.ended || (moved.bytes == 0 && !wait_for_descriptor(broker_->descriptor(),
                                                                            true, false, deadline));
  }
}

// Not with the lock: see PollLoop::remove().
void PahoRelay::forget_paho() {
  std::uint64_t id = 0;
  int descriptor = -1;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    if (paho_ == nullptr) return;
    id = paho_id_;
    descriptor = paho_->descriptor();
  }
  loop_.remove(id, descriptor);
}

}  // namespace fencepost::endpoint
