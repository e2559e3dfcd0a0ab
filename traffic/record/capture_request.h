// A captured request as a step of a case. Pure.
#pragma once

#include <map>
#include <string>

#include "codec/message.h"
#include "suite/scenario/scenario.h"
#include "traffic/record/capture_keys.h"

namespace fencepost::record {

// What is sent, and the members of the PUBLISH that are not as they usually are; client,
// timestamps, mark and expectation are the caller's to fill in. `key_names`: the case's name for
// each key. `sees_packets`: QoS and flags are those that the client has sent.
[[nodiscard]] scenario::RequestStep request_step(
    const codec::Message& message, const ReadExchange& exchange,
    const std::map<std::string, std::string>& key_names, bool sees_packets);

// Bytes as a case holds them.
[[nodiscard]] scenario::BytesSpec bytes_of(std::string_view bytes);

}  // namespace fencepost::record
