// What can be done to a store's environment, in addition to requests: one table, for the language
// of scenarios, for what cases may require, for descriptors, and for evidence. A new kind is a row
// here, a property of the two JSON Schemas, a line of scenarios/FORMAT.md, and what does it: the
// hook of a descriptor, and for embedded brokers suite/target/target.cc. See
// Session::disturb().
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/joined.h"
#include "endpoint/durability.h"

namespace fencepost::endpoint {

struct DisturbanceKind {
  // The name of the step, of the capability that its case needs, and of the hook of a descriptor
  // that does it.
  std::string_view name;
  std::string_view object;     // what is written behind the name in a step
  std::string_view done;       // the object "is <done>"
  std::string_view to_others;  // why no other case runs: "a <name> <to_others> of other cases"
  std::string_view meaning;    // of the capability
  std::string_view provide;    // what to do when that is missing
  // The name of the capability to keep through it all that was acknowledged, and the declaration
  // that offers it.
  std::string_view durable;
  Durability declared;
  bool ends_connections;  // all of them: each client connects again at its next step
};

inline constexpr std::array kDisturbances = {
    DisturbanceKind{
        "restart", "broker", "restarted", "ends the connections", "its broker can be restarted",
        "name a command that restarts the broker in a descriptor (hooks: {restart: COMMAND})",
        "durable-restart", Durability::kRestart, true},
    DisturbanceKind{
        "kill", "broker", "killed", "ends the connections",
        "its broker can be killed and started again",
        "name a command that kills the broker and starts it again in a descriptor (hooks: {kill: "
        "COMMAND})",
        "durable-kill", Durability::kKill, true},
    DisturbanceKind{"failover", "broker", "replaced by another node", "ends the connections",
                    "another node can take over from its broker",
                    "name a command that does it in a descriptor (hooks: {failover: COMMAND}); "
                    "embedded?database=FILE&nodes=3 has it",
                    "durable-failover", Durability::kFailover, true},
};
inline constexpr const DisturbanceKind& kRestartOfBroker = kDisturbances[0];

inline constexpr auto kDisturbanceNames =
    made_of(kDisturbances, [](const DisturbanceKind& kind) { return kind.name; });

// Null when there is none.
[[nodiscard]] constexpr const DisturbanceKind* disturbance_named(std::string_view name) {
  for (const DisturbanceKind& kind : kDisturbances) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

struct Disturbance {
  const DisturbanceKind& kind;
  std::string client_id;  // of who finds out whether the broker is there again
};

}  // namespace fencepost::endpoint
