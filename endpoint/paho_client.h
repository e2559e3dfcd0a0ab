// Connections through Paho MQTT C++. Private to endpoint/: nothing else knows which client library
// this is.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "endpoint/endpoint.h"
#include "endpoint/mqtt.h"
#include "endpoint/paho_waker.h"

namespace fencepost::endpoint {

// Makes connections to one broker. Thread safe.
class PahoConnector {
 public:
  // `options` must outlive the connector.
  explicit PahoConnector(const MqttOptions& options);

  [[nodiscard]] Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& options);

 private:
  const MqttOptions& options_;
  std::atomic<int> questions_{0};  // to OpenSSL, about connections that failed
  std::shared_ptr<PahoWaker> waker_ = PahoWaker::shared();
};

// The time that MQTT sessions count in: the steady clock of this machine.
[[nodiscard]] inline Duration steady_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

// "0x87 (Not authorized)", as the MQTT specification writes and names reason codes.
[[nodiscard]] std::string reason_text(int reason_code);

}  // namespace fencepost::endpoint
