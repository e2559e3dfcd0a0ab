// Which requirement the reply to a captured request stands for. Pure.
#pragma once

#include <string_view>

#include "codec/message.h"
#include "conformance/record/capture_keys.h"

namespace fencepost::record {

// `key`: of the request, as it was before.
[[nodiscard]] std::string_view requirement_of(const ReadExchange& exchange,
                                              const codec::Message& request, const KeyNow& key);

}  // namespace fencepost::record
