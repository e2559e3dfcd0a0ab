// Judges the notifications that observers of one key received: of what clients changed, with its
// value and version, once, and all that were certainly due. What the protocol leaves unspecified
// (Req: NTF-REPEAT-OPEN-2, NTF-SEND-OPEN-1, NTF-VERSION-OPEN-1) is taken for right. Pure; thread
// safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "concurrency/history/key_history.h"

namespace fencepost::history {

// A KEYNOTIFY of a key, or its STOP.
struct Registration {
  std::uint32_t client = 0;
  bool stop = false;
  Outcome outcome = Outcome::kUnknown;
  Time called{0};
  Time returned = kNever;
  Index number = 0;  // of the operation
};

// What an observer saw of one key.
struct Observation {
  std::vector<Registration> registrations{};
  std::vector<Notification> notified{};

  [[nodiscard]] bool empty() const { return registrations.empty() && notified.empty(); }
};

// The connections of one client.
struct ClientLife {
  struct Break {
    Time noticed{0};
    Time last_received{0};  // before: it may have been broken since
  };
  Time last_received{0};  // the last time that something arrived
  bool connected = false;
  std::vector<Break> breaks{};  // of its connection
};

struct NotificationFlaw {
  std::string_view requirement{};
  std::string what{};
  std::vector<Index> numbers{};  // of operations
};

struct NotificationScope {
  bool restarted = false;  // the store, and it may have forgotten registrations
  bool forgotten = false;  // some operations are not in the history any more
};

// `history` has been resolved and has an order.
[[nodiscard]] std::optional<NotificationFlaw> judge_notifications(
    const KeyHistory& history, const Observation& observation,
    const std::map<std::uint32_t, ClientLife>& lives, const Bounds& bounds,
    const NotificationScope& scope);

}  // namespace fencepost::history
