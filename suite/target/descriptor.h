// A descriptor: a YAML file that says of an endpoint what its URL cannot. docs/DESCRIPTORS.md has
// the format, docs/descriptor.schema.json the same for editors.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "endpoint/durability.h"
#include "endpoint/mqtt.h"
#include "suite/judge/judge.h"
#include "suite/scenario/edition.h"
#include "suite/scenario/scenario_loader.h"
#include "suite/target/hook.h"

namespace fencepost::target {

// The role whose credentials every client uses that names no other.
inline constexpr const char* kDefaultRole = "default";

// What an endpoint is, as its owner says; for certificates.
struct Product {
  std::string name{};  // empty: the URL has to do
  std::string version{};
  std::string owner{};
};

struct Descriptor {
  std::string url = "embedded";
  // TLS files, credentials, capabilities; host and port come from the URL.
  endpoint::MqttOptions mqtt{};
  std::optional<codec::Profile> profile{};  // that it is to be judged by
  std::optional<scenario::Edition> edition{};
  // How far the store's clock may be from this machine's; more is an error of the set-up.
  std::optional<std::chrono::milliseconds> clock_tolerance{};
  // How long after its time a key may still be seen, and how long after the end of a connection its
  // registrations; see run::RunSettings, which has the defaults.
  std::optional<std::chrono::milliseconds> expiry_tolerance{};
  std::optional<std::chrono::milliseconds> disconnect_settling{};
  std::map<std::string, Hook, std::less<>> hooks{};  // by what they do: "restart", "kill"
  // What the store claims; of our own ones see durability_of().
  endpoint::Durability durability = endpoint::Durability::kNone;
  Product product{};
  // The environment variables that passwords came from, by role.
  std::map<std::string, std::string> password_variables{};
};

// Every password that the suite has from here.
[[nodiscard]] std::vector<std::string> secrets_of(const Descriptor& descriptor);

// Does it hold one itself, rather than the name of a variable?
[[nodiscard]] bool holds_password(const Descriptor& descriptor);

// Reads a descriptor; errors are appended to `errors`, and quote nothing that could be a
// password or a key. Relative paths are relative to the
// descriptor, and hooks run where it lies. Passwords that it names by environment variable are
// looked up.
[[nodiscard]] std::optional<Descriptor> load_descriptor(const scenario::SourceFile& file,
                                                        std::vector<scenario::LoadError>& errors);

}  // namespace fencepost::target
