// Which requirement the reply to a captured request stands for, or that there is none. Pure.
#pragma once

#include <string_view>

#include "traffic/record/capture_keys.h"
#include "traffic/record/capture_timeline.h"

namespace fencepost::record {

// `key`: of the request, as it was before.
[[nodiscard]] std::string_view requirement_of(const TimelineItem& item,
                                              const ReadExchange& exchange, const KeyNow& key);

}  // namespace fencepost::record
