// A peer for tests of what stands between a client and its broker.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

#include <sys/socket.h>

#include "endpoint/socket.h"

namespace fencepost::endpoint {

// Sends everything back to one client after the other, and ends a connection when its client does.
class EchoBroker {
 public:
  EchoBroker() : listener_(listen_on_free_port(port_)), thread_([this] { run(); }) {}
  ~EchoBroker() {
    shutdown(listener_.descriptor(), SHUT_RDWR);
    thread_.join();
  }
  EchoBroker(const EchoBroker&) = delete;
  EchoBroker& operator=(const EchoBroker&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void run() const {
    while (true) {
      const Socket client(accept(listener_.descriptor(), nullptr, nullptr));
      if (client.descriptor() < 0) return;
      std::string buffer(4096, '\0');
      ssize_t got = 0;
      do {
        got = recv(client.descriptor(), buffer.data(), buffer.size(), 0);
      } while (got > 0 && send(client.descriptor(), buffer.data(), static_cast<std::size_t>(got),
                               MSG_NOSIGNAL) == got);
    }
  }

  std::uint16_t port_ = 0;
  Socket listener_;
  std::thread thread_;
};

}  // namespace fencepost::endpoint
