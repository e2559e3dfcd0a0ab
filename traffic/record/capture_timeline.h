// What the messages of a capture were: requests with their replies, notifications, ends of
// connections, in an order in which the store may have handled them.
//
// A reply belongs to the request whose response topic and correlation data it has. Where the order
// of handling is not known, exchanges are in that of their responses. A notification comes after
// the exchange that caused it, also when it was seen before. Pure and thread safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "traffic/record/capture.h"

namespace fencepost::record {

struct TimelineItem {
  enum class Kind { kExchange, kNotification, kDisconnection };
  Kind kind = Kind::kExchange;
  std::string client_id{};
  bool client_known = true;
  const codec::Message* message = nullptr;  // request or notification; the capture's
  const codec::Message* reply = nullptr;    // null: none was seen
  std::string key{};                        // notification: of this key
  std::chrono::microseconds sent{0};        // or when the notification was seen
  std::chrono::microseconds received{0};    // without a reply: when the capture ended
  bool reply_unknown = false;               // there is none, or it was not seen
  bool overlaps = false;  // with another client's exchange, whose place is therefore not sure
  bool by_store = false;  // the store ended the connection
  // Replies beside the first, where none can be the broker's that it has sent again.
  std::size_t more_replies = 0;
};

struct Timeline {
  std::vector<TimelineItem> items{};
  std::size_t strange_messages = 0;  // to clients: neither notifications nor replies to requests
};

// The pointers in it live as long as the capture.
[[nodiscard]] Timeline timeline_of(const Capture& capture);

// Is the next that happens to the client of this item the end of its connection, by the store?
[[nodiscard]] bool ends_connection(const std::vector<const TimelineItem*>& items,
                                   std::size_t index);

}  // namespace fencepost::record
