// Traffic of other clients, as it was seen: by the broker's plugin, by a subscriber, or on the
// network. What is not known is said, not guessed. capture_scenario.h makes scenarios of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/message.h"
#include "suite/judge/store_clock.h"

namespace fencepost::record {

enum class CaptureDirection { kToStore, kToClient };

struct CapturedMessage {
  CaptureDirection direction = CaptureDirection::kToStore;
  // Empty: not known. kToClient: a reply belongs to the request with its topic and correlation
  // data.
  std::string client_id{};
  bool client_known = true;           // false: the id is derived from the response topic
  std::chrono::microseconds time{0};  // our wall clock, since the Unix epoch
  codec::Message message{};
};

struct CapturedConnection {
  std::string client_id{};
  std::chrono::microseconds time{0};
  bool begins = false;    // else it ends
  bool by_store = false;  // the end: the store, or its broker, has ended it
};

using CapturedEvent = std::variant<CapturedMessage, CapturedConnection>;

struct Capture {
  std::vector<CapturedEvent> events{};  // as they were seen
  bool from_start = false;              // the store was empty, and no client observed a key
  // Requests are in the order in which the store has handled them. Else that of the replies is the
  // best that is known.
  bool in_order = false;
  // What was not seen has not happened: replies, notifications.
  bool sees_replies = false;
  bool sees_notifications = false;
  bool sees_packets = false;                  // QoS and flags are those that the client has sent
  std::optional<judge::ClockBounds> clock{};  // the store's wall clock minus ours, when it is known
  std::vector<std::string> unknown{};         // for people: what else is not known
};

[[nodiscard]] std::chrono::microseconds time_of(const CapturedEvent& event);

// The client that a response topic names, if it is of the form `clients/{id}/...`; else the topic.
[[nodiscard]] std::string client_of_response_topic(std::string_view topic);

}  // namespace fencepost::record
