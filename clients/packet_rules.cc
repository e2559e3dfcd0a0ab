#include "clients/packet_rules.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace fencepost::clients {
namespace {

using wire::PropertyId;

// 4.7.3; UTF-8 and U+0000 are of each text.
void check_topic(std::string_view what, std::string_view topic, std::string_view wildcard_rule,
                 std::vector<Diagnostic>& out) {
  if (topic.empty()) {
    out.push_back({&rule("MQTT-4.7.3-1"), "the " + std::string(what) + " is empty"});
  } else if (topic.find_first_of("+#") != std::string_view::npos) {
    out.push_back({&rule(wildcard_rule), "the " + std::string(what) + " is " + shown(topic)});
  }
}

void check_response_topic(const wire::Properties& properties, std::vector<Diagnostic>& out) {
  const wire::Property* topic = properties.find(PropertyId::kResponseTopic);
  if (topic != nullptr) check_topic("Response Topic", topic->text, "MQTT-3.3.2-14", out);
}

// 3.3.2.3.2, 3.1.3.2.3
void check_format(const wire::Properties& properties, std::string_view payload,
                  std::vector<Diagnostic>& out) {
  if (properties.number(PropertyId::kPayloadFormat) != 1U || is_utf8(payload)) return;
  out.push_back(
      {&rule("MQTT-3.3.2.3.2"), "the Payload Format Indicator is 1, but the payload is not UTF-8"});
}

void check_filter(std::string_view filter, std::vector<Diagnostic>& out) {
  constexpr std::string_view kShare = "$share/";
  const std::string because = "the filter is " + shown(filter);
  if (filter.starts_with(kShare)) {
    filter.remove_prefix(kShare.size());
    const std::size_t slash = filter.find('/');
    const std::string_view name = filter.substr(0, slash);
    if (name.empty()) return out.push_back({&rule("MQTT-4.8.2-1"), because});
    const bool whole = slash != std::string_view::npos && slash + 1 < filter.size();
    if (!whole || name.find_first_of("+#") != std::string_view::npos) {
      return out.push_back({&rule("MQTT-4.8.2-2"), because});
    }
    filter.remove_prefix(slash + 1);
  }
  if (filter.empty()) return out.push_back({&rule("MQTT-4.7.3-1"), "a filter is empty"});
  for (std::size_t at = 0; at < filter.size(); ++at) {
    const char c = filter[at];
    if (c != '#' && c != '+') continue;
    const bool begins = at == 0 || filter[at - 1] == '/';
    const bool is_last = at + 1 == filter.size();
    if (c == '#' && !(begins && is_last)) {
      return out.push_back({&rule("MQTT-4.7.1-1"), because});
    }
    if (c == '+' && !(begins && (is_last || filter[at + 1] == '/'))) {
      return out.push_back({&rule("MQTT-4.7.1-2"), because});
    }
  }
}

// 3.4.2.1, 3.5.2.1, 3.6.2.1, 3.7.2.1
bool is_reason_of(wire::AckKind kind, std::uint8_t reason) {
  constexpr std::array<std::uint8_t, 9> kOfPublish = {0x00, 0x10, 0x80, 0x83, 0x87,
                                                      0x90, 0x91, 0x97, 0x99};
  if (kind == wire::AckKind::kPubrel || kind == wire::AckKind::kPubcomp) {
    return reason == 0x00 || reason == 0x92;
  }
  return std::find(kOfPublish.begin(), kOfPublish.end(), reason) != kOfPublish.end();
}

// 3.14.2.1: those of a client.
bool is_reason_of_disconnect(std::uint8_t reason) {
  constexpr std::array<std::uint8_t, 14> kAll = {0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90,
                                                 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99};
  return std::find(kAll.begin(), kAll.end(), reason) != kAll.end();
}

std::string hex(std::uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return std::string("0x") + kDigits[byte / 16U] + kDigits[byte % 16U];
}

void check_reason(const wire::Packet& packet, std::vector<Diagnostic>& out) {
  const auto diagnose = [&](std::string_view statement, std::uint8_t reason) {
    out.push_back({&rule(statement), wire::with_article(wire::name(packet)) +
                                         " with the reason code " + hex(reason)});
  };
  if (const auto* ack = std::get_if<wire::Ack>(&packet)) {
    constexpr std::array<std::string_view, 4> kStatements = {"MQTT-3.4.2-1", "MQTT-3.5.2-1",
                                                             "MQTT-3.6.2-1", "MQTT-3.7.2-1"};
    const auto kind = static_cast<std::size_t>(ack->kind) - 4;
    if (!is_reason_of(ack->kind, ack->reason)) diagnose(kStatements.at(kind), ack->reason);
  } else if (const auto* last = std::get_if<wire::Disconnect>(&packet)) {
    if (!is_reason_of_disconnect(last->reason)) diagnose("MQTT-3.14.2-1", last->reason);
  }
}

void check_connect(const wire::Connect& connect, std::vector<Diagnostic>& out) {
  if (connect.will) {
    check_topic("Will Topic", connect.will->topic, "MQTT-4.7.0-1", out);
    check_response_topic(connect.will->properties, out);
    check_format(connect.will->properties, connect.will->payload, out);
  }
  const auto& properties = connect.properties;
  if (properties.find(PropertyId::kAuthenticationData) != nullptr &&
      properties.find(PropertyId::kAuthenticationMethod) == nullptr) {
    out.push_back({&rule("MQTT-3.1.2.11.10"),
                   "a CONNECT with Authentication Data but no Authentication Method"});
  }
}

}  // namespace

Announced announced_in(const wire::Connack& connack) {
  Announced out;
  const auto take = [&connack](PropertyId id, std::uint32_t& value) {
    value = connack.properties.number(id).value_or(value);
  };
  take(PropertyId::kReceiveMaximum, out.receive_maximum);
  take(PropertyId::kMaximumPacketSize, out.largest_packet);
  take(PropertyId::kTopicAliasMaximum, out.largest_alias);
  take(PropertyId::kMaximumQos, out.maximum_qos);
  out.retain = connack.properties.number(PropertyId::kRetainAvailable) != 0U;
  return out;
}

void check_packet(const wire::Packet& packet, std::vector<Diagnostic>& out) {
  if (const auto error = wire::error_of_texts(packet)) {
    out.push_back({&rule(error->statement), error->text});
  }
  if (const auto* publish = std::get_if<wire::Publish>(&packet)) {
    const bool by_alias =
        publish->topic.empty() && publish->properties.find(PropertyId::kTopicAlias) != nullptr;
    if (!by_alias) check_topic("topic", publish->topic, "MQTT-3.3.2-2", out);
    check_response_topic(publish->properties, out);
    check_format(publish->properties, publish->payload, out);
  } else if (const auto* connect = std::get_if<wire::Connect>(&packet)) {
    check_connect(*connect, out);
  } else if (const auto* subscribe = std::get_if<wire::Subscribe>(&packet)) {
    for (const wire::Subscription& each : subscribe->subscriptions) check_filter(each.filter, out);
  } else if (const auto* unsubscribe = std::get_if<wire::Unsubscribe>(&packet)) {
    for (const std::string& each : unsubscribe->filters) check_filter(each, out);
  }
  check_reason(packet, out);
}

void check_announced(const wire::Packet& packet, std::size_t bytes, const Announced& announced,
                     std::vector<Diagnostic>& out) {
  if (announced.largest_packet != 0 && bytes > announced.largest_packet) {
    out.push_back({&rule("MQTT-3.2.2-15"), wire::with_article(wire::name(packet)) + " of " +
                                               std::to_string(bytes) +
                                               " bytes, but the broker accepts at most " +
                                               std::to_string(announced.largest_packet)});
  }
  const auto* publish = std::get_if<wire::Publish>(&packet);
  if (publish == nullptr) return;
  if (publish->qos > announced.maximum_qos) {
    out.push_back({&rule("MQTT-3.2.2-11"), "a PUBLISH of QoS " + std::to_string(publish->qos) +
                                               ", but the broker's Maximum QoS is " +
                                               std::to_string(announced.maximum_qos)});
  }
  if (publish->retain && !announced.retain) {
    out.push_back(
        {&rule("MQTT-3.2.2-14"), "RETAIN, but the broker does not support retained messages"});
  }
  const auto alias = publish->properties.number(PropertyId::kTopicAlias);
  if (alias && *alias > announced.largest_alias) {
    out.push_back({&rule(announced.largest_alias == 0 ? "MQTT-3.2.2-18" : "MQTT-3.2.2-17"),
                   "the Topic Alias " + std::to_string(*alias) +
                       ", but the broker's Topic Alias Maximum is " +
                       std::to_string(announced.largest_alias)});
  }
}

std::string_view clients_mistake(std::uint8_t reason) {
  struct Reason {
    std::uint8_t code;
    std::string_view name;
  };
  constexpr std::array kAll = {
      Reason{0x81, "malformed packet"},         Reason{0x82, "protocol error"},
      Reason{0x8d, "keep alive timeout"},       Reason{0x8f, "topic filter invalid"},
      Reason{0x90, "topic name invalid"},       Reason{0x91, "packet identifier in use"},
      Reason{0x93, "receive maximum exceeded"}, Reason{0x94, "topic alias invalid"},
      Reason{0x95, "packet too large"},         Reason{0x99, "payload format invalid"},
  };
  const auto* const found = std::find_if(
      kAll.begin(), kAll.end(), [reason](const Reason& each) { return each.code == reason; });
  return found == kAll.end() ? std::string_view() : found->name;
}

}  // namespace fencepost::clients
