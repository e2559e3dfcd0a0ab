#include "traffic/record/capture_pcap.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "codec/topics.h"
#include "endpoint/wire/messages.h"

namespace fencepost::record {

using wire::PropertyId;

void PcapMessages::add(const TcpEvent& event) {
  Connection& connection = connections_[event.connection];
  switch (event.kind) {
    case TcpEvent::Kind::kOpened:
      return;
    case TcpEvent::Kind::kBytes:
      connection.has_bytes = true;
      if (!connection.older) read(event, connection);
      return;
    case TcpEvent::Kind::kLost: {
      // What a connection began with is not needed. Else a reply may be among it.
      if (connection.has_bytes) ++gaps_;
      (event.to_broker ? connection.up : connection.down) = {.in_step = false};
      return;
    }
    case TcpEvent::Kind::kEnding:
    case TcpEvent::Kind::kClosed:
      return end(event, connection);
  }
}

void PcapMessages::read(const TcpEvent& event, Connection& connection) {
  Flow& flow = event.to_broker ? connection.up : connection.down;
  const bool was_in_step = flow.in_step;
  if (!was_in_step) flow.reader = wire::PacketReader(kLargestPacket);
  flow.reader.add(event.bytes);
  while (auto packet = flow.reader.next()) {
    flow.in_step = packet->packet.has_value();
    if (flow.in_step) {
      take(event, connection, std::move(*packet->packet));
      continue;
    }
    connection.older = packet->packet.error().reason == wire::kOlderVersion;
    if (connection.older) {
      ++older_;
      return;
    }
    strange_ += was_in_step ? 1 : 0;
  }
  if (flow.reader.gave_up()) flow.in_step = false;
}

void PcapMessages::take(const TcpEvent& event, Connection& connection, wire::Packet packet) {
  ++packets_;
  if (const auto* connect = std::get_if<wire::Connect>(&packet)) {
    connection.client_id = connect->client_id;
    connection.known = !connect->client_id.empty();
  } else if (const auto* connack = std::get_if<wire::Connack>(&packet)) {
    const auto* assigned = connack->properties.find(PropertyId::kAssignedClientId);
    if (assigned == nullptr) return;
    connection.client_id = assigned->text;
    connection.known = true;
  } else if (auto* message = std::get_if<wire::Publish>(&packet)) {
    publish(event, connection, std::move(*message));
  } else if (std::holds_alternative<wire::Disconnect>(packet)) {
    end(event, connection);
  }
}

void PcapMessages::publish(const TcpEvent& event, Connection& connection, wire::Publish publish) {
  if (const auto alias = publish.properties.number(PropertyId::kTopicAlias)) {
    Flow& flow = event.to_broker ? connection.up : connection.down;
    std::string& topic = flow.topics[*alias];
    if (!publish.topic.empty()) topic = publish.topic;
    publish.topic = topic;
  }
  codec::Message message = wire::message_of(std::move(publish));
  if (message.duplicate) {
    ++repeated_;
    return;
  }
  if (event.to_broker != (message.topic == codec::kRequestTopic)) return;  // none of the store's
  if (!connection.known && message.response_topic) {
    connection.client_id = client_of_response_topic(*message.response_topic);
  }
  // What others subscribe to is no second notification.
  const auto target = codec::parse_notification_topic(message.topic);
  if (target && connection.known && target->client_id != connection.client_id) return;
  const bool reply = !event.to_broker && !target;
  capture_.events.emplace_back(CapturedMessage{
      .direction = event.to_broker ? CaptureDirection::kToStore : CaptureDirection::kToClient,
      .client_id = connection.client_id,
      .client_known = connection.known || reply,
      .time = event.time,
      .message = std::move(message)});
}

void PcapMessages::end(const TcpEvent& event, Connection& connection) {
  if (std::exchange(connection.ended, true) || connection.client_id.empty()) return;
  capture_.events.emplace_back(CapturedConnection{.client_id = connection.client_id,
                                                  .time = event.time,
                                                  .begins = false,
                                                  .by_store = !event.to_broker});
}

Capture PcapMessages::finish() {
  std::vector<std::string>& unknown = capture_.unknown;
  if (packets_ == 0) {
    unknown.push_back(
        fmt::format("the capture has no MQTT 5 to or from port {} (TLS cannot be read)", port_));
  }
  note(unknown, repeated_, "message", "with the DUP flag: left out");
  note(unknown, older_, "connection", "with an older version of MQTT: left out");
  note(unknown, strange_, "malformed packet", "of MQTT 5: left out");
  note(unknown, gaps_, "gap",
       "with missing bytes: messages that were not seen may have been there");
  if (gaps_ > 0) capture_.sees_replies = capture_.sees_notifications = false;
  if (std::any_of(connections_.begin(), connections_.end(), [](const auto& each) {
        return !each.second.known && !each.second.client_id.empty();
      })) {
    unknown.emplace_back(
        "the capture lacks the start of some connections: their client ids are derived from "
        "response topics");
  }
  // What waited for bytes that never arrived was reported late.
  std::stable_sort(capture_.events.begin(), capture_.events.end(),
                   [](const CapturedEvent& one, const CapturedEvent& other) {
                     return time_of(one) < time_of(other);
                   });
  return std::move(capture_);
}

Result<Capture, std::string> read_pcap(const PcapOptions& options) {
  PcapMessages messages(options.port);
  auto notes = read_tcp(options, [&messages](const TcpEvent& event) { messages.add(event); });
  if (!notes) return fail(std::move(notes.error()));
  Capture out = messages.finish();
  // Replies may be in what was not read.
  if (!notes->empty()) out.sees_replies = out.sees_notifications = false;
  for (std::string& each : *notes) out.unknown.push_back(std::move(each));
  return out;
}

}  // namespace fencepost::record
