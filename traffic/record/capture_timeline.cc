#include "traffic/record/capture_timeline.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/notification.h"
#include "codec/topics.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;
using Kind = TimelineItem::Kind;
using ReplyName = std::pair<std::string, std::string>;  // response topic, correlation data

// How long a notification may be seen before the reply to the request that caused it, and how long
// before the request, which some brokers route to subscribers last.
constexpr microseconds kMaxLead = std::chrono::seconds{2};
constexpr microseconds kMaxLeadOfRequest = std::chrono::milliseconds{100};

// An item with its place: where the event was seen by which it is put in order.
struct Placed {
  TimelineItem item;
  std::size_t request_at = 0;
  std::size_t at = 0;
};

class Builder {
 public:
  explicit Builder(const Capture& capture) : capture_(capture) {}

  Timeline run() {
    for (std::size_t i = 0; i < capture_.events.size(); ++i) {
      std::visit([&](const auto& event) { add(event, i); }, capture_.events[i]);
    }
    match_early_replies();
    finish_unanswered();
    mark_overlaps();
    std::stable_sort(placed_.begin(), placed_.end(),
                     [](const Placed& a, const Placed& b) { return a.at < b.at; });
    move_early_notifications();
    for (Placed& placed : placed_) out_.items.push_back(std::move(placed.item));
    out_.strange_messages += early_.size();
    return std::move(out_);
  }

 private:
  struct Early {
    const CapturedMessage* message;
    std::size_t at;
  };

  void add(const CapturedConnection& connection, std::size_t at) {
    if (connection.begins) return;
    placed_.push_back({.item = {.kind = Kind::kDisconnection,
                                .client_id = connection.client_id,
                                .sent = connection.time,
                                .received = connection.time,
                                .by_store = connection.by_store},
                       .request_at = at,
                       .at = at});
  }

  void add(const CapturedMessage& message, std::size_t at) {
    if (message.direction == CaptureDirection::kToStore) {
      add_request(message, at);
    } else if (auto target = codec::parse_notification_topic(message.message.topic)) {
      placed_.push_back({.item = {.kind = Kind::kNotification,
                                  .client_id = std::move(target->client_id),
                                  .message = &message.message,
                                  .key = std::move(target->key),
                                  .sent = message.time,
                                  .received = message.time},
                         .request_at = at,
                         .at = at});
    } else if (!match(message, at)) {
      early_.push_back({&message, at});
    }
  }

  void add_request(const CapturedMessage& message, std::size_t at) {
    const codec::Message& request = message.message;
    std::string client = message.client_id;
    bool known = message.client_known && !client.empty();
    if (client.empty() && request.response_topic) {
      client = client_of_response_topic(*request.response_topic);
    }
    if (request.response_topic && request.correlation_data) {
      open_[{*request.response_topic, *request.correlation_data}].push_back(placed_.size());
    }
    placed_.push_back({.item = {.client_id = std::move(client),
                                .client_known = known,
                                .message = &request,
                                .sent = message.time,
                                .received = message.time},
                       .request_at = at,
                       .at = at});
  }

  bool match(const CapturedMessage& reply, std::size_t at) {
    if (!reply.message.correlation_data) return false;
    const auto open = open_.find({reply.message.topic, *reply.message.correlation_data});
    if (open == open_.end()) return false;
    if (open->second.empty()) return is_doubled(open->first);
    answered_[open->first] = open->second.front();
    Placed& request = placed_[open->second.front()];
    open->second.pop_front();
    request.item.reply = &reply.message;
    request.item.received = std::max(reply.time, request.item.sent);
    request.item.sent = std::min(reply.time, request.item.sent);
    if (!capture_.in_order) request.at = at;
    return true;
  }

  // Only where messages are seen as the store publishes them: a broker may send one again.
  bool is_doubled(const ReplyName& name) {
    const auto answered = answered_.find(name);
    if (!capture_.in_order || !capture_.sees_replies || answered == answered_.end()) return false;
    ++placed_[answered->second].item.more_replies;
    return true;
  }

  // A subscriber may see the reply before the request.
  void match_early_replies() {
    std::erase_if(early_, [&](const Early& early) { return match(*early.message, early.at); });
  }

  void finish_unanswered() {
    microseconds end{0};  // packets of several queues may be in another order than their times
    for (const CapturedEvent& event : capture_.events) end = std::max(end, time_of(event));
    std::map<std::string, std::size_t> last;  // of each client
    for (const Placed& placed : placed_) {
      std::size_t& at = last[placed.item.client_id];
      at = std::max(at, placed.at);
    }
    for (Placed& placed : placed_) {
      TimelineItem& item = placed.item;
      if (item.kind != Kind::kExchange || item.reply != nullptr) continue;
      item.received = end;
      item.reply_unknown = !capture_.sees_replies || last[item.client_id] == placed.request_at;
    }
  }

  void mark_overlaps() {
    if (capture_.in_order) return;
    std::vector<TimelineItem*> exchanges;
    for (Placed& placed : placed_) {
      if (placed.item.kind == Kind::kExchange && placed.item.reply != nullptr) {
        exchanges.push_back(&placed.item);
      }
    }
    std::sort(exchanges.begin(), exchanges.end(),
              [](const TimelineItem* a, const TimelineItem* b) { return a->sent < b->sent; });
    TimelineItem* latest = nullptr;  // the one of those before that was answered last
    for (TimelineItem* item : exchanges) {
      if (latest != nullptr && item->sent < latest->received &&
          item->client_id != latest->client_id) {
        item->overlaps = latest->overlaps = true;
      }
      if (latest == nullptr || item->received > latest->received) latest = item;
    }
  }

  static bool caused(const TimelineItem& exchange, const TimelineItem& notification) {
    const auto command = codec::parse_command(exchange.message->payload,
                                              codec::dialect(codec::DialectId::kDeployed));
    if (!command || command->key != notification.key || exchange.reply == nullptr) return false;
    const auto decoded = codec::decode_notification(notification.message->payload);
    if (decoded && decoded->operation == codec::Operation::kSet) {
      const std::string* version = notification.message->property(codec::kTimestampProperty);
      const std::string* given = exchange.reply->property(codec::kTimestampProperty);
      return command->verb == codec::Verb::kSet && version != nullptr && given != nullptr &&
             *version == *given && command->value == decoded->value;
    }
    const bool removes = codec::removes(command->verb);
    return removes && exchange.reply->payload.starts_with(":1");
  }

  // Puts notifications that were seen before the exchange that caused them behind it.
  void move_early_notifications() {
    if (capture_.in_order) return;
    for (std::size_t i = placed_.size(); i-- > 0;) {
      if (placed_[i].item.kind != Kind::kNotification) continue;
      if (has_earlier_cause(i)) continue;
      const auto cause = later_cause(i);
      if (!cause) continue;
      const auto begin = placed_.begin();
      std::rotate(begin + static_cast<std::ptrdiff_t>(i),
                  begin + static_cast<std::ptrdiff_t>(i + 1),
                  begin + static_cast<std::ptrdiff_t>(*cause + 1));
    }
  }

  // An exchange that no earlier notification stands for.
  [[nodiscard]] bool has_earlier_cause(std::size_t index) const {
    const TimelineItem& notification = placed_[index].item;
    for (std::size_t i = index; i-- > 0;) {
      const TimelineItem& item = placed_[i].item;
      if (item.kind == Kind::kNotification && item.client_id == notification.client_id &&
          item.key == notification.key) {
        return false;
      }
      if (item.kind == Kind::kExchange && caused(item, notification)) return true;
    }
    return false;
  }

  [[nodiscard]] std::optional<std::size_t> later_cause(std::size_t index) const {
    const TimelineItem& notification = placed_[index].item;
    for (std::size_t i = index + 1; i < placed_.size(); ++i) {
      const TimelineItem& item = placed_[i].item;
      if (item.sent > notification.sent + kMaxLead) break;
      const bool asked =
          placed_[i].request_at < placed_[index].at ||
          (!capture_.sees_packets && item.sent <= notification.sent + kMaxLeadOfRequest);
      if (asked && item.kind == Kind::kExchange && caused(item, notification)) {
        return i;
      }
    }
    return std::nullopt;
  }

  const Capture& capture_;
  Timeline out_;
  std::vector<Placed> placed_;
  std::map<ReplyName, std::deque<std::size_t>> open_;
  std::map<ReplyName, std::size_t> answered_;  // the request that was last
  std::vector<Early> early_;
};

}  // namespace

Timeline timeline_of(const Capture& capture) { return Builder(capture).run(); }

bool ends_connection(const std::vector<const TimelineItem*>& items, std::size_t index) {
  for (std::size_t i = index + 1; i < items.size(); ++i) {
    if (items[i]->client_id != items[index]->client_id) continue;
    return items[i]->kind == TimelineItem::Kind::kDisconnection && items[i]->by_store;
  }
  return false;
}

}  // namespace fencepost::record
