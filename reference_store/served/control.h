// Makes the store wrong, slow and right again while clients use it, where the option `control` is
// on. A client that may publish says so with a message to the control topic; of what it holds, only
// conditions and faults change, and the keys stay:
//
//   mosquitto_rr -V 5 -t fencepost/control -e me/reply -m 'fault nx-overwrites'
//   ->  fault S01, response_delay_ms 0, response_jitter_ms 0, clock_offset_ms 0
//
// The same text is retained at kControlStateTopic. No topic of the protocol begins like these.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reference_store/served/options.h"

namespace fencepost::served {

inline constexpr std::string_view kControlTopic = "fencepost/control";
// For a node of a cluster: "lead", and it serves, no other node any more; "follow", and it ends the
// connections of its clients. The message is acknowledged when that is done, or begins.
inline constexpr std::string_view kClusterTopic = "fencepost/cluster";
inline constexpr std::string_view kControlStateTopic = "fencepost/control/state";

// Changes `options` as the message says: a name of parse_options() and its value, of fault (`none`
// for the conforming store), response_delay_ms, response_jitter_ms and clock_offset_ms; or `state`,
// which changes nothing. Returns what is wrong, and changes nothing then.
[[nodiscard]] std::optional<std::string> apply_control(std::string_view message, Options& options);

// What such messages can change, as it is: "fault none, response_delay_ms 0, ...".
[[nodiscard]] std::string control_state(const Options& options);

}  // namespace fencepost::served
