// The endpoint that the command line names: a URL, or a descriptor file that says more.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/dialect.h"
#include "conformance/scenario_loader.h"
#include "endpoint/broker_process.h"
#include "endpoint/endpoint.h"
#include "endpoint/mqtt.h"

namespace fencepost::conformance {

// What a descriptor says beyond the URL.
struct Descriptor {
  std::string url = "embedded";
  endpoint::MqttOptions mqtt{};  // TLS files, roles, capabilities; host and port come from the URL
};

// Every password that the suite has from here.
[[nodiscard]] std::vector<std::string> secrets_of(const Descriptor& descriptor);

// Reads a descriptor (YAML); complaints are appended to `errors`, and quote nothing that could be a
// password or a key. Relative paths are relative to the descriptor.
[[nodiscard]] std::optional<Descriptor> load_descriptor(const SourceFile& file,
                                                        std::vector<LoadError>& errors);

// An open endpoint, and the brokers that serve it when they are ours.
struct Target {
  std::vector<std::unique_ptr<endpoint::BrokerProcess>> brokers;  // outlive the endpoint
  std::unique_ptr<endpoint::Endpoint> endpoint;
};

enum class TargetErrorKind { kUsage, kUnreachable };
struct TargetError {
  TargetErrorKind kind = TargetErrorKind::kUsage;
  std::string text;
};

// Opens what the descriptor names. The reference store, when it is ours, speaks `dialect` unless
// the URL says otherwise (`embedded?dialect=documented`).
[[nodiscard]] Result<Target, TargetError> open_target(const Descriptor& descriptor,
                                                      codec::DialectId dialect);

// The key rules of the reference endpoints: the role "restricted" may read, write or both where the
// key says so.
[[nodiscard]] const std::string& reference_authorization();

// Keys that the reference endpoints hold for cases that fill the quota.
inline constexpr std::size_t kReferenceQuota = 20;

}  // namespace fencepost::conformance
