// The PUBACKs of a broker on their way to a client, made late or the end of their connection on
// purpose: what a client does then shows whether it keeps the rules.
//
//   LatePubacks pubacks({.hold = 200ms}, counted);
//   use(pubacks.add(bytes_of_the_broker, now));
//   use(pubacks.due(later));
//
// Pure; of one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace fencepost::endpoint {

struct PubackError {
  std::chrono::milliseconds hold{0};  // each comes so much later; what is no PUBACK does not
  std::uint64_t drop_every = 0;       // the n-th, 2n-th, ... end their connections instead; 0: none

  [[nodiscard]] bool any() const { return hold.count() > 0 || drop_every > 0; }
};

// One connection.
class LatePubacks {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  // PUBACKs are counted over all connections; the counter has to live longer.
  LatePubacks(const PubackError& error, std::uint64_t& counted)
      : error_(error), counted_(counted) {}

  // Bytes of the broker; those that the client gets immediately. A packet waits until it is whole.
  [[nodiscard]] std::string add(std::string_view bytes, Moment now);
  // What has been held long enough.
  [[nodiscard]] std::string due(Moment now);
  [[nodiscard]] std::optional<Moment> next_due() const;
  // The connection has to end: nothing comes any more.
  [[nodiscard]] bool dropped() const { return dropped_; }

 private:
  struct Held {
    Moment until;
    std::string packet;
  };

  PubackError error_;
  std::uint64_t& counted_;
  std::string begun_{};
  std::deque<Held> held_{};
  bool dropped_ = false;
};

}  // namespace fencepost::endpoint
