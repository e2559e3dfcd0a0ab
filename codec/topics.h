// The topics of the protocol, and which response topics a request may name. Pure and thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fencepost::codec {

// Where requests are published. (Req: ENV-TOPIC-1)
inline constexpr std::string_view kRequestTopic =
    "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke";

// Topics that begin like this belong to the store. (Req: ENV-RESPONSE-TOPIC-3)
inline constexpr std::string_view kStorePrefix =
    "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8";

// An MQTT string, so also a topic, has at most this many bytes.
inline constexpr std::size_t kMaxTopicBytes = 65535;

// The response topic that the article recommends for a client.
[[nodiscard]] std::string recommended_response_topic(std::string_view client_id);

// Where the store publishes changes of `key` for a client: both are in upper-case Base16. (Req:
// NTF-TOPIC-1) Nothing when the topic would be longer than kMaxTopicBytes.
[[nodiscard]] std::optional<std::string> notification_topic(std::string_view client_id,
                                                            std::string_view key);

// Is there such a topic? Does not spell it, so that it costs nothing.
[[nodiscard]] bool has_notification_topic(std::string_view client_id, std::string_view key);

// The subscription that covers every notification of a client: `.../{client}/command/notify/+`.
[[nodiscard]] std::string notification_filter(std::string_view client_id);

struct NotificationTarget {
  std::string client_id;
  std::string key;

  friend bool operator==(const NotificationTarget&, const NotificationTarget&) = default;
};

// The reverse of notification_topic(); nothing when the topic is not exactly of that form.
[[nodiscard]] std::optional<NotificationTarget> parse_notification_topic(std::string_view topic);

enum class ResponseTopicFault {
  kEmpty,
  kIsRequestTopic,  // the request topic itself
  kHasStorePrefix,  // begins with kStorePrefix
  kWildcard,        // + or #: not a topic that one can publish to
  kReservedPrefix,  // begins with $: the broker's own topics
  kBadCharacter,    // NUL
  kTooLong,
};

// Does a subscription to `filter` cover `topic`? MQTT 5 section 4.7: `+` stands for one level, a
// final `#` for the rest, and neither matches a first level that begins with `$`.
[[nodiscard]] bool filter_matches(std::string_view filter, std::string_view topic);

// Why a response topic is not legal, or nothing when it is. (Req: ENV-RESPONSE-TOPIC-2, -3)
[[nodiscard]] std::optional<ResponseTopicFault> response_topic_fault(std::string_view topic);

}  // namespace fencepost::codec
