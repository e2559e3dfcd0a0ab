// Runs raw messages through the Service, and holds what comes out against the naive model: one
// response or none, byte for byte; notifications; state; and another client is still served.
//
//   if (std::optional<std::string> difference = drive_service(bytes)) complain(*difference);
//
// Input: a byte that chooses the dialect, then messages of: a byte for QoS, response topic and
// correlation data; a byte for client, number of user properties, and whether time passes before;
// the properties, each a name and a value of a table or free; a payload of a table, or its length
// in two bytes and its bytes. See docs/FUZZING.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference_store/rules.h"
#include "workload/operation.h"

namespace fencepost::fuzz {

// A message as the input spells it.
struct RawMessage {
  bool disconnect = false;  // no message: the client's connection ends
  unsigned client = 0;      // 0 to 3
  unsigned envelope = 0;    // % 8: QoS; % 16: correlation data; / 8: response topic; below 248
  unsigned wait = 0;        // 0 to 7: the time that passes before
  // At most seven: `__ts` is name 0 and `__ft` name 1; at most 63 bytes of text.
  std::vector<std::pair<unsigned, std::string>> properties{};
  std::string payload{};  // below 32 KiB
};

// Its bytes, for seeds and tests.
[[nodiscard]] std::string encode(const RawMessage& message);

// The requests, waits and disconnections of a trace as an input: seeds for one target are seeds for
// the other. Waits become the next longer one that there is.
[[nodiscard]] std::string service_input(const workload::Trace& trace);

// What is wrong first, with the message; nothing when all is right. `rules`: those of
// the store; a test breaks one of them. Pure.
[[nodiscard]] std::optional<std::string> drive_service(std::string_view bytes,
                                                       const store::Rules& rules = {});

}  // namespace fencepost::fuzz
