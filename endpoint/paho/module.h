// The MQTT client of `--driver paho`, in a module that is loaded on request: no other run loads
// Paho, or needs it installed. Program and module are of one build.
#pragma once

#include <memory>

#include "endpoint/cancellation.h"
#include "endpoint/connector.h"
#include "endpoint/mqtt.h"

namespace fencepost::endpoint {

inline constexpr const char* kPahoModule = "fencepost_paho.so";

// What the module shows as `fencepost_paho_module`.
struct PahoModule {
  // Says what both sides agree on, and comes first: of a module that says something else nothing
  // more is read.
  const char* interface;
  // Never null. `options` must outlive the connector; `waits` are those of the program.
  std::unique_ptr<Connector> (*make_connector)(const MqttOptions& options, Cancellation& waits);
};

// The version, the compiler and what is in the headers that both sides include.
inline constexpr const char* kPahoInterface = FENCEPOST_PAHO_INTERFACE;

}  // namespace fencepost::endpoint
