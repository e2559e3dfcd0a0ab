#include "endpoint/paho/module.h"

#include "endpoint/paho/client.h"

namespace fencepost::endpoint {
namespace {

std::unique_ptr<Connector> make_connector(const MqttOptions& options, Cancellation& waits) {
  share_cancellation(waits);
  return std::make_unique<PahoConnector>(options);
}

}  // namespace
}  // namespace fencepost::endpoint

// The name for dlsym().
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

extern const fencepost::endpoint::PahoModule fencepost_paho_module;
const fencepost::endpoint::PahoModule fencepost_paho_module{
    .interface = fencepost::endpoint::kPahoInterface,
    .make_connector = fencepost::endpoint::make_connector};

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
