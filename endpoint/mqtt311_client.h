// A client that speaks MQTT 3.1.1, for the cases about what a store makes of it. Private to
// endpoint/.
#pragma once

#include <memory>

#include "endpoint/connector.h"
#include "endpoint/stream.h"

namespace fencepost::endpoint {

// Sends the CONNECT and waits for the CONNACK. kNotAllowed when the broker refuses it or ends the
// connection instead. See ClientOptions::mqtt_3_1_1.
[[nodiscard]] Result<std::unique_ptr<Client>, Error> connect_mqtt311_client(
    std::unique_ptr<Stream> stream, const ClientOptions& options, const Credentials& credentials,
    Duration timeout);

}  // namespace fencepost::endpoint
