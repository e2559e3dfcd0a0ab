// Faults of the network that a proxy injects, and of the broker behind it: their kinds, and which
// of them strikes when.
//
//   FaultSchedule schedule(seed, *parse_network_faults("reset,stall"), 250ms);  // at random
//   FaultSchedule planned({.strikes = {{.at = 2s, .fault = NetworkFault::kReset}}});
//   while (const auto strike = schedule.due(time)) inject(*strike);
//
// Pure; of one thread at a time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "endpoint/durability.h"

namespace fencepost::endpoint {

enum class NetworkFault : std::uint8_t {
  kDelay,
  kJitter,
  kSplit,
  kRate,
  kStall,
  kHalfOpen,
  kClose,
  kReset,
  kTakeover,
  kRefuse,
  kCutPacket,
  kWithholdPuback,
  kWithholdResponse,
  kStop,
  kRestart,
  kKill,
  kPartition,
  kFailover,
};

struct NetworkFaultKind {
  NetworkFault fault;
  std::string_view name;
  // How long it lasts: uniformly distributed between these.
  std::chrono::milliseconds shortest;
  std::chrono::milliseconds longest;
  bool needs_packets = false;  // so it is not available where TLS hides them
  // Done to the broker and not to a connection. It is not one of "all".
  bool of_broker = false;
  bool may_lose = false;    // a store may lose something then: it declares whether
  std::string_view undo{};  // what is done to the broker when the time is over; empty: nothing
  bool of_cluster = false;  // it takes several nodes
  // Of the bytes of one direction (Strike::up).
  [[nodiscard]] constexpr bool is_one_way() const {
    return fault == NetworkFault::kDelay || fault == NetworkFault::kStall ||
           fault == NetworkFault::kCutPacket;
  }
};

// In the order of the enumeration.
inline constexpr std::array kNetworkFaults = {
    NetworkFaultKind{NetworkFault::kDelay, "delay", std::chrono::milliseconds{5},
                     std::chrono::milliseconds{50}},
    NetworkFaultKind{NetworkFault::kJitter, "jitter", std::chrono::milliseconds{100},
                     std::chrono::milliseconds{500}},
    NetworkFaultKind{NetworkFault::kSplit, "split", std::chrono::milliseconds{20},
                     std::chrono::milliseconds{100}},
    NetworkFaultKind{NetworkFault::kRate, "rate", std::chrono::milliseconds{100},
                     std::chrono::milliseconds{500}},
    NetworkFaultKind{NetworkFault::kStall, "stall", std::chrono::milliseconds{200},
                     std::chrono::milliseconds{1'000}},
    NetworkFaultKind{NetworkFault::kHalfOpen, "half-open", std::chrono::milliseconds{500},
                     std::chrono::milliseconds{2'000}},
    NetworkFaultKind{NetworkFault::kClose, "close", std::chrono::milliseconds{0},
                     std::chrono::milliseconds{0}},
    NetworkFaultKind{NetworkFault::kReset, "reset", std::chrono::milliseconds{0},
                     std::chrono::milliseconds{0}},
    NetworkFaultKind{NetworkFault::kTakeover, "takeover", std::chrono::milliseconds{1'000},
                     std::chrono::milliseconds{1'000}, true},
    NetworkFaultKind{NetworkFault::kRefuse, "refuse", std::chrono::milliseconds{100},
                     std::chrono::milliseconds{1'000}},
    NetworkFaultKind{NetworkFault::kCutPacket, "cut-packet", std::chrono::milliseconds{0},
                     std::chrono::milliseconds{0}, true},
    NetworkFaultKind{NetworkFault::kWithholdPuback, "withhold-puback",
                     std::chrono::milliseconds{50}, std::chrono::milliseconds{500}, true},
    NetworkFaultKind{NetworkFault::kWithholdResponse, "withhold-response",
                     std::chrono::milliseconds{50}, std::chrono::milliseconds{500}, true},
    NetworkFaultKind{NetworkFault::kStop, "stop", std::chrono::milliseconds{200},
                     std::chrono::milliseconds{1'000}, false, true, false, "continue"},
    NetworkFaultKind{NetworkFault::kRestart, "restart", std::chrono::milliseconds{0},
                     std::chrono::milliseconds{0}, false, true, true},
    NetworkFaultKind{NetworkFault::kKill, "kill", std::chrono::milliseconds{0},
                     std::chrono::milliseconds{0}, false, true, true},
    NetworkFaultKind{NetworkFault::kPartition, "partition", std::chrono::milliseconds{1'000},
                     std::chrono::milliseconds{5'000}, false, true, true, "heal", true},
    NetworkFaultKind{NetworkFault::kFailover, "failover", std::chrono::milliseconds{0},
                     std::chrono::milliseconds{0}, false, true, true, "", true},
};

// The longest that a fault holds bytes which the peer receives in the end: other faults that hold
// bytes end the connection.
inline constexpr std::chrono::milliseconds kLongestStall{1'000};

[[nodiscard]] constexpr const NetworkFaultKind& kind_of(NetworkFault fault) {
  return kNetworkFaults.at(static_cast<std::size_t>(fault));
}

// "none", "all" (of the network), or names with commas between them, each kind once. The error says
// which word is not a name, and what the names are.
[[nodiscard]] Result<std::vector<NetworkFault>, std::string> parse_network_faults(
    std::string_view text);

// One fault of one connection, or of the broker.
struct Strike {
  std::chrono::nanoseconds at{0};  // since the beginning of the schedule
  NetworkFault fault = NetworkFault::kDelay;
  std::chrono::milliseconds length{0};
  bool up = false;         // where it is a fault of one direction: that from the client
  std::uint64_t pick = 0;  // any number: modulo the connections that are open, it says which one
};

// Must what was acknowledged outlive this disturbance of the broker?
[[nodiscard]] constexpr bool keeps_through(Durability declared, NetworkFault of_broker) {
  switch (of_broker) {
    case NetworkFault::kRestart:
      return declared >= Durability::kRestart;
    case NetworkFault::kKill:
      return declared >= Durability::kKill;
    case NetworkFault::kPartition:
    case NetworkFault::kFailover:
      return declared >= Durability::kFailover;
    default:
      return true;  // it ends no broker
  }
}

// Strikes that somebody has planned, in the order of their times, each of which is behind 0.
struct FaultPlan {
  std::vector<Strike> strikes{};       // at least one
  std::chrono::nanoseconds repeat{0};  // all of them again after this time; 0: never
};

class FaultSchedule {
 public:
  explicit FaultSchedule(FaultPlan plan);
  // At least one kind; strikes are between half and one and a half times `mean` apart, which is
  // positive. In each round every kind strikes once, in another order.
  FaultSchedule(std::uint64_t seed, std::vector<NetworkFault> kinds,
                std::chrono::milliseconds mean);

  // The next strike, where its time has come: each one once.
  [[nodiscard]] std::optional<Strike> due(std::chrono::nanoseconds now);
  // When that is; in years, where none is left.
  [[nodiscard]] std::chrono::nanoseconds next_at() const { return next_.at; }

 private:
  [[nodiscard]] std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  void plan_next();

  FaultPlan plan_{};        // without strikes: there is none
  std::mt19937_64 random_;  // the same numbers everywhere, unlike the library's distributions
  std::vector<NetworkFault> kinds_;
  std::size_t in_round_ = 0;  // of the kinds, or of the plan
  std::chrono::nanoseconds mean_{0};
  std::chrono::nanoseconds round_at_{0};  // when this round of the plan began
  Strike next_{};
};

}  // namespace fencepost::endpoint
