// Connections through Paho MQTT C++. Private to endpoint/: nothing else knows which client library
// this is.
#pragma once

#include <atomic>
#include <memory>

#include "endpoint/connector.h"
#include "endpoint/mqtt.h"
#include "endpoint/paho_waker.h"

namespace fencepost::endpoint {

// Makes connections to one broker. Thread safe.
class PahoConnector final : public Connector {
 public:
  // `options` must outlive the connector.
  explicit PahoConnector(const MqttOptions& options);

  [[nodiscard]] Result<std::unique_ptr<Client>, Error> connect(
      const ClientOptions& options) override;

 private:
  const MqttOptions& options_;
  std::atomic<int> questions_{0};  // to OpenSSL, about connections that failed
  std::shared_ptr<PahoWaker> waker_ = PahoWaker::shared();
};

}  // namespace fencepost::endpoint
