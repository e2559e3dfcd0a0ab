// An endpoint with a limit of messages sent per second, over all its clients.
#pragma once

#include <memory>

#include "endpoint/endpoint.h"

namespace fencepost::endpoint {

// `endpoint` must outlive the result, which is as thread safe as `endpoint`. publish() waits until
// the message's turn has come. `per_second` is greater than 0.
[[nodiscard]] std::unique_ptr<Endpoint> limit_rate(Endpoint& endpoint, double per_second);

}  // namespace fencepost::endpoint
