#include "suite/run/capability.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/joined.h"
#include "suite/scenario/scenario_fields.h"

namespace fencepost::run {
namespace {

// Enough for any case, and for all others that run at the time.
constexpr std::size_t kManyKeys = 4000;

using endpoint::Capabilities;

// Without Capability::offered.
constexpr auto kOfDisturbances =
    made_of(endpoint::kDisturbances, [](const endpoint::DisturbanceKind& kind) {
      return Capability{kind.name, kind.meaning, kind.provide, nullptr};
    });

constexpr auto kOfDurability =
    made_of(endpoint::kDisturbances, [](const endpoint::DisturbanceKind& kind) {
      return Capability{kind.durable,
                        "it declares to keep through that all that it has acknowledged",
                        "declare what the store keeps in a descriptor (durability: restart, kill "
                        "or failover); embedded?database=FILE does",
                        nullptr, kind.declared};
    });

constexpr std::array kBefore = {
    Capability{"transport", "real MQTT connections: QoS, retain, sessions, disconnections",
               "this endpoint has no MQTT connections; use embedded or mqtt://",
               [](const Capabilities& of) { return of.transport; }},
    Capability{"quota", "its quota of keys is known",
               "name the endpoint's number of keys in a descriptor (capabilities: {quota: N})",
               [](const Capabilities& of) { return of.quota.has_value(); }},
    Capability{"restricted-client", "it has a role \"restricted\" that may not access all keys",
               "give credentials of a restricted client in a descriptor (roles: {restricted: ...})",
               [](const Capabilities& of) { return of.has_role("restricted"); }},
    Capability{"packet-limit", "its Maximum Packet Size is known, and at most 16 MiB",
               "the broker announces no Maximum Packet Size of at most 16 MiB; if it has one, name "
               "it in a descriptor (capabilities: {max_packet_size: BYTES})",
               [](const Capabilities& of) {
                 return of.max_packet_size && *of.max_packet_size <= kMaxPacket;
               }},
};
constexpr std::array kBehind = {
    Capability{"exact-clock", "the store and the clients read the same clock",
               "the clock of a remote store is not known to the millisecond; use inproc: or "
               "embedded",
               [](const Capabilities& of) { return of.exact_clock; }},
    Capability{
        "many-keys", "it has room for thousands of keys",
        "give the number of keys it holds in a descriptor (capabilities: {quota: KEYS}); the "
        "case needs 4000 or more, which leaves room for others",
        [](const Capabilities& of) {
          return of.has_isolated_broker || (of.quota && *of.quota >= kManyKeys);
        }},
    Capability{"raw-packets", "raw packets can be sent, which client libraries do not send",
               "only the suite's own client sends raw packets; use embedded or mqtt:// with "
               "--driver builtin",
               [](const Capabilities& of) { return of.raw_packets; }},
    Capability{"store-in-broker",
               "the store is in the broker: it sees who sends a request and when connections end",
               "the descriptor says capabilities: {store_in_broker: false}; a client of a broker "
               "cannot see or end the connections of others",
               [](const Capabilities& of) { return of.store_in_broker; }},
};
constexpr auto kTable = joined(kBefore, kOfDisturbances, kOfDurability, kBehind);
static_assert(kTable.size() == scenario::fields::kCapabilities.size());
static_assert(std::equal(kTable.begin(), kTable.end(), scenario::fields::kCapabilities.begin(),
                         [](const Capability& row, std::string_view name) {
                           return row.name == name;
                         }));

// The most keys that a step of the case writes beside each other.
std::size_t keys_at_once(const scenario::Case& test_case) {
  std::size_t most = 0;
  for (const scenario::Step& step : test_case.steps) {
    const auto* many = std::get_if<scenario::WriteManyStep>(&step.what);
    if (many != nullptr) most = std::max(most, many->keys);
  }
  return most;
}

}  // namespace

std::span<const Capability> all_capabilities() { return kTable; }

std::string missing_capability(const scenario::Case& test_case, const Capabilities& offered) {
  for (const std::string& name : test_case.requires_) {
    for (const Capability& row : kTable) {
      if (row.name != name || row.is_offered(offered)) continue;
      return name + ": " + std::string(row.provide);
    }
  }
  // With an isolated broker, the quota is of that.
  const std::size_t keys = keys_at_once(test_case);
  if (offered.quota && !offered.has_isolated_broker && keys > *offered.quota) {
    return fmt::format("many-keys: the case writes {} keys, and the endpoint has room for {}", keys,
                       *offered.quota);
  }
  return {};
}

bool disturbs_others(const scenario::Case& test_case) {
  return std::any_of(test_case.requires_.begin(), test_case.requires_.end(),
                     [](const std::string& name) {
                       return name == "quota" || name == "packet-limit" ||
                              endpoint::disturbance_named(name) != nullptr;
                     });
}

}  // namespace fencepost::run
