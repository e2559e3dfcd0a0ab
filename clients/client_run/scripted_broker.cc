#include "clients/client_run/scripted_broker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "clients/client_run/packet_messages.h"
#include "codec/reply.h"
#include "codec/topics.h"
#include "endpoint/wire/messages.h"

namespace fencepost::client_run {
namespace {

using wire::PropertyId;

constexpr std::size_t kMaxPacket = 16U << 20U;
constexpr std::size_t kMaxNoted = 60;
constexpr std::size_t kMaxOfPacket = 160;  // bytes of a line
constexpr std::uint8_t kFirstRefusal = 0x80;
constexpr std::uint8_t kNotAuthorized = 0x87;
constexpr std::uint8_t kProtocolError = 0x82;
constexpr std::uint8_t kQosNotSupported = 0x9b;
constexpr std::uint8_t kNoSubscription = 0x11;
constexpr std::uint8_t kTooLarge = 0x95;

void add_noted(std::deque<std::string>& notes, std::string line) {
  if (notes.size() >= kMaxNoted) notes.pop_front();
  notes.push_back(std::move(line));
}

bool is_lock_request(const Awaited& awaited) { return awaited.command.kind == CommandKind::kLock; }

}  // namespace

ScriptedBroker::ScriptedBroker(const BrokerOptions& options)
    : dialect_(options.dialect),
      clock_ahead_(options.clock_ahead),
      service_(store::ServiceOptions{.dialect = options.dialect}) {}

store::Instant ScriptedBroker::instant(Time now) const {
  const auto wall = std::chrono::duration_cast<Milliseconds>(now) + clock_ahead_;
  return {.wall_ms = static_cast<std::uint64_t>(wall.count()), .steady = now};
}

// --- instructions of the case ---

std::size_t ScriptedBroker::expect(Awaited request) {
  awaited_.push_back(std::move(request));
  return awaited_.size() - 1;
}

void ScriptedBroker::change(const OtherStep& change, Time now) {
  if (change.after == Milliseconds{0}) return carry_out_change(change, now);
  later_.emplace(now + change.after, change);
}

void ScriptedBroker::carry_out_change(const OtherStep& change, Time now) {
  codec::Command command{.verb = change.verb, .key = change.key};
  if (change.verb == codec::Verb::kSet) command.value = change.value;
  const store::Instant when = instant(now);
  codec::Message request{.topic = std::string(codec::kRequestTopic),
                         .payload = codec::encode(command),
                         .response_topic = "clients/other/response",
                         .correlation_data = "other"};
  request.user_properties.emplace_back(
      codec::kTimestampProperty,
      hlc::format({.wall_ms = when.wall_ms, .counter = changes_++, .node = "other"}));
  std::vector<store::Delivery> out;
  (void)service_.handle({.client_id = "other"}, request, when, out);
  for (const store::Delivery& each : out) deliver(each, now);
}

void ScriptedBroker::notify(const NotifyStep& step, Time now) {
  for (const auto& [number, connection] : connections_) {
    if (!connection.accepted) continue;
    const auto topic = codec::notification_topic(connection.client_id, step.key);
    if (!topic) continue;
    codec::Message message{.topic = *topic, .payload = step.payload};
    if (step.operation) {
      message.payload.clear();
      codec::append_notification(message.payload,
                                 {.operation = *step.operation, .value = step.value},
                                 codec::dialect(dialect_));
    }
    const std::string right =
        hlc::format({.wall_ms = instant(now).wall_ms, .counter = changes_++, .node = "StateStore"});
    const std::string version = step.version.value_or(right);
    if (!version.empty()) {
      message.user_properties.emplace_back(codec::kTimestampProperty, version);
    }
    for (int i = 0; i < step.times; ++i) publish(number, message, now);
    return;
  }
}

void ScriptedBroker::unmatched(const UnmatchedStep& step, Time now) {
  codec::Message message{
      .topic = response_topic_, .payload = step.payload, .correlation_data = step.correlation};
  message.user_properties.emplace_back(codec::kStatusProperty, "200");
  deliver({.client_id = {}, .message = std::move(message)}, now);
}

void ScriptedBroker::cut(const CutStep& step, Time now) {
  for (const auto& [number, connection] : connections_) {
    if (step.reason) queue(number, wire::Disconnect{.reason = *step.reason}, now);
    due_.emplace(now, Outgoing{.connection = number, .close = true});
  }
}

// --- what it has seen ---

bool ScriptedBroker::is_connected() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& each) { return each.second.accepted && !each.second.ended; });
}

bool ScriptedBroker::is_observed(std::string_view key) const {
  return std::any_of(connections_.begin(), connections_.end(), [key](const auto& each) {
    return !each.second.ended && each.second.observed.contains(key);
  });
}

void ScriptedBroker::note(char direction, std::string_view bytes) {
  add_noted(trace_, packet_line(direction, bytes, kMaxOfPacket));
}

// --- the network ---

void ScriptedBroker::opened(std::uint64_t connection) {
  connections_.emplace(connection, Connection{.reader = wire::PacketReader(kMaxPacket)});
}

void ScriptedBroker::received(std::uint64_t number, std::string_view bytes, Time now) {
  const auto found = connections_.find(number);
  if (found == connections_.end() || found->second.ended) return;
  found->second.reader.add(bytes);
  while (auto packet = found->second.reader.next()) {
    note('>', packet->bytes);
    const bool is_too_large =
        limits_.largest_packet && packet->bytes.size() > *limits_.largest_packet;
    if (!packet->packet) {
      return refuse(number, packet->packet.error().reason, now);
    }
    if (is_too_large) return refuse(number, kTooLarge, now);
    handle(number, *packet->packet, now);
    if (found->second.ended) return;
  }
  if (found->second.reader.gave_up()) refuse(number, kTooLarge, now);
}

void ScriptedBroker::closed(std::uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  const std::string client_id = found->second.client_id;
  const bool was_accepted = found->second.accepted;
  connections_.erase(found);
  if (!was_accepted || connection_of(client_id)) return;
  service_.disconnect(client_id);
  const auto session = sessions_.find(client_id);
  if (session != sessions_.end() && !session->second.persists) sessions_.erase(session);
}

std::vector<Outgoing> ScriptedBroker::take_due(Time now) {
  while (!later_.empty() && later_.begin()->first <= now) {
    const OtherStep change = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    carry_out_change(change, now);
  }
  while (!late_.empty() && late_.begin()->first <= now) {
    const codec::Message message = std::move(late_.begin()->second);
    late_.erase(late_.begin());
    deliver_to_sessions(message, now);
  }
  std::vector<Outgoing> out;
  while (!due_.empty() && due_.begin()->first <= now) {
    Outgoing next = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    const auto found = connections_.find(next.connection);
    if (found == connections_.end()) continue;
    const std::size_t most = found->second.largest_packet;
    if (most != 0 && next.bytes.size() > most) continue;  // as MQTT 5 wants it: 3.1.2.11.4
    if (!next.bytes.empty()) note('<', next.bytes);
    if (next.close) {
      add_noted(trace_, "x the broker cuts the connection");
      found->second.ended = true;
    }
    out.push_back(std::move(next));
  }
  return out;
}

std::optional<Time> ScriptedBroker::next_due() const {
  std::optional<Time> out;
  const auto take = [&out](const auto& waiting) {
    if (waiting.empty()) return;
    out = std::min(out.value_or(Time::max()), waiting.begin()->first);
  };
  take(due_);
  take(late_);
  take(later_);
  return out;
}

void ScriptedBroker::queue(std::uint64_t number, const wire::Packet& packet, Time at) {
  auto bytes = wire::encode(packet);
  if (bytes) due_.emplace(at, Outgoing{.connection = number, .bytes = std::move(*bytes)});
}

void ScriptedBroker::refuse(std::uint64_t number, std::uint8_t reason, Time now) {
  queue(number, wire::Disconnect{.reason = reason}, now);
  due_.emplace(now, Outgoing{.connection = number, .close = true});
  connections_.at(number).ended = true;
}

std::optional<std::uint64_t> ScriptedBroker::connection_of(std::string_view client_id) const {
  for (const auto& [number, connection] : connections_) {
    const bool is_it = connection.accepted && !connection.ended;
    if (is_it && connection.client_id == client_id) return number;
  }
  return std::nullopt;
}

void ScriptedBroker::handle(std::uint64_t number, const wire::Packet& packet, Time now) {
  Connection& connection = connections_.at(number);
  if (const auto* connect = std::get_if<wire::Connect>(&packet)) {
    if (connection.accepted) return refuse(number, kProtocolError, now);
    return on_connect(number, *connect, now);
  }
  if (!connection.accepted) return refuse(number, kProtocolError, now);
  if (const auto* publish = std::get_if<wire::Publish>(&packet)) {
    return on_publish({number, *publish, now});
  }
  if (const auto* subscribe = std::get_if<wire::Subscribe>(&packet)) {
    return on_subscribe(number, *subscribe, now);
  }
  if (const auto* unsubscribe = std::get_if<wire::Unsubscribe>(&packet)) {
    return on_unsubscribe(number, *unsubscribe, now);
  }
  if (const auto* ack = std::get_if<wire::Ack>(&packet)) {
    sessions_[connection.client_id].unacknowledged.erase(ack->packet_id);
  } else if (std::holds_alternative<wire::Pingreq>(packet)) {
    queue(number, wire::Pingresp{}, now);
  } else if (std::holds_alternative<wire::Disconnect>(packet)) {
    connection.ended = true;
    due_.emplace(now, Outgoing{.connection = number, .close = true});
  }
}

void ScriptedBroker::on_connect(std::uint64_t number, const wire::Connect& connect, Time now) {
  if (const auto reason = std::exchange(limits_.refuses, std::nullopt)) {
    queue(number, wire::Connack{.reason = *reason}, now);
    due_.emplace(now, Outgoing{.connection = number, .close = true});
    connections_.at(number).ended = true;
    return;
  }
  const std::string client_id =
      connect.client_id.empty() ? fmt::format("assigned-{}", number) : connect.client_id;
  if (const auto older = connection_of(client_id)) {
    constexpr std::uint8_t kTakenOver = 0x8e;
    refuse(*older, kTakenOver, now);
  }
  Connection& connection = connections_.at(number);
  connection.client_id = client_id;
  connection.accepted = true;
  connection.largest_packet = connect.properties.number(PropertyId::kMaximumPacketSize).value_or(0);
  service_.disconnect(client_id);
  if (connect.clean_start || limits_.forgets_session) sessions_.erase(client_id);
  const bool present = sessions_.contains(client_id);
  Session& session = sessions_[client_id];
  session.persists = connect.properties.number(PropertyId::kSessionExpiry).value_or(0) > 0;
  wire::Connack connack{.session_present = present};
  connack.properties.add(PropertyId::kMaximumQos, std::uint32_t{1});
  if (limits_.receive_maximum) {
    connack.properties.add(PropertyId::kReceiveMaximum, std::uint32_t{*limits_.receive_maximum});
  }
  if (limits_.largest_packet) {
    connack.properties.add(PropertyId::kMaximumPacketSize, *limits_.largest_packet);
  }
  if (limits_.keep_alive_s) {
    connack.properties.add(PropertyId::kServerKeepAlive, std::uint32_t{*limits_.keep_alive_s});
  }
  if (connect.client_id.empty()) {
    connack.properties.add(PropertyId::kAssignedClientId, client_id);
  }
  queue(number, connack, now);
  ++accepted_;
  for (const auto& [id, again] : session.unacknowledged) {
    wire::Publish copy = again;
    copy.duplicate = true;
    queue(number, copy, now);
  }
  for (const codec::Message& message : std::exchange(session.queued, {})) {
    publish(number, message, now);
  }
}

void ScriptedBroker::on_subscribe(std::uint64_t number, const wire::Subscribe& subscribe,
                                  Time now) {
  Session& session = sessions_[connections_.at(number).client_id];
  wire::Suback suback{.packet_id = subscribe.packet_id};
  for (const wire::Subscription& each : subscribe.subscriptions) {
    const auto qos = static_cast<std::uint8_t>(std::min(each.options & 3, 1));
    session.subscriptions[each.filter] = qos;
    suback.reasons.push_back(qos);
  }
  queue(number, suback, now);
}

void ScriptedBroker::on_unsubscribe(std::uint64_t number, const wire::Unsubscribe& unsubscribe,
                                    Time now) {
  Session& session = sessions_[connections_.at(number).client_id];
  wire::Unsuback unsuback{.packet_id = unsubscribe.packet_id};
  for (const std::string& filter : unsubscribe.filters) {
    const bool was_there = session.subscriptions.erase(filter) > 0;
    unsuback.reasons.push_back(was_there ? std::uint8_t{0} : kNoSubscription);
  }
  queue(number, unsuback, now);
}

void ScriptedBroker::on_publish(const Arrival& arrival) {
  const wire::Publish& publish = arrival.publish;
  // Topic aliases are not offered.
  if (publish.topic.empty()) return refuse(arrival.connection, kProtocolError, arrival.now);
  if (publish.qos > 1) return refuse(arrival.connection, kQosNotSupported, arrival.now);
  if (publish.topic == codec::kRequestTopic) return on_request(arrival);
  if (publish.qos == 0) return;
  const bool is_of_store = publish.topic.starts_with(codec::kStorePrefix);
  queue(arrival.connection,
        wire::Ack{.packet_id = publish.packet_id,
                  .reason = is_of_store ? kNotAuthorized : wire::kNoMatchingSubscribers},
        arrival.now);
}

bool ScriptedBroker::equals(const Command& command, const codec::Command& seen) const {
  auto wanted = request_of(command);
  if (!wanted) return false;
  // Any name, but always the same one.
  if (command.names_itself) wanted->value = own_name_.empty() ? seen.value : own_name_;
  if (*wanted == seen) return true;
  if (command.kind != CommandKind::kLock) return false;
  wanted->condition = codec::Condition::kIfAbsent;  // takes a lock, too. Req: LOCK-NX-1
  return *wanted == seen;
}

ScriptedBroker::Match ScriptedBroker::find_awaited(const wire::Publish& publish) {
  const auto command = codec::parse_command(publish.payload, codec::dialect(dialect_));
  Awaited* last = nullptr;
  for (Awaited& each : awaited_) {
    if (!command || !equals(each.command, *command)) continue;
    if (each.command.names_itself) own_name_ = command->value;
    if (!each.came) return {&each};
    last = &each;
  }
  if (last != nullptr) {
    last->again = true;
    return {last, true};
  }
  add_noted(others_, publish.payload);
  return {};
}

void ScriptedBroker::note_observation(Connection& connection, const wire::Publish& publish) {
  const auto command = codec::parse_command(publish.payload, codec::dialect(dialect_));
  if (!command || command->verb != codec::Verb::kKeynotify) return;
  const std::string key(command->key);
  if (command->stop) {
    connection.observed.erase(key);
  } else {
    connection.observed.insert(key);
  }
}

void ScriptedBroker::on_request(const Arrival& arrival) {
  if (const auto* topic = arrival.publish.properties.find(PropertyId::kResponseTopic)) {
    response_topic_ = topic->text;
  }
  const Match match = find_awaited(arrival.publish);
  if (match.again || match.awaited == nullptr) {
    auto reply = answer(arrival, nullptr);
    const bool is_lock = match.awaited != nullptr && is_lock_request(*match.awaited);
    if (reply && is_lock) match.awaited->replies_again.push_back(std::move(*reply));
    return;
  }
  Awaited& awaited = *match.awaited;
  awaited.came = true;
  const codec::Message request = wire::message_of(arrival.publish);
  if (const std::string* token = request.property(codec::kTokenProperty)) awaited.token = *token;
  (void)answer(arrival, &awaited);
}

std::optional<codec::Message> ScriptedBroker::carry_out(const Arrival& arrival,
                                                        const codec::Message& request) {
  const std::string client_id = connections_.at(arrival.connection).client_id;
  std::vector<store::Delivery> out;
  const store::Handling done =
      service_.handle({.client_id = client_id}, request, instant(arrival.now), out);
  if (done == store::Handling::kDisconnect) refuse(arrival.connection, kNotAuthorized, arrival.now);
  if (done != store::Handling::kAnswered) return std::nullopt;
  note_observation(connections_.at(arrival.connection), arrival.publish);
  codec::Message reply = std::move(out.back().message);
  out.pop_back();
  for (const store::Delivery& each : out) deliver(each, arrival.now);
  return reply;
}

std::optional<codec::Message> ScriptedBroker::answer(const Arrival& arrival, Awaited* awaited) {
  const Answer acts = awaited != nullptr ? awaited->answer : right_answer();
  const bool is_done = std::any_of(acts.begin(), acts.end(), [](const Act& act) {
    const auto* puback = std::get_if<PubackAct>(&act);
    return std::holds_alternative<ReplyAct>(act) ||
           (puback != nullptr && puback->reason < kFirstRefusal);
  });
  std::optional<codec::Message> right;
  if (is_done) right = carry_out(arrival, wire::message_of(arrival.publish));
  Time at = arrival.now;
  bool is_cut = false;
  for (const Act& act : acts) {
    if (const auto* wait = std::get_if<WaitAct>(&act)) {
      at += wait->time;
    } else if (const auto* puback = std::get_if<PubackAct>(&act)) {
      const wire::Ack ack{.packet_id = arrival.publish.packet_id, .reason = puback->reason};
      if (arrival.publish.qos == 1) queue(arrival.connection, ack, at);
    } else if (std::holds_alternative<CutAct>(act)) {
      due_.emplace(at, Outgoing{.connection = arrival.connection, .close = true});
      is_cut = true;
    } else if (right) {
      const ReplyScript& script = std::get<ReplyAct>(act).script;
      codec::Message message = *right;
      change_reply(message, script, arrival.publish);
      const bool is_its_own =
          !script.correlation && !script.without_correlation && !script.near_correlation;
      duplicate_ = script.duplicate;
      Awaited* answered = is_its_own ? awaited : nullptr;
      if (is_cut) {
        note_answer(message, answered);
        late_.emplace(at, std::move(message));
      } else {
        reply(std::move(message), answered, at);
      }
      duplicate_ = false;
    }
  }
  return right;
}

void ScriptedBroker::note_answer(const codec::Message& message, Awaited* awaited) {
  if (awaited == nullptr || awaited->answered) return;
  const std::string* version = message.property(codec::kTimestampProperty);
  if (version != nullptr) awaited->version_sent = *version;
  awaited->payload_sent = message.payload;
  awaited->answered = true;
}

void ScriptedBroker::reply(codec::Message message, Awaited* awaited, Time at) {
  note_answer(message, awaited);
  const auto is_held = [&](std::size_t ticket) { return &awaited_.at(ticket) == awaited; };
  const auto held = std::find_if(held_tickets_.begin(), held_tickets_.end(), is_held);
  if (held == held_tickets_.end()) {
    return deliver({.client_id = {}, .message = std::move(message)}, at);
  }
  held_[*held] = std::move(message);
  release_held(at);
}

void ScriptedBroker::release_held(Time now) {
  if (held_.size() < held_tickets_.size()) return;
  for (const std::size_t ticket : held_tickets_) {
    deliver({.client_id = {}, .message = held_.at(ticket)}, now);
  }
  held_.clear();
  held_tickets_.clear();
}

void ScriptedBroker::change_reply(codec::Message& reply, const ReplyScript& script,
                                  const wire::Publish& request) {
  if (script.payload) reply.payload = *script.payload;
  if (script.error) {
    reply.payload.clear();
    codec::append_reply(reply.payload, {.kind = codec::ReplyKind::kError, .error = *script.error},
                        codec::verb_of(request.payload), codec::dialect(dialect_));
  }
  auto& properties = reply.user_properties;
  const std::string* right = reply.property(codec::kTimestampProperty);
  std::optional<std::string> version = script.version;
  if (script.version_ahead && right != nullptr) {
    auto moved = hlc::parse(*right);
    if (moved) {
      moved->wall_ms += static_cast<std::uint64_t>(script.version_ahead->count());
      version = hlc::format(*moved);
    }
  }
  if (version || script.error) {
    std::erase_if(properties,
                  [](const auto& each) { return each.first == codec::kTimestampProperty; });
  }
  if (version && !version->empty()) {
    properties.emplace_back(codec::kTimestampProperty, *version);
  }
  for (const auto& each : script.properties) properties.push_back(each);
  if (script.without_correlation) reply.correlation_data.reset();
  if (script.correlation) reply.correlation_data = script.correlation;
  if (script.near_correlation && reply.correlation_data && !reply.correlation_data->empty()) {
    char& last = reply.correlation_data->back();
    last = static_cast<char>(last ^ 1);
  }
  if (script.at_qos_0) reply.qos = 0;
}

// To the subscribers, and notifications to their client in any case. Req: NTF-SUBSCRIBE-2
void ScriptedBroker::deliver(const store::Delivery& delivery, Time at) {
  if (!delivery.client_id.empty()) {
    const auto number = connection_of(delivery.client_id);
    if (number) publish(*number, delivery.message, at);
    return;
  }
  deliver_to_sessions(delivery.message, at);
}

void ScriptedBroker::deliver_to_sessions(const codec::Message& original, Time at) {
  for (auto& [client_id, session] : sessions_) {
    std::optional<std::uint8_t> granted;
    for (const auto& [filter, qos] : session.subscriptions) {
      if (!codec::filter_matches(filter, original.topic)) continue;
      granted = std::max(granted.value_or(0), qos);
    }
    if (!granted) continue;
    codec::Message message = original;
    message.qos = std::min(message.qos, static_cast<int>(*granted));
    if (const auto number = connection_of(client_id)) {
      publish(*number, message, at);
    } else if (message.qos > 0) {
      session.queued.push_back(std::move(message));
    }
  }
}

void ScriptedBroker::publish(std::uint64_t number, const codec::Message& message, Time at) {
  Session& session = sessions_[connections_.at(number).client_id];
  wire::Publish out = wire::publish_of(message);
  if (out.qos > 0) {
    do {
      ++session.last_id;
    } while (session.last_id == 0 || session.unacknowledged.contains(session.last_id));
    out.packet_id = session.last_id;
    out.duplicate = duplicate_;
    session.unacknowledged[out.packet_id] = out;
  }
  queue(number, out, at);
}

}  // namespace fencepost::client_run
