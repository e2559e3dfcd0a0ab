#include "clients/client_report/recorded_clients.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>

#include "codec/message.h"
#include "endpoint/wire/messages.h"
#include "endpoint/wire/packet.h"

namespace fencepost::client_report {
namespace {

using clients::Time;
using record::CaptureDirection;
using wire::PropertyId;

constexpr std::size_t kMaxAsked = 100'000;

// Sent once: of what was sent again, the log does not say why.
wire::Publish publish_of(const codec::Message& message) {
  wire::Publish out = wire::publish_of(message);
  out.duplicate = false;
  return out;
}

// The clients of a log, with a connection each.
class LoggedClients {
 public:
  explicit LoggedClients(clients::Judge& judge) : judge_(judge) {}

  void add(const record::CapturedMessage& message) {
    if (message.direction == CaptureDirection::kToStore) {
      add_request(message);
    } else {
      add_delivery(message);
    }
  }

  void add(const record::CapturedConnection& connection) {
    const auto found = connections_.find(connection.client_id);
    if (connection.begins || found == connections_.end()) return;
    judge_.closed(found->second.number, connection.time);
    connections_.erase(found);
  }

 private:
  struct Connection {
    std::uint64_t number = 0;
    std::uint16_t last_id = 0;
  };

  void sent(const Connection& connection, const wire::Packet& packet, Time at) {
    const auto bytes = wire::encode(packet);
    if (bytes) judge_.sent(connection.number, *bytes, at);
  }
  void received(const Connection& connection, const wire::Packet& packet, Time at) {
    const auto bytes = wire::encode(packet);
    if (bytes) judge_.delivered(connection.number, *bytes, at);
  }

  Connection& connection_of(const std::string& client_id, Time at) {
    const auto [found, is_new] = connections_.try_emplace(client_id);
    if (!is_new) return found->second;
    found->second.number = ++last_;
    judge_.opened(last_, at);
    sent(found->second, wire::Connect{.client_id = client_id}, at);
    received(found->second, wire::Connack{}, at);
    return found->second;
  }

  void add_request(const record::CapturedMessage& message) {
    Connection& connection = connection_of(message.client_id, message.time);
    wire::Publish publish = publish_of(message.message);
    if (publish.qos > 0) {
      if (++connection.last_id == 0) connection.last_id = 1;
      publish.packet_id = connection.last_id;
    }
    if (message.message.response_topic && asked_.size() < kMaxAsked) {
      asked_[key_of(*message.message.response_topic, message.message)] = message.client_id;
    }
    sent(connection, publish, message.time);
    if (publish.qos == 0) return;
    received(connection,
             wire::Ack{.kind = publish.qos == 1 ? wire::AckKind::kPuback : wire::AckKind::kPubcomp,
                       .packet_id = publish.packet_id},
             message.time);
  }

  void add_delivery(const record::CapturedMessage& message) {
    std::string client_id = message.client_id;
    if (client_id.empty()) {
      const auto asked = asked_.extract(key_of(message.message.topic, message.message));
      if (asked.empty()) return;
      client_id = asked.mapped();
    }
    const auto found = connections_.find(client_id);
    if (found == connections_.end()) return;
    // Whether the client has it, only its PUBACK would say.
    wire::Publish publish = publish_of(message.message);
    publish.qos = 0;
    received(found->second, publish, message.time);
  }

  static std::string key_of(const std::string& topic, const codec::Message& message) {
    return topic + '\0' + message.correlation_data.value_or("");
  }

  clients::Judge& judge_;
  std::map<std::string, Connection> connections_{};
  std::map<std::string, std::string> asked_{};  // response topic, correlation data -> who
  std::uint64_t last_ = 0;
};

}  // namespace

void judge_event(const record::TcpEvent& event, clients::Judge& judge) {
  switch (event.kind) {
    case record::TcpEvent::Kind::kOpened:
      return judge.opened(event.connection, event.time);
    case record::TcpEvent::Kind::kBytes:
      return event.to_broker ? judge.sent(event.connection, event.bytes, event.time)
                             : judge.delivered(event.connection, event.bytes, event.time);
    case record::TcpEvent::Kind::kEnding:
      return;
    case record::TcpEvent::Kind::kLost:
      return judge.lost(event.connection);
    case record::TcpEvent::Kind::kClosed:
      return judge.closed(event.connection, event.time);
  }
}

clients::JudgeOptions options_for(const record::Capture& log, std::string node_id) {
  clients::JudgeOptions out{.store_node = std::move(node_id), .clock_offset = std::nullopt};
  if (log.clock) out.clock_offset = std::chrono::milliseconds(log.clock->estimate_ms());
  out.from_start = log.from_start;
  out.sees_packets = false;
  return out;
}

void judge_messages(const record::Capture& log, clients::Judge& judge) {
  LoggedClients clients(judge);
  for (const record::CapturedEvent& event : log.events) {
    std::visit([&clients](const auto& each) { clients.add(each); }, event);
  }
}

}  // namespace fencepost::client_report
