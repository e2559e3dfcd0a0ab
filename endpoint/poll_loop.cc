#include "endpoint/poll_loop.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "endpoint/connector.h"

namespace fencepost::endpoint {
namespace {

constexpr Duration kTick = std::chrono::seconds{1};

}  // namespace

PollLoop::PollLoop()
    : events_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
  epoll_ctl(events_.descriptor(), EPOLL_CTL_ADD, wake_.descriptor(), &event);
}

PollLoop::~PollLoop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  // Without the lock, which run() takes to see that this is the end.
  if (thread_.joinable()) thread_.join();
}

void PollLoop::wake() const {
  // Only once, at the end, so nobody reads it back.
  const std::uint64_t one = 1;
  // It can only fail where it is awake anyway.
  [[maybe_unused]] const ssize_t written = write(wake_.descriptor(), &one, sizeof(one));
}

std::uint64_t PollLoop::add(int descriptor, std::shared_ptr<Handler> handler) {
  const std::lock_guard lock(mutex_);
  // Before anything is kept: where this throws, nothing is left of the handler.
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  const std::uint64_t id = next_id_++;
  handlers_.emplace(id, std::move(handler));
  // By a number that is not used again, and not by the descriptor or the handler: an event that was
  // fetched before remove() finds nothing, even where the kernel has given its descriptor again.
  epoll_event event{.events = 0, .data = {.u64 = id}};
  epoll_ctl(events_.descriptor(), EPOLL_CTL_ADD, descriptor, &event);
  return id;
}

void PollLoop::remove(std::uint64_t id, int descriptor) {
  epoll_event event{};
  epoll_ctl(events_.descriptor(), EPOLL_CTL_DEL, descriptor, &event);
  std::shared_ptr<Handler> last;  // may be the last to hold it: ends without the lock
  const std::lock_guard lock(mutex_);
  const auto found = handlers_.find(id);
  if (found == handlers_.end()) return;
  last = std::move(found->second);
  handlers_.erase(found);
}

void PollLoop::watch(std::uint64_t id, int descriptor, bool to_read, bool to_write) const {
  // Without our lock, as handlers call this with their own: epoll_ctl() is thread safe by itself.
  const std::uint32_t wanted = (to_read ? EPOLLIN : 0U) | (to_write ? EPOLLOUT : 0U);
  // Without EPOLLONESHOT an end would be reported again and again to a handler that does not watch
  // for more.
  epoll_event event{.events = wanted | EPOLLONESHOT, .data = {.u64 = id}};
  epoll_ctl(events_.descriptor(), EPOLL_CTL_MOD, descriptor, &event);
}

void PollLoop::call_ready(std::uint64_t id) {
  std::shared_ptr<Handler> handler;
  {
    const std::lock_guard lock(mutex_);
    const auto found = handlers_.find(id);
    if (found == handlers_.end()) return;
    handler = found->second;
  }
  // Without the lock: it takes its own, and what it calls may add and remove connections.
  handler->on_ready();
}

void PollLoop::call_tick() {
  std::vector<std::shared_ptr<Handler>> all;
  {
    const std::lock_guard lock(mutex_);
    all.reserve(handlers_.size());
    for (const auto& [id, handler] : handlers_) all.push_back(handler);
  }
  const Duration now = steady_now();
  // Without the lock, as on_ready(). A copy holds each of them until its turn is over.
  for (const auto& handler : all) handler->on_tick(now);
}

void PollLoop::run() {
  constexpr int kAtOnce = 256;
  std::array<epoll_event, kAtOnce> events{};
  Duration next_tick = steady_now() + kTick;
  while (true) {
    // Rounded up: rounded down, the last part of a millisecond would be spent in empty turns.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_tick - steady_now());
    const int timeout = static_cast<int>(std::max<std::int64_t>(0, left.count()));
    const int count = epoll_wait(events_.descriptor(), events.data(), kAtOnce, timeout);
    // A signal ends the wait with -1: there is nothing to serve then.
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = events.at(static_cast<std::size_t>(i)).data.u64;
      if (id != 0) {
        call_ready(id);
        continue;
      }
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    // Also where there was something to read: connections that are never quiet have ticks, too.
    if (steady_now() < next_tick) continue;
    next_tick = steady_now() + kTick;
    call_tick();
  }
}

}  // namespace fencepost::endpoint
