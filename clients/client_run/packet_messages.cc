#include "clients/client_run/packet_messages.h"

#include <optional>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/text/text_wrap.h"
#include "codec/topics.h"
#include "endpoint/wire/packet.h"

namespace fencepost::client_run {
namespace {

using wire::PropertyId;

std::optional<std::string> text_of(const wire::Publish& publish, PropertyId id) {
  const wire::Property* found = publish.properties.find(id);
  if (found == nullptr) return std::nullopt;
  return found->text;
}

std::string publish_line(const wire::Publish& publish, std::size_t most) {
  std::string out;
  if (publish.duplicate) out += ", DUP";
  if (publish.qos != 1) out += fmt::format(", QoS {}", publish.qos);
  const bool is_request = publish.topic == codec::kRequestTopic;
  if (const auto target = codec::parse_notification_topic(publish.topic)) {
    out += fmt::format(", notification of \"{}\"", escape(target->key, most));
  } else if (!is_request) {
    out += fmt::format(" to {}", escape(publish.topic, most));
  }
  out += ": \"" + escape(publish.payload, most) + '"';
  if (const auto correlation = text_of(publish, PropertyId::kCorrelationData)) {
    constexpr std::size_t kMaxOfCorrelation = 16;
    out += ", correlation data \"" + escape(*correlation, kMaxOfCorrelation) + '"';
  }
  for (const wire::Property& each : publish.properties.all()) {
    const bool of_store = each.id == PropertyId::kUserProperty && each.text.starts_with("__");
    if (of_store) out += ", " + escape(each.text, most) + " " + escape(each.value, most);
  }
  return out;
}

}  // namespace

std::string packet_line(char direction, std::string_view bytes, std::size_t most) {
  const auto decoded = wire::decode(bytes, bytes.size());
  std::string out(1, direction);
  if (!decoded || !*decoded) {
    return out + fmt::format(" {}, not a packet: \"{}\"", text::counted(bytes.size(), "byte"),
                             escape(bytes, most));
  }
  const wire::Packet& packet = (*decoded)->packet;
  out += fmt::format(" {}", wire::name(packet));
  if (const auto* publish = std::get_if<wire::Publish>(&packet)) {
    out += publish_line(*publish, most);
  } else if (const auto* ack = std::get_if<wire::Ack>(&packet)) {
    if (ack->reason != 0) out += fmt::format(" with reason code 0x{:02x}", ack->reason);
  } else if (const auto* connack = std::get_if<wire::Connack>(&packet)) {
    if (connack->session_present) out += ", session present";
    if (connack->reason != 0) out += fmt::format(" with reason code 0x{:02x}", connack->reason);
  } else if (const auto* disconnect = std::get_if<wire::Disconnect>(&packet)) {
    if (disconnect->reason != 0)
      out += fmt::format(" with reason code 0x{:02x}", disconnect->reason);
  } else if (const auto* subscribe = std::get_if<wire::Subscribe>(&packet)) {
    for (const auto& each : subscribe->subscriptions) out += " " + escape(each.filter, most);
  }
  return out;
}

}  // namespace fencepost::client_run
