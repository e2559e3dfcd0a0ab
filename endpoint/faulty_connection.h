// One connection through a proxy, and the fault of the network that is being injected into it.
//
//   FaultyConnection connection(true);
//   connection.strike(strike, now);                        // from a FaultSchedule
//   if (!connection.holds(true, now)) send(connection.pass(true, bytes, now));
//   if (connection.end(now) != FaultyConnection::End::kNone) ...
//
// Pure; of one thread at a time. Private to endpoint/.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "endpoint/fault_schedule.h"

namespace fencepost::endpoint {

class FaultyConnection {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  enum class End : std::uint8_t { kNone, kClose, kReset };

  // `has_packets`: the bytes are plain MQTT. Faults that need packets have to be left out where
  // they are not.
  explicit FaultyConnection(bool has_packets) : has_packets_(has_packets) {}

  // False, and nothing changes, while there is another fault, and until a moment after it: what was
  // held gets through before more is held, so no request waits for longer than two faults last.
  [[nodiscard]] bool strike(const Strike& strike, Moment now);
  // The fault that has taken effect since the last call. Those that need packets do when the packet
  // comes.
  [[nodiscard]] std::optional<NetworkFault> take_effect();
  // A fault that still waits for its packet is given up.
  void stop_waiting();

  // Nothing is to be read or written in this direction at the moment. `up`: from the client.
  [[nodiscard]] bool holds(bool up, Moment now) const;
  // How many bytes a write may have; wrote() is called with how many it had.
  [[nodiscard]] std::size_t most_to_write(Moment now) const;
  void wrote(bool up, std::size_t bytes, Moment now);
  // What is passed on of these bytes, and of those kept until their packet was whole.
  [[nodiscard]] std::string pass(bool up, std::string_view bytes, Moment now);
  // How the connection has to end now.
  [[nodiscard]] End end(Moment now);
  // The first packet of the client, with which another connection takes this one over.
  [[nodiscard]] const std::string& connect() const { return connect_; }
  // The broker has been given a reason to end the connection, and takes its time.
  [[nodiscard]] bool is_taken_over() const { return taken_over_; }
  // When holds(), most_to_write() or end() change by themselves.
  [[nodiscard]] std::optional<Moment> next_due(Moment now) const;

 private:
  [[nodiscard]] std::string_view pass_packet(bool up, std::string_view packet, Moment now);
  [[nodiscard]] bool is_active(NetworkFault fault, Moment now) const;
  void begin(Moment now);

  bool has_packets_;
  std::array<std::string, 2> begun_{};  // of packets that are not whole; by `up`
  std::string connect_{};
  std::optional<Strike> strike_{};
  bool waits_ = false;  // for a packet
  bool acknowledged_ = false;
  bool withheld_ = false;
  bool taken_over_ = false;
  Moment until_{};
  std::array<Moment, 2> next_write_{};  // where the rate is limited; by `up`
  Moment free_from_{};
  std::optional<NetworkFault> effect_{};
  End end_ = End::kNone;
};

}  // namespace fencepost::endpoint
