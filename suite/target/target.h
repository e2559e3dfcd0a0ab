// Opens the endpoint that a descriptor names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "codec/dialect.h"
#include "endpoint/broker_cluster.h"
#include "endpoint/endpoint.h"
#include "endpoint/network_faults.h"
#include "reference_store/service.h"
#include "suite/target/descriptor.h"

namespace fencepost::target {

// An open endpoint, and the brokers that serve it when they are ours.
struct Target {
  std::unique_ptr<TemporaryFolder> folder;  // outlives the brokers; null: there is none
  std::vector<std::unique_ptr<endpoint::BrokerCluster>> brokers;  // outlive the endpoint
  std::unique_ptr<endpoint::NetworkFaults> network;               // so does it; null: there is none
  std::unique_ptr<endpoint::Endpoint> endpoint;
};

enum class TargetErrorKind { kUsage, kUnreachable };
struct TargetError {
  TargetErrorKind kind = TargetErrorKind::kUsage;
  std::string text;
};

// Opens what the descriptor names. The reference store, when it is ours, speaks `dialect` unless
// the URL says otherwise (`embedded?dialect=documented`). With `faults`, its clients connect
// through a proxy; faults are off then, and a store in process is kUsage.
[[nodiscard]] Result<Target, TargetError> open_target(
    const Descriptor& descriptor, codec::DialectId dialect,
    const std::optional<endpoint::NetworkFaultOptions>& faults = std::nullopt);

// What the descriptor declares; an embedded store keeps what its database does.
[[nodiscard]] endpoint::Durability durability_of(const Descriptor& descriptor);

// The store of an `inproc:` endpoint, for those who have clients and a clock of their own; without
// its conditions, such as delays. kUsage for another URL, and for one that has conditions.
[[nodiscard]] Result<std::unique_ptr<store::Handler>, TargetError> open_store(
    const Descriptor& descriptor, codec::DialectId dialect);

// The key rules of the reference endpoints: the role "restricted" may read, write or both where the
// key says so.
[[nodiscard]] const std::string& reference_authorization();

// The same for keys that begin with another prefix. This is what an endpoint of one's own has to
// know for cases that need a restricted client.
[[nodiscard]] std::string authorization_below(const std::string& key_prefix);

// Keys that the reference endpoints hold for cases that fill the quota.
inline constexpr std::size_t kReferenceQuota = 20;

// Bytes of a packet that the embedded endpoint takes of cases that go to that limit.
inline constexpr std::uint32_t kReferencePacketSize = 131'072;

}  // namespace fencepost::target
