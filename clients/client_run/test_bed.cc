#include "clients/client_run/test_bed.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/poll_until.h"

namespace fencepost::client_run {
namespace {

using endpoint::Socket;

constexpr int kStageBacklog = 16;
constexpr std::size_t kStageChunk = std::size_t{64} << 10U;
constexpr Milliseconds kMaxPoll{100};
constexpr int kMaxStageReads = 64;  // before others have their turn

bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

clients::JudgeOptions judge_options(const BrokerOptions& options) {
  return {.store_node = "StateStore", .clock_offset = options.clock_ahead};
}

}  // namespace

Result<std::unique_ptr<TestBed>, std::string> TestBed::open(const BrokerOptions& options,
                                                            AdapterProcess& adapter) {
  auto listener = endpoint::listen_at("127.0.0.1", 0, kStageBacklog);
  if (!listener) return fail(listener.error());
  return std::unique_ptr<TestBed>(
      new TestBed(options, adapter, std::move(listener->socket), listener->port));
}

TestBed::TestBed(const BrokerOptions& options, AdapterProcess& adapter, Socket listener,
                 std::uint16_t port)
    : adapter_(adapter),
      broker_(options),
      judge_(judge_options(options)),
      listener_(std::move(listener)),
      port_(port),
      began_(std::chrono::duration_cast<Time>(std::chrono::system_clock::now().time_since_epoch())),
      began_steady_(std::chrono::steady_clock::now()) {}

Time TestBed::now() {
  return began_ +
         std::chrono::duration_cast<Time>(std::chrono::steady_clock::now() - began_steady_);
}

bool TestBed::run_until(const std::function<bool()>& done, Moment deadline) {
  while (!done()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    if (!error_.empty() || (stop_ != nullptr && stop_->load())) return false;
    wait(deadline);
    serve();
    if (adapter_.is_gone() && !done()) return false;
  }
  return true;
}

void TestBed::run_until_nobody_is_connected(Milliseconds most) {
  (void)run_until([this] { return links_.empty(); }, std::chrono::steady_clock::now() + most);
}

void TestBed::wait(Moment deadline) {
  entries_.clear();
  entries_.push_back({listener_.descriptor(), POLLIN, 0});
  adapter_.add_waits(entries_);
  for (const auto& [number, link] : links_) {
    const int wanted = POLLIN | (link.to_write.empty() ? 0 : POLLOUT);
    entries_.push_back({link.socket.descriptor(), static_cast<short>(wanted), 0});
  }
  const Moment here = std::chrono::steady_clock::now();
  Moment until = std::min(deadline, here + kMaxPoll);
  if (const auto due = broker_.next_due()) until = std::min(until, here + (*due - now()));
  (void)poll_until(entries_, until);
}

void TestBed::serve() {
  for (auto& [number, link] : links_) read_link(number, link);
  accept_all();
  send_due();
  end_finished();
  adapter_.move();
}

void TestBed::accept_all() {
  while (true) {
    Socket client(accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.descriptor() < 0) {
      // Our own errors: out of descriptors or memory. A client that has gone again is not an error
      // of ours.
      const bool is_ours =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (is_ours) error_ = "cannot accept: " + std::generic_category().message(errno);
      return;
    }
    const int on = 1;
    setsockopt(client.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ++last_;
    links_.emplace(last_, Link{std::move(client)});
    judge_.opened(last_, now());
    broker_.opened(last_);
  }
}

void TestBed::read_link(std::uint64_t number, Link& link) {
  std::array<char, kStageChunk> buffer;  // NOLINT: 64 KiB are not cleared for nothing
  for (int i = 0; i < kMaxStageReads && !link.ended; ++i) {
    const ssize_t got = recv(link.socket.descriptor(), buffer.data(), buffer.size(), 0);
    if (got < 0 && would_wait()) return;
    if (got <= 0) {
      link.ended = true;
      return;
    }
    // A client that waits for our ACK with its next packet need not wait long.
    const int on = 1;
    setsockopt(link.socket.descriptor(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    const Time at = now();
    judge_.sent(number, bytes, at);
    broker_.received(number, bytes, at);
  }
}

void TestBed::write_link(Link& link) {
  while (!link.to_write.empty()) {
    const ssize_t sent =
        send(link.socket.descriptor(), link.to_write.data(), link.to_write.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (!would_wait()) link.ended = true;
      return;
    }
    link.to_write.erase(0, static_cast<std::size_t>(sent));
  }
  if (link.ends) link.ended = true;
}

void TestBed::send_due() {
  for (Outgoing& each : broker_.take_due(now())) {
    const auto found = links_.find(each.connection);
    if (found == links_.end() || found->second.ends) continue;
    // The judge knows it before the client does.
    if (!each.bytes.empty()) judge_.delivered(each.connection, each.bytes, now());
    found->second.to_write += each.bytes;
    found->second.ends = each.close;
  }
  for (auto& [number, link] : links_) write_link(link);
}

void TestBed::end_finished() {
  for (auto each = links_.begin(); each != links_.end();) {
    if (!each->second.ended) {
      ++each;
      continue;
    }
    judge_.closed(each->first, now());
    broker_.closed(each->first);
    each = links_.erase(each);
  }
}

void TestBed::close() {
  for (auto& [number, link] : links_) link.ended = true;
  end_finished();
}

}  // namespace fencepost::client_run
