// A peer for tests of what stands between a client and its broker.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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

// Does something hold up most round trips for tens of milliseconds, as delayed acknowledgements and
// Nagle's algorithm do? A machine that is busy makes those of an echo late, too. `round_trip` gets
// its number.
[[nodiscard]] inline bool is_held_up(const std::function<void(std::size_t)>& round_trip) {
  constexpr std::size_t kRoundTrips = 200;
  const EchoBroker echo;
  const auto yardstick = connect_tcp("127.0.0.1", echo.port(), std::chrono::seconds{60});
  std::array<double, kRoundTrips> took_ms{};
  std::array<double, kRoundTrips> echo_took_ms{};
  const auto since = [](std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  };
  for (std::size_t i = 0; i < kRoundTrips; ++i) {
    auto start = std::chrono::steady_clock::now();
    round_trip(i);
    took_ms.at(i) = since(start);
    start = std::chrono::steady_clock::now();
    if (exchange(*yardstick, "x", 1, std::chrono::seconds{60}) != "x") return true;
    echo_took_ms.at(i) = since(start);
  }
  std::sort(took_ms.begin(), took_ms.end());
  std::sort(echo_took_ms.begin(), echo_took_ms.end());
  return took_ms.at(kRoundTrips / 2) >= 20 + 4 * echo_took_ms.at(kRoundTrips / 2);
}

}  // namespace fencepost::endpoint
