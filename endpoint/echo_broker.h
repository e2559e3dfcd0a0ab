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
// Nagle's algorithm do? A machine that is busy makes those of an echo late, too, and not always: it
// is held up where it is in each of several times that many are made; not in the first, as the
// kernel acknowledges the first packets of a connection immediately. `round_trip` gets its number.
[[nodiscard]] inline bool is_held_up(const std::function<void(std::size_t)>& round_trip) {
  constexpr std::size_t kTimes = 10;
  constexpr std::size_t kRoundTrips = 20;
  const EchoBroker echo;
  const auto yardstick = connect_tcp("127.0.0.1", echo.port(), std::chrono::seconds{60});
  std::array<double, kRoundTrips> took_ms{};
  std::array<double, kRoundTrips> echo_took_ms{};
  const auto median = [](auto& times) {
    std::nth_element(times.begin(), times.begin() + kRoundTrips / 2, times.end());
    return times[kRoundTrips / 2];
  };
  const auto since = [](std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  };
  bool held_up = true;
  for (std::size_t i = 0; i < kTimes; ++i) {
    for (std::size_t j = 0; j < kRoundTrips; ++j) {
      auto start = std::chrono::steady_clock::now();
      round_trip(i * kRoundTrips + j);
      took_ms[j] = since(start);
      start = std::chrono::steady_clock::now();
      if (exchange(*yardstick, "x", 1, std::chrono::seconds{60}) != "x") return true;
      echo_took_ms[j] = since(start);
    }
    const bool is_first = i == 0;
    held_up = held_up && (is_first || median(took_ms) >= 20 + 4 * median(echo_took_ms));
  }
  return held_up;
}

}  // namespace fencepost::endpoint
