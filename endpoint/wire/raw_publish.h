// PUBLISH packets that no client library sends: properties twice, lengths that are wrong, QoS 3.
// For cases about what a broker makes of them. Pure.
//
//   wire::RawPublish odd{.packet = {.qos = 1, .packet_id = 7, .topic = "t"}};
//   odd.more_properties = wire::encode({.id = wire::PropertyId::kTopicAlias, .number = 0});
//   auto bytes = wire::encode(odd);
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "endpoint/wire/packet.h"

namespace fencepost::wire {

struct RawPublish {
  Publish packet{};               // its QoS may be 3
  std::string more_properties{};  // bytes behind its properties, which their length counts
  // What the length of the properties says too much, or too little. Below 0 it becomes 0.
  std::int32_t wrong_length = 0;
};

// The bytes of one property. Legal when its text is no longer than a text may be.
[[nodiscard]] std::string encode(const Property& property);

// The bytes. Without raw parts they are those of `packet`. The error says what has no place in any
// packet: a text that is too long.
[[nodiscard]] Result<std::string, std::string> encode(const RawPublish& odd);

}  // namespace fencepost::wire
