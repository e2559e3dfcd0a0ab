// Loads the module with the client of `--driver paho`. Private to endpoint/.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "endpoint/connector.h"
#include "endpoint/mqtt.h"

namespace fencepost::endpoint {

// Never null. `options` must outlive the connector. The error says which file is missing, cannot be
// loaded or is of another build, and what to do about it. Thread safe.
[[nodiscard]] Result<std::unique_ptr<Connector>, std::string> make_paho_connector(
    const MqttOptions& options);

// The same error; empty: the module can be used.
[[nodiscard]] std::string paho_error();

}  // namespace fencepost::endpoint
