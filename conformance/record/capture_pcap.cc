#include "conformance/record/capture_pcap.h"

#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "codec/topics.h"
#include "conformance/record/tshark.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;

constexpr std::string_view kPacketBegin = "<packet>";
constexpr std::string_view kPacketEnd = "</packet>";
constexpr std::size_t kMaxPacket = std::size_t{64} << 20U;  // of PDML

// Control packets of MQTT.
constexpr int kConnect = 1;
constexpr int kConnack = 2;
constexpr int kPublish = 3;
constexpr int kDisconnect = 14;

// Properties of MQTT 5.
constexpr int kPayloadFormat = 0x01;
constexpr int kExpiry = 0x02;
constexpr int kContentType = 0x03;
constexpr int kResponseTopic = 0x08;
constexpr int kCorrelationData = 0x09;
constexpr int kAssignedClientId = 0x12;
constexpr int kTopicAlias = 0x23;

// The bytes of a field, which PDML has as hexadecimal digits.
std::string field_bytes(const pugi::xml_node& field) {
  const std::string_view digits = field.attribute("value").value();
  std::string out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    out += static_cast<char>(number_in<unsigned>(digits.substr(i, 2), 16).value_or(0));
  }
  return out;
}

std::uint32_t number_of(const pugi::xml_node& field) {
  return number_in<std::uint32_t>(field.attribute("value").value(), 16).value_or(0);
}

bool is(const pugi::xml_node& field, std::string_view name) {
  return field.attribute("name").value() == name;
}

pugi::xml_node child(const pugi::xml_node& parent, const char* name) {
  return parent.find_child_by_attribute("field", "name", name);
}

pugi::xml_node descendant(const pugi::xml_node& parent, std::string_view name) {
  return parent.find_node([&](const pugi::xml_node& node) { return is(node, name); });
}

bool is_set(const pugi::xml_node& parent, std::string_view name) {
  const std::string_view shown = descendant(parent, name).attribute("show").value();
  return shown == "1" || shown == "True";
}

std::optional<microseconds> time_of_packet(const pugi::xml_node& packet) {
  return time_in(descendant(packet, "timestamp").attribute("value").value());
}

// Some versions of tshark show a content type together with its length.
std::string without_length(std::string text) {
  constexpr std::size_t kLength = 2;
  if (text.size() < kLength) return text;
  const std::size_t length = static_cast<std::size_t>(static_cast<unsigned char>(text[0])) * 256U +
                             static_cast<unsigned char>(text[1]);
  return length + kLength == text.size() ? text.substr(kLength) : text;
}

struct Properties {
  std::optional<std::string> assigned_client_id{};
  std::uint32_t topic_alias = 0;
};

void take_property(int id, const pugi::xml_node& field, codec::Message& message, Properties& out) {
  switch (id) {
    case kPayloadFormat:
      message.payload_format = static_cast<std::uint8_t>(number_of(field));
      break;
    case kExpiry:
      message.expiry_seconds = number_of(field);
      break;
    case kContentType:
      message.content_type = without_length(field_bytes(field));
      break;
    case kResponseTopic:
      message.response_topic = field_bytes(field);
      break;
    case kCorrelationData:
      message.correlation_data = field_bytes(field);
      break;
    case kAssignedClientId:
      out.assigned_client_id = field_bytes(field);
      break;
    case kTopicAlias:
      out.topic_alias = number_of(field);
      break;
    default:
      break;
  }
}

// The fields of one list: an id, then its value; of a user property key and value.
Properties read_properties(const pugi::xml_node& list, codec::Message& message) {
  Properties out;
  int id = 0;
  std::string key;
  for (const pugi::xml_node& field : list.children("field")) {
    const std::string_view name = field.attribute("name").value();
    if (name == "mqtt.property_id") {
      id = static_cast<int>(number_of(field));
    } else if (name == "mqtt.prop_key") {
      key = field_bytes(field);
    } else if (name == "mqtt.prop_value") {
      message.user_properties.emplace_back(std::move(key), field_bytes(field));
      key.clear();
    } else if (!name.ends_with("_len")) {
      take_property(id, field, message, out);
    }
  }
  return out;
}

}  // namespace

// One TCP connection.
struct Stream {
  std::string client_id{};
  bool known = false;
  bool ended = false;
  std::map<std::uint32_t, std::string> to_store{};  // topics by alias
  std::map<std::uint32_t, std::string> to_client{};
};

struct PdmlReader::State {
  std::uint16_t port;
  Capture capture{};
  std::map<std::string, Stream> streams{};
  std::size_t repeated = 0;
  std::size_t packets = 0;
  std::string pending{};  // the beginning of an element

  [[nodiscard]] Result<void, std::string> add_packet(std::string_view xml);
  void add(const pugi::xml_node& packet);
  void add_control_packet(const pugi::xml_node& mqtt, Stream& stream, bool to_store,
                          microseconds time);
  void publish(const pugi::xml_node& mqtt, Stream& stream, bool to_store, microseconds time);
  void end(Stream& stream, bool by_store, microseconds time);
};

void PdmlReader::State::add(const pugi::xml_node& packet) {
  const pugi::xml_node tcp = packet.find_child_by_attribute("proto", "name", "tcp");
  const auto time = time_of_packet(packet);
  if (!tcp || !time) return;
  const bool to_store = child(tcp, "tcp.dstport").attribute("show").as_uint() == port;
  if (!to_store && child(tcp, "tcp.srcport").attribute("show").as_uint() != port) return;
  Stream& stream = streams[child(tcp, "tcp.stream").attribute("show").value()];
  for (const pugi::xml_node& proto : packet.children("proto")) {
    if (is(proto, "mqtt")) add_control_packet(proto, stream, to_store, *time);
  }
  if (is_set(tcp, "tcp.flags.fin") || is_set(tcp, "tcp.flags.reset")) {
    end(stream, !to_store, *time);
  }
}

void PdmlReader::State::add_control_packet(const pugi::xml_node& mqtt, Stream& stream,
                                           bool to_store, microseconds time) {
  ++packets;
  codec::Message ignored;
  switch (descendant(mqtt, "mqtt.msgtype").attribute("show").as_int()) {
    case kConnect:
      stream.client_id = field_bytes(child(mqtt, "mqtt.clientid"));
      stream.known = !stream.client_id.empty();
      break;
    case kConnack: {
      const auto properties = read_properties(child(mqtt, "mqtt.properties"), ignored);
      if (!properties.assigned_client_id) break;
      stream.client_id = *properties.assigned_client_id;
      stream.known = true;
      break;
    }
    case kPublish:
      publish(mqtt, stream, to_store, time);
      break;
    case kDisconnect:
      end(stream, !to_store, time);
      break;
    default:
      break;
  }
}

void PdmlReader::State::publish(const pugi::xml_node& mqtt, Stream& stream, bool to_store,
                                microseconds time) {
  codec::Message message;
  message.topic = field_bytes(child(mqtt, "mqtt.topic"));
  message.payload = field_bytes(child(mqtt, "mqtt.msg"));
  message.qos = descendant(mqtt, "mqtt.qos").attribute("show").as_int();
  message.retain = is_set(mqtt, "mqtt.retain");
  message.duplicate = is_set(mqtt, "mqtt.dupflag");
  const auto properties = read_properties(child(mqtt, "mqtt.properties"), message);
  if (properties.topic_alias != 0) {
    std::string& topic = (to_store ? stream.to_store : stream.to_client)[properties.topic_alias];
    if (!message.topic.empty()) topic = message.topic;
    message.topic = topic;
  }
  if (message.duplicate) {
    ++repeated;
    return;
  }
  if (to_store != (message.topic == codec::kRequestTopic)) return;  // none of the store's
  if (!stream.known && message.response_topic) {
    stream.client_id = client_of_response_topic(*message.response_topic);
  }
  // What others subscribe to is no second notification.
  const auto target = codec::parse_notification_topic(message.topic);
  if (target && stream.known && target->client_id != stream.client_id) return;
  const bool reply = !to_store && !target;
  capture.events.emplace_back(CapturedMessage{
      .direction = to_store ? CaptureDirection::kToStore : CaptureDirection::kToClient,
      .client_id = stream.client_id,
      .client_known = stream.known || reply,
      .time = time,
      .message = std::move(message)});
}

void PdmlReader::State::end(Stream& stream, bool by_store, microseconds time) {
  if (stream.ended) return;
  stream.ended = true;
  if (stream.client_id.empty()) return;
  capture.events.emplace_back(CapturedConnection{
      .client_id = stream.client_id, .time = time, .begins = false, .by_store = by_store});
}

PdmlReader::PdmlReader(std::uint16_t port) : state_(std::make_unique<State>(State{.port = port})) {
  state_->capture = {.sees_replies = true, .sees_notifications = true, .sees_packets = true};
}

PdmlReader::~PdmlReader() = default;

Result<void, std::string> PdmlReader::State::add_packet(std::string_view xml) {
  pugi::xml_document document;
  const auto parsed = document.load_buffer(xml.data(), xml.size());
  if (!parsed) return fail(std::string("not what tshark writes: ") + parsed.description());
  add(document.child("packet"));
  return {};
}

Result<void, std::string> PdmlReader::add(std::string_view printed) {
  std::string& pending = state_->pending;
  pending += printed;
  for (std::size_t end = pending.find(kPacketEnd); end != std::string::npos;
       end = pending.find(kPacketEnd)) {
    const std::size_t begin = pending.find(kPacketBegin);
    const std::size_t behind = end + kPacketEnd.size();
    if (begin < end) {
      auto added = state_->add_packet(std::string_view(pending).substr(begin, behind - begin));
      if (!added) return added;
    }
    pending.erase(0, behind);
  }
  if (pending.size() <= kMaxPacket) return {};
  return fail(std::string("a packet is larger than this program takes"));
}

Capture PdmlReader::finish() {
  Capture& capture = state_->capture;
  if (state_->packets == 0) {
    capture.unknown.push_back(fmt::format(
        "there is no MQTT to or from port {} in the capture (TLS cannot be read)", state_->port));
  }
  if (state_->repeated > 0) {
    capture.unknown.push_back(
        fmt::format("{} messages with the flag DUP were left out", state_->repeated));
  }
  for (const auto& [name, stream] : state_->streams) {
    if (stream.known || stream.client_id.empty()) continue;
    capture.unknown.push_back(
        "of some connections the begin is not in the capture: their client "
        "ids are derived from response topics");
    break;
  }
  return std::move(capture);
}

Result<Capture, std::string> read_pcap(const PcapOptions& options) {
  const std::string port = std::to_string(options.port);
  PdmlReader reader(options.port);
  Result<void, std::string> read;
  const auto ended =
      run_tshark(options.file,
                 {"-T", "pdml", "-J", "mqtt tcp", "-d", "tcp.port==" + port + ",mqtt", "-o",
                  "mqtt.default_version:MQTT v5.0", "-Y",
                  "tcp.port==" + port + " && (mqtt || tcp.flags.fin==1 || tcp.flags.reset==1)"},
                 [&](std::string_view some) {
                   if (read) read = reader.add(some);
                 });
  if (!ended) return fail(ended.error());
  if (!read) return fail(read.error());
  return reader.finish();
}

}  // namespace fencepost::record
