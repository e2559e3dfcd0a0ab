// What makes connections to one broker, and what all that do so have in common. Private to
// endpoint/: nothing else knows which client library is in use.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "endpoint/endpoint.h"
#include "endpoint/mqtt.h"

namespace fencepost::endpoint {

// Thread safe.
class Connector {
 public:
  virtual ~Connector() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<Client>, Error> connect(
      const ClientOptions& options) = 0;
};

inline constexpr int kFirstErrorReason = 0x80;  // MQTT 5, 2.4
inline constexpr int kSubscriptionQos = 1;
// The maximum of unacknowledged QoS 1 messages, to us and from us.
inline constexpr int kReceiveMaximum = 65'535;

// The time that MQTT sessions count in: the steady clock of this machine.
[[nodiscard]] inline Duration steady_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

// "0x87 (Not authorized)", as the MQTT specification writes reason codes, and names those of
// errors.
[[nodiscard]] std::string reason_text(int reason_code);

// The error for a CONNACK with this reason code.
[[nodiscard]] Error refused_connection(int reason_code);

// The error for a SUBACK with this reason code, which is not the requested QoS.
[[nodiscard]] Error refused_subscription(const std::string& filter, int reason_code);

// Whose credentials a client of this role uses; null when the endpoint does not have the role.
[[nodiscard]] const Credentials* credentials_for(const MqttOptions& options,
                                                 const std::string& role);

}  // namespace fencepost::endpoint
