// Keeps Paho awake while clients connect.
//
// Paho's only receive thread polls a fixed set of sockets for up to a second, and a socket that
// starts to connect meanwhile waits for the next round: 2.1 s a connection when other clients are
// idle. A client of ours whose peer (a few lines on loopback inside this process) sends it a byte
// now and then ends those polls. The peer does so only while somebody connects.
#pragma once

#include <memory>
#include <mutex>

namespace fencepost::endpoint {

class PahoWaker {
 public:
  // Starts the peer and connects the client. Does not throw; a waker that could not start just
  // wakes nobody.
  PahoWaker();
  ~PahoWaker();

  // The one of this process, made when nobody has it: a second one would connect as slowly as any
  // client while the first is idle. Thread safe.
  [[nodiscard]] static std::shared_ptr<PahoWaker> shared();
  PahoWaker(const PahoWaker&) = delete;
  PahoWaker& operator=(const PahoWaker&) = delete;

  // As long as one of these lives, Paho is kept awake. Thread safe.
  class Hold {
   public:
    explicit Hold(PahoWaker& waker);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    PahoWaker& waker_;
  };

 private:
  struct Peer;
  std::unique_ptr<Peer> peer_;
};

// Held around each call of Paho that queues a command or destroys a client. MQTTAsync_destroy()
// walks the queue of all clients without the lock under which other threads append to it. Callbacks
// must not take it: Paho calls some of them from within MQTTAsync_destroy().
[[nodiscard]] std::mutex& paho_calls();

}  // namespace fencepost::endpoint
