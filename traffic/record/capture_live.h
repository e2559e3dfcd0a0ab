// Records requests, responses and notifications of the other clients of a broker, as a subscriber.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "endpoint/endpoint.h"
#include "traffic/record/capture.h"

namespace fencepost::record {

struct LiveCaptureOptions {
  std::string client_id{};
  std::vector<std::string> filters{};  // further subscriptions, e.g. to response topics
  std::optional<std::chrono::milliseconds> time{};  // nothing: until it is stopped
};

struct LiveCapture {
  Capture capture{};
  std::optional<endpoint::Error> lost{};  // the connection, before the end; the capture holds what
                                          // came until then
};

// Subscribes to the request topic, and to as many of the topics of replies and notifications as it
// may; response topics that it learns of are added. `watch` is called from time to time, and
// `ready` when the first subscriptions are in force. An error when it may not even see requests.
[[nodiscard]] Result<LiveCapture, endpoint::Error> capture_live(
    endpoint::Endpoint& endpoint, const LiveCaptureOptions& options, const std::atomic<bool>& stop,
    const std::function<void()>& ready, const std::function<void(const Capture&)>& watch);

}  // namespace fencepost::record
