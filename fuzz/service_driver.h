// Runs raw messages through the Service, and holds what comes out against the naive model: one
// response or none, byte for byte; notifications; state; and another client is still served.
//
//   if (std::optional<std::string> difference = drive_service(bytes)) report(*difference);
//
// Input: a byte that chooses the dialect, then messages of: a byte for QoS, response topic and
// correlation data; a byte for client, number of user properties, and whether time passes before;
// the properties, each a name and a value of a table or free; a payload of a table, or its length
// in two bytes and its bytes. See docs/FUZZING.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fencepost::fuzz {

// What is wrong first, with the message; nothing when all is right. Pure.
[[nodiscard]] std::optional<std::string> drive_service(std::string_view bytes);

}  // namespace fencepost::fuzz
