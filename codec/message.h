// An MQTT 5 application message, as far as the protocol cares: the one type in which messages
// travel between an endpoint, the reference store and the suite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fencepost::codec {

// User properties of the protocol.
inline constexpr std::string_view kTimestampProperty = "__ts";
inline constexpr std::string_view kTokenProperty = "__ft";
inline constexpr std::string_view kStatusProperty = "__stat";

inline constexpr std::string_view kContentType = "application/octet-stream";

struct Message {
  std::string topic{};
  std::string payload{};
  int qos = 1;
  bool retain = false;
  bool duplicate = false;  // MQTT's DUP flag: may have been delivered before
  std::optional<std::string> response_topic{};
  std::optional<std::string> correlation_data{};  // binary; empty is not absent
  std::optional<std::string> content_type{};
  std::optional<std::uint8_t> payload_format{};
  std::optional<std::uint32_t> expiry_seconds{};
  std::vector<std::pair<std::string, std::string>> user_properties{};  // in order, repeats kept

  // The value of the last user property of that name, as the client SDKs read repeats; null when
  // there is none. The pointer lives until user_properties changes.
  [[nodiscard]] const std::string* property(std::string_view name) const {
    const std::string* found = nullptr;
    for (const auto& [key, value] : user_properties) {
      if (key == name) found = &value;
    }
    return found;
  }

  // All but the user properties, with at most `most` bytes of the payload. Not a copy that is cut,
  // which would keep the room of the whole.
  [[nodiscard]] Message head(std::size_t most) const {
    return {.topic = topic,
            .payload = payload.substr(0, most),
            .qos = qos,
            .retain = retain,
            .duplicate = duplicate,
            .response_topic = response_topic,
            .correlation_data = correlation_data,
            .content_type = content_type,
            .payload_format = payload_format,
            .expiry_seconds = expiry_seconds};
  }

  friend bool operator==(const Message&, const Message&) = default;
};

}  // namespace fencepost::codec
