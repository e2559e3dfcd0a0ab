// Connections through Paho MQTT C++. Private to the module: nothing else knows which client library
// this is.
#pragma once

#include <memory>

#include "endpoint/connector.h"
#include "endpoint/mqtt.h"
#include "endpoint/paho/waker.h"
#include "endpoint/poll_loop.h"
#include "endpoint/tls.h"

namespace fencepost::endpoint {

// Makes connections to one broker. Thread safe.
class PahoConnector final : public Connector {
 public:
  // `options` must outlive the connector, and it its clients.
  explicit PahoConnector(const MqttOptions& options) : options_(options) {}

  [[nodiscard]] Result<std::unique_ptr<Client>, Error> connect(
      const ClientOptions& options) override;

 private:
  const MqttOptions& options_;
  TlsContexts contexts_;
  PollLoop loop_;  // of the relays
  std::shared_ptr<PahoWaker> waker_ = PahoWaker::shared();
};

}  // namespace fencepost::endpoint
