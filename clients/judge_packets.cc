// Packets of QoS 1, both ways: identifiers, DUP, PUBACKs.
#include <algorithm>

#include "base/bytes.h"
#include "clients/judge_work.h"
#include "codec/message.h"
#include "hlc/hlc.h"

namespace fencepost::clients {
namespace {

using wire::PropertyId;

// How long a client may take to acknowledge while it continues sending.
constexpr Time kMaxSilence = std::chrono::seconds(30);
constexpr std::size_t kMaxOwed = 100'000;
constexpr std::size_t kMaxContents = 10'000;  // of a client
constexpr std::uint8_t kFirstRefusal = 0x80;

void append_text(std::string& out, std::string_view text) {
  out += std::to_string(text.size()) + ':';
  out += text;
}

std::string packet_with(std::uint16_t identifier) {
  return "a PUBLISH with the identifier " + std::to_string(identifier);
}

}  // namespace

std::uint64_t content_hash(const wire::Publish& publish) {
  std::string all;
  append_text(all, publish.payload);
  for (const wire::Property& each : publish.properties.all()) {
    // The rest of its life becomes shorter while it waits; an alias is of one connection.
    if (each.id == PropertyId::kMessageExpiry || each.id == PropertyId::kTopicAlias) continue;
    all += std::to_string(static_cast<unsigned>(each.id)) + '=' + std::to_string(each.number);
    append_text(all, each.text);
    append_text(all, each.value);
  }
  return stable_hash(all);
}

void Judge::Work::check_new_identifier(const Seen& seen, std::uint16_t packet_id) {
  ConnectionState& connection = seen.connection;
  connection.least_new_id = std::min(connection.least_new_id, packet_id);
  const auto sent = connection.client->sent.find(packet_id);
  const bool waits = sent != connection.client->sent.end() && !sent->second.acknowledged &&
                     sent->second.connection == connection.number;
  if (!waits && !connection.subscribing.contains(packet_id) &&
      !connection.unsubscribing.contains(packet_id)) {
    return;
  }
  find(seen, rule("MQTT-2.2.1-3"),
       "a new packet with the identifier " + std::to_string(packet_id) +
           ", which still waits for its acknowledgement");
}

// Those of a connection before come again in their order. (4.6.0-1)
void Judge::Work::check_resend(const Seen& seen, const SentPacket& packet,
                               std::uint16_t packet_id) {
  if (packet.order < seen.connection.last_resent) {
    find(seen, rule("MQTT-4.6.0-1"),
         packet_with(packet_id) + " again, after a packet that was first sent after it");
  }
  seen.connection.last_resent = std::max(seen.connection.last_resent, packet.order);
}

bool Judge::Work::check_identifier(const Seen& seen, const wire::Publish& publish) {
  if (publish.qos == 0) return false;
  ClientState& client = *seen.connection.client;
  const std::uint64_t content = content_hash(publish);
  const auto found = client.sent.find(publish.packet_id);
  bool again = false;
  if (found == client.sent.end() || found->second.acknowledged) {
    // One whose PUBACK was lost with the connection is here, acknowledged, and may come again. And
    // a connection that has failed before it came to us may have had it.
    // The first connection of a client cannot.
    const bool nothing_before = client.connections == 1 || seen.connection.connect->clean_start;
    const bool is_first = nothing_before && saw_all_ && all_named_ &&
                          client.contents.size() < kMaxContents &&
                          !client.contents.contains(content);
    again = publish.duplicate && !(is_first && found == client.sent.end());
    if (publish.duplicate && !again) {
      find(seen, rule("MQTT-4.3.2-2"),
           packet_with(publish.packet_id) + ", with DUP, though it is sent for the first time");
    }
    const bool same_connection =
        found != client.sent.end() && found->second.connection == seen.connection.number;
    if (publish.duplicate && same_connection) {
      find(seen, rule("MQTT-4.4.0-1"),
           packet_with(publish.packet_id) + " again, with DUP, after its PUBACK");
    }
  } else if (found->second.connection == seen.connection.number) {
    again = content == found->second.content;
    if (again) {
      find(seen, rule("MQTT-4.4.0-1"),
           packet_with(publish.packet_id) + " again on the same connection");
    } else {
      find(seen, rule("MQTT-2.2.1-3"),
           "another PUBLISH with the identifier " + std::to_string(publish.packet_id) +
               ", which still waits for its PUBACK");
    }
  } else if (content == found->second.content) {
    again = true;
    check_resend(seen, found->second, publish.packet_id);
    if (!publish.duplicate) {
      find(seen, rule("MQTT-3.3.1-1"),
           packet_with(publish.packet_id) + " again after a reconnect, without DUP");
    }
  } else if (publish.duplicate) {
    again = true;
    find(seen, rule("MQTT-4.4.0-1"),
         packet_with(publish.packet_id) + " again, with DUP but with other content");
  } else {
    // A client that was restarted has lost it.
    find_all(seen, {{&rule("MQTT-2.2.1-3"),
                     "another PUBLISH with the identifier " + std::to_string(publish.packet_id) +
                         ", which still waits for its PUBACK on the previous connection",
                     false}});
  }
  const bool waits = found != client.sent.end() && !found->second.acknowledged &&
                     found->second.connection == seen.connection.number;
  if (!waits) ++seen.connection.unacknowledged;
  if (client.contents.size() < kMaxContents) client.contents.insert(content);
  const std::uint64_t order =
      again && found != client.sent.end() ? found->second.order : ++sent_packets_;
  if (!again) {
    seen.connection.least_new_id = std::min(seen.connection.least_new_id, publish.packet_id);
  }
  client.sent[publish.packet_id] = {
      .connection = seen.connection.number,
      .content = content,
      .order = order,
      .expires = publish.properties.find(PropertyId::kMessageExpiry) != nullptr};
  return again;
}

void Judge::Work::check_limits(const Seen& seen, const wire::Publish& publish) {
  if (seen.connection.unacknowledged > seen.connection.announced.receive_maximum &&
      publish.qos > 0) {
    find(seen, rule("MQTT-3.3.4-7"),
         std::to_string(seen.connection.unacknowledged) +
             " PUBLISHes wait for their acknowledgement, but the Receive Maximum is " +
             std::to_string(seen.connection.announced.receive_maximum));
  }
  if (publish.properties.find(PropertyId::kSubscriptionId) != nullptr) {
    find(seen, rule("MQTT-3.3.4-6"), "a PUBLISH with a Subscription Identifier");
  }
}

void Judge::Work::on_puback_of_broker(const Seen& seen, const wire::Ack& ack) {
  using enum wire::AckKind;
  if (ack.kind == kPubrec && ack.reason < kFirstRefusal) {
    seen.connection.unreleased.emplace(ack.packet_id, seen.at);
  }
  if (ack.kind == kPubrel) seen.connection.uncompleted.emplace(ack.packet_id, seen.at);
  const bool ends = ack.kind == kPuback || ack.kind == kPubcomp ||
                    (ack.kind == kPubrec && ack.reason >= kFirstRefusal);
  const auto found = seen.connection.client->sent.find(ack.packet_id);
  if (!ends || found == seen.connection.client->sent.end() || found->second.acknowledged) return;
  found->second.acknowledged = true;
  if (found->second.connection == seen.connection.number) --seen.connection.unacknowledged;
  seen.connection.busy_until = seen.at;
  if (ack.reason < kFirstRefusal) return;
  on_refused(seen, packet_with(ack.packet_id), ack.reason);
  for (auto each = requests_.begin(); each != requests_.end();) {
    const bool refused = each->second.connection == seen.connection.number &&
                         each->second.packet_id == ack.packet_id;
    if (refused) seen.connection.unanswered.erase(each->first);
    each = refused ? requests_.erase(each) : std::next(each);
  }
}

void Judge::Work::on_delivered(const Seen& seen, const wire::Publish& publish) {
  ConnectionState& connection = seen.connection;
  const std::string* text = user_property(publish, codec::kTimestampProperty);
  std::optional<hlc::Timestamp> version;
  if (text != nullptr) {
    if (auto parsed = hlc::parse(*text)) version = std::move(*parsed);
  }
  constexpr std::size_t kMaxIssued = 200'000;
  if (version && issued_.size() >= kMaxIssued) issued_all_ = false;
  if (version && issued_all_) issued_.insert(*version);
  const auto request = take_answered(connection, publish, seen.at);
  // The client may no longer wait for a late response.
  constexpr Time kInTime = std::chrono::milliseconds(200);
  const bool in_time =
      request && request->client_id == connection.client->id && seen.at - request->at <= kInTime;
  if (request) on_response(seen, *request, publish, version);
  if (!in_time) version.reset();
  if (publish.qos == 2) {
    connection.client->delivered_qos_2_ids.insert(publish.packet_id);
    connection.unreceived.emplace(publish.packet_id, seen.at);
  }
  if (publish.qos != 1 || connection.owed.size() >= kMaxOwed) return;
  connection.client->delivered_ids.insert(publish.packet_id);
  connection.owed.push_back({publish.packet_id, seen.at, std::move(version)});
}

void Judge::Work::on_ack_of_qos_2(const Seen& seen, const wire::Ack& ack) {
  ClientState& client = *seen.connection.client;
  ConnectionState& connection = seen.connection;
  if (ack.kind == wire::AckKind::kPubrel) {
    const auto sent = client.sent.find(ack.packet_id);
    const bool early = sent != client.sent.end() && sent->second.connection == connection.number &&
                       !connection.unreleased.contains(ack.packet_id) &&
                       !sent->second.acknowledged && !sent->second.released;
    if (early) {
      find(seen, rule("MQTT-4.3.3-4"),
           "a PUBREL with the identifier " + std::to_string(ack.packet_id) + " before its PUBREC");
    }
    connection.unreleased.erase(ack.packet_id);
    if (sent != client.sent.end()) {
      sent->second.released = true;
      return;
    }
  } else {
    (ack.kind == wire::AckKind::kPubrec ? connection.unreceived : connection.uncompleted)
        .erase(ack.packet_id);
    if (client.delivered_qos_2_ids.contains(ack.packet_id)) return;
    if (client.delivered_ids.contains(ack.packet_id)) {
      return find(seen, rule("MQTT-3.3.4-1"),
                  wire::with_article(wire::name(ack)) + " with the identifier " +
                      std::to_string(ack.packet_id) + ", but its PUBLISH has QoS 1");
    }
  }
  // Its PUBLISH may have been sent before the recording began.
  if (!saw_all_) return;
  find(seen, rule("MQTT-2.2.1-5"),
       wire::with_article(wire::name(ack)) + " with the identifier " +
           std::to_string(ack.packet_id) + ", but no PUBLISH has that identifier");
}

void Judge::Work::on_ack_of_client(const Seen& seen, const wire::Ack& ack) {
  if (ack.kind != wire::AckKind::kPuback) return on_ack_of_qos_2(seen, ack);
  ConnectionState& connection = seen.connection;
  auto& owed = connection.owed;
  const auto found = std::find_if(owed.begin(), owed.end(), [&ack](const DeliveredPacket& each) {
    return each.packet_id == ack.packet_id;
  });
  if (found == owed.end()) {
    if (connection.client->delivered_qos_2_ids.contains(ack.packet_id) &&
        !connection.client->delivered_ids.contains(ack.packet_id)) {
      return find(seen, rule("MQTT-3.3.4-1"),
                  "a PUBACK with the identifier " + std::to_string(ack.packet_id) +
                      ", but its PUBLISH has QoS 2");
    }
    if (!connection.client->delivered_ids.contains(ack.packet_id) && owed.size() < kMaxOwed) {
      find(seen, rule("MQTT-2.2.1-5"),
           "a PUBACK with the identifier " + std::to_string(ack.packet_id) +
               ", but no PUBLISH to the client has that identifier");
    }
    return;
  }
  if (found != owed.begin()) {
    find(seen, rule("MQTT-4.6.0-2"),
         "a PUBACK with the identifier " + std::to_string(ack.packet_id) + " before that of " +
             std::to_string(owed.front().packet_id) + ", which was delivered first");
  }
  if (found->version) connection.clock.received(*found->version, seen.at);
  owed.erase(found);
}

void Judge::Work::check_silence(const Seen& seen) {
  ConnectionState& connection = seen.connection;
  if (connection.owed.empty() || connection.reported_silence) return;
  const Time waits = seen.at - connection.owed.front().at;
  if (waits <= kMaxSilence) return;
  connection.reported_silence = true;
  find({connection, {}, seen.at}, rule("MQTT-4.3.2-4"),
       "no PUBACK with the identifier " + std::to_string(connection.owed.front().packet_id) +
           " for " + std::to_string(waits.count() / 1'000'000) +
           " s, while the client kept sending");
}

}  // namespace fencepost::clients
