// What the judge of clients has to say: one rule that one client has broken, with the packet that
// shows it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "clients/rules.h"

namespace fencepost::clients {

// Microseconds since the Unix epoch.
using Time = std::chrono::microseconds;

struct Finding {
  const Rule* rule = nullptr;  // never null; of the table, so it lives as long as the program
  std::string client_id{};     // bytes, as the client sent them; empty: not known
  std::uint64_t connection = 0;
  Time at{};
  std::string because{};  // one sentence without a full stop; bytes are escaped
  std::string
      packet{};  // the first kMaxPacketBytes bytes of it; empty: it is about a missing packet
  std::size_t packet_bytes = 0;
};

inline constexpr std::size_t kMaxPacketBytes = 1024;

}  // namespace fencepost::clients
