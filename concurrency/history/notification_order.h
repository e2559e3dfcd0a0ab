// Are observers notified of the changes of a key in the order of its versions? The protocol does
// not say that they must be (Req: NTF-ORDER-OPEN-2), so this is an observation and no verdict.
// Pure.
#pragma once

#include <cstddef>
#include <map>

#include "concurrency/history/notifications.h"

namespace fencepost::history {

struct OrderObservation {
  std::size_t compared = 0;  // notifications of a SET, with one of the same key and client before
  std::size_t against = 0;   // that came after one with a greater version
  friend bool operator==(const OrderObservation&, const OrderObservation&) = default;
};

// Adds the notifications of one key. Those that MQTT may deliver again are left out: those with
// DUP, and all of a client whose connection broke.
void observe_order(const Observation& observation, const std::map<std::uint32_t, ClientLife>& lives,
                   OrderObservation& out);

}  // namespace fencepost::history
