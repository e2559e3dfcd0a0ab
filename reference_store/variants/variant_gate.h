// What a variant does with a request before it reads the payload: MQTT properties and topics. Pure.
#pragma once

#include <string_view>

#include "codec/message.h"
#include "reference_store/variants/choices.h"

namespace fencepost::store {

enum class Gate { kServe, kSilence, kError, kDisconnect, kServeAndDisconnect };

// The status of a request that is carried out.
inline constexpr std::string_view kExecuted = "200";

[[nodiscard]] Gate gate_of(const codec::Message& request, const Decisions& is);

// The `__stat` of the response: with any other than kExecuted the request is not carried out.
[[nodiscard]] std::string_view status_of(const codec::Message& request, const Decisions& is);

}  // namespace fencepost::store
