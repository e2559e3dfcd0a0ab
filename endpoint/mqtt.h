// A store behind a real MQTT 5 broker.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "endpoint/endpoint.h"

namespace fencepost::endpoint {

// Who speaks MQTT for us. Verdicts that two clients agree on are worth more.
enum class Driver {
  kBuiltin,  // wire/ and endpoint/connection.h; see docs/decisions/0019-own-client.md
  kPaho,     // Paho MQTT C++, in a module; see docs/decisions/0033-paho-module.md
};

// "builtin" or "paho", as on the command line.
[[nodiscard]] std::optional<Driver> driver_named(std::string_view name);

// Why this machine cannot use it: "cannot load ..."; empty: it can.
[[nodiscard]] std::string driver_error(Driver driver);

struct Credentials {
  std::string user{};  // empty: none; a role may be a matter of the client id alone
  std::string password{};
  std::filesystem::path certificate{};  // TLS: instead of the endpoint's
  std::filesystem::path key{};
};

struct MqttOptions {
  std::string url;  // for people: without password
  std::string host;
  std::uint16_t port = 1883;
  bool tls = false;
  std::filesystem::path ca{};  // TLS: who signed the broker's certificate; empty: the system's list
  std::filesystem::path certificate{};  // TLS: ours, for mutual TLS
  std::filesystem::path key{};
  Credentials credentials{};                   // empty user: anonymous
  std::map<std::string, Credentials> roles{};  // of clients that need other rights
  Capabilities capabilities{};
  Driver driver = Driver::kBuiltin;
  // Passwords in what is received become asterisks, as it may be printed. False: for a store, which
  // has to keep what it gets.
  bool hides_secrets = true;
  // Of 127.0.0.1: connections go there, and the certificate must be for `host` nevertheless. 0:
  // they go to host and port.
  std::uint16_t proxy_port = 0;
  // Time limit for connecting and subscribing: longer than a busy broker or machine stalls.
  Duration timeout = std::chrono::seconds{10};
  // Does this to the broker and returns when that is done; it need not answer yet. They become
  // Capabilities::disturbances. By the name of the kind.
  std::map<std::string, std::function<Result<void, Error>()>, std::less<>> hooks{};
  Duration hook_timeout = std::chrono::seconds{60};  // until it answers, once that is done
};

// Never null, and nothing is sent: a broker that cannot be reached, credentials that it refuses and
// TLS files that cannot be read are errors of Session::connect(). The endpoint and its sessions may
// be used by several threads; it must outlive its sessions, and they their clients.
[[nodiscard]] std::unique_ptr<Endpoint> make_mqtt_endpoint(MqttOptions options);

}  // namespace fencepost::endpoint
