#include "clients/judge.h"

#include <utility>

#include "base/bytes.h"
#include "clients/judge_work.h"
#include "codec/topics.h"

namespace fencepost::clients {
namespace {

using wire::PropertyId;

constexpr std::size_t kMaxClients = 10'000;
constexpr std::size_t kMaxEarlyPackets = 1'000;
constexpr std::size_t kMaxFilters = 10'000;  // of a client
constexpr std::uint8_t kFirstFailure = 0x80;
constexpr std::uint8_t kNoLocal = 4;

// 2.1.1: type and flags, the length, the length of the topic, the topic.
std::string_view topic_of_older(std::string_view bytes) {
  if (bytes.empty() || (static_cast<unsigned char>(bytes[0]) >> 4U) != 3) return {};
  std::size_t at = 1;
  while (at < bytes.size() && (static_cast<unsigned char>(bytes[at]) & 0x80U) != 0) ++at;
  ++at;
  if (at + 2 > bytes.size()) return {};
  const std::size_t size = static_cast<unsigned char>(bytes[at]) * std::size_t{256} +
                           static_cast<unsigned char>(bytes[at + 1]);
  return bytes.substr(at + 2, size);
}

}  // namespace

Judge::Judge(JudgeOptions options) : work_(std::make_unique<Work>(std::move(options))) {}
Judge::~Judge() = default;

void Judge::opened(std::uint64_t connection, Time at) { work_->opened(connection, at); }
void Judge::sent(std::uint64_t connection, std::string_view bytes, Time at) {
  work_->sent(connection, bytes, at);
}
void Judge::delivered(std::uint64_t connection, std::string_view bytes, Time at) {
  work_->delivered(connection, bytes, at);
}
void Judge::closed(std::uint64_t connection, Time at) { work_->closed(connection, at); }
void Judge::lost(std::uint64_t connection) { work_->lost(connection); }
std::vector<Finding> Judge::take_findings() { return work_->take_findings(); }
const Tally& Judge::tally() const { return work_->tally(); }

void Judge::Work::opened(std::uint64_t connection, Time at) {
  ++tally_.connections;
  if (!first_at_) first_at_ = at;
  connections_.emplace(
      connection, ConnectionState{.number = connection,
                                  .from_client = wire::PacketReader(options_.most_packet_bytes),
                                  .from_broker = wire::PacketReader(options_.most_packet_bytes),
                                  .busy_until = at});
}

void Judge::Work::find(const Seen& seen, const Rule& rule, std::string because) {
  ++tally_.broken[rule.id];
  seen.connection.broken = seen.connection.broken || rule.level == RuleLevel::kMust;
  ClientState* client = seen.connection.client;
  // Advice is given once.
  const std::size_t most = rule.level == RuleLevel::kMust ? kMaxOfARule : 1;
  ClientState& reported = client != nullptr ? *client : unknown_;
  if (++reported.reported[std::string(rule.id)] > most) return;
  Finding finding{.rule = &rule,
                  .client_id = client != nullptr ? client->id : std::string(),
                  .connection = seen.connection.number,
                  .at = seen.at,
                  .because = std::move(because),
                  .packet = std::string(seen.bytes.substr(0, kMaxPacketBytes)),
                  .packet_bytes = seen.bytes.size()};
  if (client == nullptr && seen.connection.connect) {
    finding.client_id = seen.connection.connect->client_id;
  }
  findings_.push_back(std::move(finding));
}

void Judge::Work::find_all(const Seen& seen, std::vector<Diagnostic> diagnostics) {
  for (Diagnostic& each : diagnostics) {
    if (each.certain) {
      find(seen, *each.rule, std::move(each.because));
    } else if (Doubt& doubt = tally_.undecided[each.rule->id]; ++doubt.times == 1) {
      doubt.because = std::move(each.because);
    }
  }
}

void Judge::Work::ignore(ConnectionState& connection) {
  if (!std::exchange(connection.ignored, true)) ++tally_.not_judged;
  connection.early.clear();
}

void Judge::Work::sent(std::uint64_t number, std::string_view bytes, Time at) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  ConnectionState& connection = found->second;
  if (connection.ignored) return;
  connection.from_client.add(bytes);
  // The connection may end within these bytes.
  while (!connection.ignored) {
    const auto packet = connection.from_client.next();
    if (!packet) break;
    on_sent(connection, *packet, at);
  }
  if (connection.from_client.gave_up()) ignore(connection);
}

void Judge::Work::on_sent(ConnectionState& connection, const wire::ReadPacket& packet, Time at) {
  const Seen seen{connection, packet.bytes, at};
  if (connection.disconnected) {
    find(seen, rule("MQTT-3.14.4-1"), "a packet after the DISCONNECT");
    return ignore(connection);
  }
  check_keep_alive(seen);
  connection.last_sent = at;
  connection.last_packet = packet.bytes.substr(0, kMaxPacketBytes);
  if (!packet.packet) return on_bad_bytes(seen, packet.packet.error());
  const auto* connect = std::get_if<wire::Connect>(&*packet.packet);
  if (!connection.connect) {
    if (connect != nullptr) {
      connection.connect = *connect;
      std::vector<Diagnostic> diagnostics;
      check_packet(*packet.packet, diagnostics);
      find_all(seen, std::move(diagnostics));
    } else {
      find(seen, rule("MQTT-3.1.0-1"),
           "the first packet is " + wire::with_article(wire::name(*packet.packet)));
      ignore(connection);
    }
    return;
  }
  if (connect != nullptr) return find(seen, rule("MQTT-3.1.0-2"), "a second CONNECT");
  if (connection.accepted) return on_accepted(seen, *packet.packet);
  // The CONNACK tells whose session it is, and what is left of it.
  if (connection.early.size() >= kMaxEarlyPackets) return ignore(connection);
  connection.early.emplace_back(packet, at);
}

void Judge::Work::on_bad_bytes(const Seen& seen, const wire::DecodeError& error) {
  if (error.reason != wire::kOlderVersion || !error.statement.empty()) {
    const std::string_view statement =
        error.statement.empty() ? std::string_view("MQTT-4.13.1-1") : error.statement;
    return find(seen, rule(statement), error.text);
  }
  // Other clients of the broker may use an older version of MQTT, but not clients of the store.
  if (topic_of_older(seen.bytes) == codec::kRequestTopic) {
    find(seen, rule("ENV-MQTT5-1"), "a request of a client that uses an older version of MQTT");
  }
}

void Judge::Work::on_accepted(const Seen& seen, const wire::Packet& packet) {
  ConnectionState& connection = seen.connection;
  // Another connection has taken the session over.
  if (connection.client == nullptr || connection.client->connection != connection.number) return;
  std::vector<Diagnostic> diagnostics;
  check_packet(packet, diagnostics);
  if (options_.sees_packets) {
    check_announced(packet, seen.bytes.size(), connection.announced, diagnostics);
  }
  find_all(seen, std::move(diagnostics));
  check_silence(seen);
  if (const auto* publish = std::get_if<wire::Publish>(&packet)) {
    on_publish(seen, *publish);
  } else if (const auto* ack = std::get_if<wire::Ack>(&packet)) {
    on_ack_of_client(seen, *ack);
  } else if (const auto* subscribe = std::get_if<wire::Subscribe>(&packet)) {
    check_new_identifier(seen, subscribe->packet_id);
    on_subscribe(seen, *subscribe);
  } else if (const auto* unsubscribe = std::get_if<wire::Unsubscribe>(&packet)) {
    check_new_identifier(seen, unsubscribe->packet_id);
    connection.unsubscribing[unsubscribe->packet_id] = unsubscribe->filters;
  } else if (const auto* last = std::get_if<wire::Disconnect>(&packet)) {
    on_disconnect(seen, *last);
  } else if (!std::holds_alternative<wire::Pingreq>(packet) &&
             !std::holds_alternative<wire::Auth>(packet)) {
    find(seen, rule("MQTT-2.1.2"), wire::with_article(wire::name(packet)) + " from a client");
  } else if (std::holds_alternative<wire::Auth>(packet) &&
             connection.connect->properties.find(PropertyId::kAuthenticationMethod) == nullptr) {
    find(seen, rule("MQTT-4.12.0-7"), "an AUTH, but the CONNECT had no Authentication Method");
  }
}

void Judge::Work::on_connack(const Seen& seen, const wire::Connack& connack) {
  ConnectionState& connection = seen.connection;
  if (!connection.connect || connection.accepted) return;
  if (connack.reason >= kFirstFailure) return on_refused(seen, "the CONNECT", connack.reason);
  std::string id = connection.connect->client_id;
  if (const auto* given = connack.properties.find(PropertyId::kAssignedClientId)) id = given->text;
  if (clients_.size() >= kMaxClients && !clients_.contains(id)) return ignore(connection);
  ClientState& client = clients_[id];
  tally_.clients = clients_.size();
  if (client.connections > 0) end_requests_of(client.connection);
  const auto before = connections_.find(client.connection);
  if (client.connections > 0 && before != connections_.end()) remember_aliases(before->second);
  client.id = id;
  ++client.connections;
  client.connection = connection.number;
  if (!connack.session_present) {
    client.subscribed.clear();
    client.sent.clear();
    client.delivered_ids.clear();
    client.delivered_qos_2_ids.clear();
  }
  connection.client = &client;
  connection.accepted = true;
  connection.busy_until = seen.at;
  connection.announced = announced_in(connack);
  connection.session_present = connack.session_present;
  connection.accepted_at = seen.at;
  connection.keep_alive_s = connack.properties.number(PropertyId::kServerKeepAlive)
                                .value_or(connection.connect->keep_alive_s);
  connection.keep_alive_of_broker =
      connack.properties.find(PropertyId::kServerKeepAlive) != nullptr;
  for (const auto& [packet, at] : std::exchange(connection.early, {})) {
    on_accepted({connection, packet.bytes, at}, *packet.packet);
  }
}

void Judge::Work::on_subscribe(const Seen& seen, const wire::Subscribe& subscribe) {
  ConnectionState& connection = seen.connection;
  for (const wire::Subscription& each : subscribe.subscriptions) {
    if (each.filter.starts_with("$share/") && (each.options & kNoLocal) != 0) {
      find(seen, rule("MQTT-3.8.3-4"), "No Local on \"" + escape(each.filter, 200) + '"');
    }
    if (connection.asked_for.size() < kMaxFilters) connection.asked_for.insert(each.filter);
  }
  connection.subscribing[subscribe.packet_id] = subscribe.subscriptions;
}

void Judge::Work::on_suback(const Seen& seen, const wire::Suback& suback) {
  ConnectionState& connection = seen.connection;
  const auto asked = connection.subscribing.extract(suback.packet_id);
  if (asked.empty()) return;
  for (std::size_t i = 0; i < asked.mapped().size() && i < suback.reasons.size(); ++i) {
    const std::string& filter = asked.mapped()[i].filter;
    if (suback.reasons[i] >= kFirstFailure) {
      on_refused(seen, "the filter \"" + escape(filter, 200) + '"', suback.reasons[i]);
      connection.asked_for.erase(filter);
    } else if (connection.client->subscribed.size() < kMaxFilters) {
      connection.client->subscribed.insert(filter);
      const auto target = codec::parse_notification_topic(filter);
      if (target && connection.client->observed.contains(target->key)) {
        connection.renewed.emplace(target->key, seen.at);
      }
    }
  }
}

void Judge::Work::on_unsuback(ConnectionState& connection, const wire::Unsuback& unsuback) {
  const auto asked = connection.unsubscribing.extract(unsuback.packet_id);
  if (asked.empty()) return;
  for (std::size_t i = 0; i < asked.mapped().size() && i < unsuback.reasons.size(); ++i) {
    if (unsuback.reasons[i] >= kFirstFailure) continue;
    connection.asked_for.erase(asked.mapped()[i]);
    connection.client->subscribed.erase(asked.mapped()[i]);
  }
}

void Judge::Work::delivered(std::uint64_t number, std::string_view bytes, Time at) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  ConnectionState& connection = found->second;
  if (connection.ignored) return;
  connection.from_broker.add(bytes);
  while (const auto packet = connection.from_broker.next()) {
    if (!packet->packet) continue;  // an older version, or what is not the client's mistake
    const Seen seen{connection, packet->bytes, at};
    if (const auto* connack = std::get_if<wire::Connack>(&*packet->packet)) {
      on_connack(seen, *connack);
    }
    if (connection.client == nullptr || connection.client->connection != number) continue;
    if (const auto* publish = std::get_if<wire::Publish>(&*packet->packet)) {
      on_delivered(seen, *publish);
    } else if (const auto* ack = std::get_if<wire::Ack>(&*packet->packet)) {
      on_puback_of_broker(seen, *ack);
    } else if (const auto* suback = std::get_if<wire::Suback>(&*packet->packet)) {
      on_suback(seen, *suback);
    } else if (const auto* unsuback = std::get_if<wire::Unsuback>(&*packet->packet)) {
      on_unsuback(connection, *unsuback);
    } else if (const auto* last = std::get_if<wire::Disconnect>(&*packet->packet)) {
      on_refused(seen, "the connection", last->reason);
    }
  }
  if (connection.from_broker.gave_up()) ignore(connection);
}

void Judge::Work::lost(std::uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  ConnectionState& connection = found->second;
  saw_all_ = false;
  issued_all_ = false;
  all_named_ = false;
  // Its client may be unknown: then it may be that of any client.
  for (auto& [id, client] : clients_) {
    const bool is_it = connection.client != nullptr ? connection.client == &client
                       : connection.connect         ? connection.connect->client_id == id
                                                    : true;
    if (!is_it) continue;
    client.sent.clear();
    client.delivered_ids.clear();
    client.delivered_qos_2_ids.clear();
    client.observed.clear();
  }
  end_requests_of(number);
  ignore(connection);
  connections_.erase(found);
}

void Judge::Work::closed(std::uint64_t connection, Time at) {
  const auto found = connections_.find(connection);
  if (found != connections_.end()) {
    const Seen end{found->second, {}, at};
    if (!found->second.accepted) all_named_ = false;
    check_keep_alive(end);
    check_renewed(end);
    check_resent(end);
    remember_aliases(found->second);
  }
  end_requests_of(connection);
  connections_.erase(connection);
}

}  // namespace fencepost::clients
