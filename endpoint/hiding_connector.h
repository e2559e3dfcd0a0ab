// Connections on which no password of ours is echoed: what a broker or a store puts of one into
// a message or an error text is as many stars, before anything is judged, recorded or printed.
// Private to endpoint/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "endpoint/connector.h"

namespace fencepost::endpoint {

// The passwords in `options` that can be hidden: with at least four bytes, and with fewer than
// eight not a word of letters alone, which could stand anywhere.
[[nodiscard]] std::vector<std::string> secrets_to_hide(const MqttOptions& options);

// `connector` itself where there are no secrets. When a client publishes a secret itself, as a key
// or a value say, nothing is hidden from then on: a right answer has to stay one.
[[nodiscard]] std::unique_ptr<Connector> hide_secrets(std::unique_ptr<Connector> connector,
                                                      std::vector<std::string> secrets);

}  // namespace fencepost::endpoint
