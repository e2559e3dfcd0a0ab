// What a client library has to provide to stand behind the endpoint. Private to endpoint/.
#pragma once

#include <chrono>
#include <memory>

#include "endpoint/endpoint.h"
#include "endpoint/mqtt.h"

namespace fencepost::endpoint {

class MqttDriver {
 public:
  virtual ~MqttDriver() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<Client>, Error> connect(
      const ClientOptions& options) = 0;
};

// `options` must outlive the driver.
[[nodiscard]] std::unique_ptr<MqttDriver> make_paho_driver(const MqttOptions& options);
[[nodiscard]] std::unique_ptr<MqttDriver> make_mosquitto_driver(const MqttOptions& options);

// The time that MQTT sessions count in: the steady clock of this machine.
[[nodiscard]] inline Duration steady_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

// Whose credentials a client of this role uses; null when the endpoint does not have the role.
[[nodiscard]] inline const Credentials* credentials_for(const MqttOptions& options,
                                                        const std::string& role) {
  if (role.empty()) return &options.credentials;
  const auto found = options.roles.find(role);
  return found == options.roles.end() ? nullptr : &found->second;
}

// The kind of a refused CONNECT, by its MQTT 5 reason code.
[[nodiscard]] inline ErrorKind kind_of_connect_refusal(int reason_code) {
  constexpr int kClientIdNotValid = 0x85;
  constexpr int kBadUserNameOrPassword = 0x86;
  constexpr int kNotAuthorized = 0x87;
  constexpr int kBanned = 0x8a;
  constexpr int kBadAuthenticationMethod = 0x8c;
  switch (reason_code) {
    case kClientIdNotValid:
    case kBadUserNameOrPassword:
    case kNotAuthorized:
    case kBanned:
    case kBadAuthenticationMethod:
      return ErrorKind::kNotAllowed;
    default:
      return ErrorKind::kUnreachable;
  }
}

// "0x87", as the MQTT specification writes reason codes.
[[nodiscard]] std::string reason_text(int reason_code);

}  // namespace fencepost::endpoint
