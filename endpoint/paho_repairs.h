// What Paho lacks and nobody outside it can set, mended by interposing functions of the C library
// for the whole program, and a lock around what it forgets to lock. docs/decisions/0003-paho.md has
// the table.
//
// connect(2): every TCP socket gets TCP_NODELAY before it connects, reconnects included. Nagle's
// algorithm keeps a small packet back until the one before it is acknowledged, and an
// acknowledgement is delayed for 40 ms when there is nothing to send with it: a request takes 44 ms
// instead of 0.07 ms.
// read(2), recv(2): what such a socket has received is acknowledged at once, for brokers that leave
// Nagle's algorithm on: they send a PUBACK, and then the response.
// write(2), writev(2): to such a socket never fail because the connection is gone, and never write
// only a part: they wait until all is written. After 30 s without progress they end the connection.
#pragma once

#include <mutex>

namespace fencepost::endpoint {

// Makes the linker take the interposed functions. Call once from whatever needs them; does nothing
// else.
void install_paho_repairs();

// The last TCP descriptor that this process connected with a socket of Paho's, -1 for none. Paho
// does not tell which socket is whose; who connects alone finds its own here.
[[nodiscard]] int last_connected_descriptor();

// While it lives, what this thread connects is not Paho's, whose own threads have none.
class NotPaho {
 public:
  NotPaho();
  ~NotPaho();
  NotPaho(const NotPaho&) = delete;
  NotPaho& operator=(const NotPaho&) = delete;

 private:
  bool before_;
};

// Why the guard has ended the connection from which this thread read last, once; empty when it has
// not. Paho tells of the end of a connection in the thread that read from it.
[[nodiscard]] std::string take_refusal();
// Of whatever connection ended so last, once: for who connects, and is told of it in another
// thread.
std::string take_last_refusal();

// Held around each call of Paho that queues a command or destroys a client. MQTTAsync_destroy()
// walks the queue of all clients without the lock under which other threads append to it. Callbacks
// must not take it: Paho calls some of them from within MQTTAsync_destroy().
[[nodiscard]] std::mutex& paho_calls();

}  // namespace fencepost::endpoint
