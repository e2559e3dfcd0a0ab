// For tests: a client and a broker of a few lines, whose packets a judge sees.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "clients/judge.h"
#include "codec/command.h"
#include "codec/resp3.h"
#include "codec/topics.h"
#include "endpoint/wire/packet.h"
#include "hlc/hlc.h"

namespace fencepost::clients {

// 2026-11-23, in milliseconds.
inline constexpr std::uint64_t kNoonMs = 1'795'435'200'000;

struct Ask {
  std::vector<std::string_view> words{"SET", "key", "value"};
  std::string correlation = "c";
  std::string ts = "now";  // "now": of the clock; empty: none
  std::string ft{};
  std::string response_topic = "own";  // "own": the recommended one; empty: none
  std::string topic{codec::kRequestTopic};
  std::string payload{};  // empty: of the words
  int qos = 1;
  bool dup = false;
  std::uint16_t id = 0;  // 0: the next one
  bool with_correlation = true;
};

// Packets in a line.
inline wire::Connack with(wire::PropertyId id, std::uint32_t number) {
  wire::Connack out;
  out.properties.add(id, number);
  return out;
}
inline wire::Publish message(std::string topic, wire::PropertyId id, std::uint32_t number) {
  wire::Publish out{.topic = std::move(topic)};
  out.properties.add(id, number);
  return out;
}
inline wire::Subscribe subscription(std::string filter) {
  return {.packet_id = 7, .subscriptions = {{std::move(filter), 1}}};
}
inline wire::Connect with_will(std::string topic) {
  wire::Connect out;
  out.will = wire::Will{.topic = std::move(topic)};
  return out;
}

class Play {
 public:
  explicit Play(std::chrono::milliseconds clock_offset = {})
      : judge_({.store_node = "StateStore", .clock_offset = clock_offset}),
        now_(std::chrono::milliseconds(kNoonMs)) {}

  Play& wait(std::chrono::milliseconds time) {
    now_ += time;
    return *this;
  }
  Play& open() {
    judge_.opened(++connection_, now_);
    return *this;
  }
  Play& close() {
    judge_.closed(connection_, now_);
    return *this;
  }
  Play& sent(const wire::Packet& packet) { return sent_bytes(*wire::encode(packet)); }
  Play& sent_bytes(std::string_view bytes) {
    judge_.sent(connection_, bytes, now_);
    return *this;
  }
  Play& received(const wire::Packet& packet) {
    judge_.delivered(connection_, *wire::encode(packet), now_);
    return *this;
  }

  // CONNECT and CONNACK.
  Play& connect(wire::Connack connack = {}, wire::Connect connect = {}) {
    if (connect.client_id.empty()) connect.client_id = client_;
    return open().sent(connect).received(connack);
  }
  Play& subscribe(std::string filter, std::uint8_t reason = 1, std::uint8_t options = 1) {
    return sent(wire::Subscribe{.packet_id = 900, .subscriptions = {{std::move(filter), options}}})
        .received(wire::Suback{.packet_id = 900, .reasons = {reason}});
  }
  // Connected and subscribed, as clients begin.
  Play& begin(const wire::Connack& connack = {}) {
    return connect(connack).subscribe(own_topic()).subscribe(codec::notification_filter(client_));
  }

  [[nodiscard]] std::string own_topic() const { return codec::recommended_response_topic(client_); }
  [[nodiscard]] std::uint64_t wall_ms() const {
    return static_cast<std::uint64_t>(now_.count()) / 1000;
  }
  [[nodiscard]] std::string stamp(std::int64_t later_ms = 0,
                                  std::string_view rest = ":0:me") const {
    return std::to_string(static_cast<std::int64_t>(wall_ms()) + later_ms) + std::string(rest);
  }

  [[nodiscard]] wire::Publish publish_of(const Ask& ask) {
    wire::Publish out{
        .duplicate = ask.dup,
        .qos = static_cast<std::uint8_t>(ask.qos),
        .packet_id = ask.id != 0 ? ask.id : next_id_++,
        .topic = ask.topic,
        .payload = ask.payload.empty() ? codec::encode_command(ask.words) : ask.payload};
    using wire::PropertyId;
    if (!ask.response_topic.empty()) {
      out.properties.add(PropertyId::kResponseTopic,
                         ask.response_topic == "own" ? own_topic() : ask.response_topic);
    }
    if (ask.with_correlation) out.properties.add(PropertyId::kCorrelationData, ask.correlation);
    if (!ask.ts.empty()) out.properties.add_user("__ts", ask.ts == "now" ? stamp() : ask.ts);
    if (!ask.ft.empty()) out.properties.add_user("__ft", ask.ft);
    last_id_ = out.packet_id;
    return out;
  }
  Play& ask(const Ask& ask) { return sent(publish_of(ask)); }
  Play& puback(std::uint8_t reason = 0) {
    return received(wire::Ack{.packet_id = last_id_, .reason = reason});
  }
  // The broker's answer, of the broker's packet `id`.
  Play& answer(const std::string& version = {}, std::uint16_t id = 1,
               const std::string& correlation = "c", std::string payload = "+OK\r\n") {
    wire::Publish out{
        .qos = 1, .packet_id = id, .topic = own_topic(), .payload = std::move(payload)};
    out.properties.add(wire::PropertyId::kCorrelationData, correlation);
    if (!version.empty()) out.properties.add_user("__ts", version);
    return received(out);
  }
  Play& note(std::uint16_t id) {
    return received(wire::Publish{.qos = 1,
                                  .packet_id = id,
                                  .topic = *codec::notification_topic(client_, "key"),
                                  .payload = "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n"});
  }
  Play& ack(std::uint16_t id = 1) { return sent(wire::Ack{.packet_id = id}); }
  // All of one exchange.
  Play& whole(const Ask& what, const std::string& version = {},
              const std::string& payload = "+OK\r\n") {
    return ask(what).puback().answer(version, 1, what.correlation, payload).ack();
  }

  // The rules that were found broken, each once, in the order in which they were.
  [[nodiscard]] std::vector<std::string> broken() {
    std::vector<std::string> out;
    for (Finding& each : judge_.take_findings()) {
      if (out.empty() || out.back() != each.rule->id) out.emplace_back(each.rule->id);
      findings_.push_back(std::move(each));
    }
    return out;
  }
  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }
  [[nodiscard]] Judge& judge() { return judge_; }
  [[nodiscard]] std::uint16_t last_id() const { return last_id_; }
  void become(std::string client) { client_ = std::move(client); }

 private:
  Judge judge_;
  Time now_;
  std::uint64_t connection_ = 0;
  std::uint16_t next_id_ = 1;
  std::uint16_t last_id_ = 0;
  std::string client_ = "me";
  std::vector<Finding> findings_{};
};

}  // namespace fencepost::clients
