// The MQTT message that a step of a case sends.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "codec/message.h"
#include "suite/run/case_state.h"
#include "suite/run/failure.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// The beginning of the message of a case that was skipped because the endpoint takes no packet of
// such a size: a client must not send more than the broker's CONNACK allows (MQTT 5, 3.2.2.3.6).
inline constexpr std::string_view kTooLargeToSend = "this case sends a packet of";
// What becomes of such a case. Sizes in bytes.
[[nodiscard]] Problem too_large_to_send(std::size_t size, std::size_t limit);

// Resolves keys, timestamps and fillings as they are now. The error says why the step cannot be
// sent: the endpoint takes no packet of that size, or no such timestamp can be written. Fillings
// that were made are kept in `state`, for later steps that send them again.
[[nodiscard]] Result<codec::Message, Problem> build_request(const scenario::RequestStep& step,
                                                            RequestClient& from, CaseState& state);

// What the step says of the packet of this message, which build_request() has made.
[[nodiscard]] std::optional<endpoint::RawPacket> raw_packet(const scenario::RequestStep& step,
                                                            const codec::Message& message);

}  // namespace fencepost::run
