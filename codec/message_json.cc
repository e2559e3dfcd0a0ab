#include "codec/message_json.h"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "codec/base16.h"

namespace fencepost::codec {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kMaxQos = 2;

// In full: a reader gets the bytes back.
std::string escape_all(const std::string& bytes) { return escape(bytes, bytes.size()); }

std::vector<std::pair<std::string, std::string>> properties_of(const JsonMembers& members) {
  std::vector<std::pair<std::string, std::string>> out;
  members.each("user_properties", [&](const json& pair, const std::string& where) {
    const bool fits =
        pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string();
    if (!fits) {
      members.diagnose("user_properties", "must be a list of [name, value]");
      return;
    }
    out.emplace_back(members.to_bytes(pair[0].get<std::string>(), where),
                     members.to_bytes(pair[1].get<std::string>(), where));
  });
  return out;
}

}  // namespace

ordered_json to_json(const Message& message) {
  ordered_json out;
  out["topic"] = escape_all(message.topic);
  out["payload"] = escape_all(message.payload);
  out["qos"] = message.qos;
  out["retain"] = message.retain;
  if (message.duplicate) out["duplicate"] = true;
  if (message.response_topic) out["response_topic"] = escape_all(*message.response_topic);
  if (message.correlation_data) out["correlation_data"] = base16_encode(*message.correlation_data);
  if (message.content_type) out["content_type"] = escape_all(*message.content_type);
  if (message.payload_format) out["payload_format"] = *message.payload_format;
  if (message.expiry_seconds) out["expiry_seconds"] = *message.expiry_seconds;
  ordered_json properties = ordered_json::array();
  for (const auto& [name, value] : message.user_properties) {
    properties.push_back(ordered_json::array({escape_all(name), escape_all(value)}));
  }
  out["user_properties"] = std::move(properties);
  return out;
}

Message message_of(const JsonMembers& members) {
  Message out;
  out.topic = members.bytes("topic");
  out.payload = members.bytes("payload");
  out.qos = members.integer<int>("qos");
  if (out.qos > kMaxQos) members.wrong("qos", "0, 1 or 2");
  out.retain = members.flag("retain");
  out.duplicate = members.flag_if_there("duplicate");
  if (members.has("response_topic")) out.response_topic = members.bytes("response_topic");
  if (members.has("content_type")) out.content_type = members.bytes("content_type");
  if (members.has("payload_format")) {
    out.payload_format = members.integer<std::uint8_t>("payload_format");
  }
  if (members.has("expiry_seconds")) {
    out.expiry_seconds = members.integer<std::uint32_t>("expiry_seconds");
  }
  if (members.has("correlation_data")) {
    out.correlation_data = base16_decode(members.text("correlation_data"));
    if (!out.correlation_data) members.wrong("correlation_data", "upper-case Base16");
  }
  out.user_properties = properties_of(members);
  return out;
}

}  // namespace fencepost::codec
