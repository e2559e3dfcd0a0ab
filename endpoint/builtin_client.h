// Connections over a client of our own: wire/ for the packets, one thread for all of an endpoint's
// connections. docs/decisions/0019-own-client.md has the figures. Private to endpoint/.
#pragma once

#include <memory>

#include "endpoint/connector.h"
#include "endpoint/poll_loop.h"
#include "endpoint/tls.h"

namespace fencepost::endpoint {

// At worst, what a broker sends ends its own connection, with Disconnected::text: nothing that
// MQTT 5 forbids is taken, and of what is not read only so much is kept.
class BuiltinConnector final : public Connector {
 public:
  // `options` must outlive the connector, and it its clients.
  explicit BuiltinConnector(const MqttOptions& options) : options_(options) {}

  [[nodiscard]] Result<std::unique_ptr<Client>, Error> connect(
      const ClientOptions& options) override;

 private:
  const MqttOptions& options_;
  TlsContexts contexts_;
  PollLoop loop_;
};

}  // namespace fencepost::endpoint
