// One thread that looks after all connections of an endpoint. Private to endpoint/.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "endpoint/endpoint.h"
#include "endpoint/socket.h"

namespace fencepost::endpoint {

class PollLoop {
 public:
  // Called from the loop's thread.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void on_ready() = 0;
    // About once a second.
    virtual void on_tick(Duration now) = 0;
  };

  // The thread starts with the first handler, as a machine may not give one. Throws
  // std::system_error then, from add().
  PollLoop();
  ~PollLoop();
  PollLoop(const PollLoop&) = delete;
  PollLoop& operator=(const PollLoop&) = delete;

  // All of these: thread safe, and not to be called while holding a lock that a handler takes,
  // except watch().
  [[nodiscard]] std::uint64_t add(int descriptor, std::shared_ptr<Handler> handler);
  // After this call the handler is not called again for what happens later; one call may be
  // running.
  void remove(std::uint64_t id, int descriptor);
  // Connections whose broker did not acknowledge what was published. Thread safe.
  [[nodiscard]] int unacknowledged() const { return unacknowledged_; }
  void note_unacknowledged() { ++unacknowledged_; }

  // What to call on_ready() for, once, when it can be done; nothing at first. The end of a
  // connection calls it, too, also where neither is wanted.
  void watch(std::uint64_t id, int descriptor, bool to_read, bool to_write) const;

 private:
  void run();
  void call_ready(std::uint64_t id);
  void call_tick();
  void wake() const;

  Socket events_;  // of epoll
  Socket wake_;    // an eventfd
  std::mutex mutex_;
  bool stopping_ = false;
  std::atomic<int> unacknowledged_{0};
  std::uint64_t next_id_ = 1;  // 0 is the eventfd
  std::map<std::uint64_t, std::shared_ptr<Handler>> handlers_;
  std::thread thread_;
};

}  // namespace fencepost::endpoint
