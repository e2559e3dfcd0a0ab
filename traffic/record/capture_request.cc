#include "traffic/record/capture_request.h"

#include <algorithm>
#include <utility>

#include "codec/topics.h"
#include "traffic/record/plain_text.h"

namespace fencepost::record {
namespace {

using scenario::BytesSpec;
using scenario::CommandBytes;
using scenario::KeyBytes;

// A user property that belongs to the protocol. Others are not recorded.
bool is_of_protocol(std::string_view name) {
  return name.starts_with("__") || name == "aio-persistence";
}

// Is it one of the five verbs, with all its arguments, and options that any text can hold? Such a
// request says by itself which key it writes.
bool is_usual(const ReadExchange& exchange) {
  const auto verb = codec::verb_named(exchange.arguments[0]);
  const std::size_t first_option = verb && codec::has_value(*verb) ? 3 : 2;
  return verb && exchange.arguments.size() >= first_option &&
         std::all_of(exchange.arguments.begin() + static_cast<std::ptrdiff_t>(first_option),
                     exchange.arguments.end(), is_plain);
}

void add_payload(const codec::Message& message, const ReadExchange& exchange,
                 const std::map<std::string, std::string>& key_names,
                 scenario::RequestStep& request) {
  if (exchange.arguments.empty()) {
    request.payload = bytes_of(message.payload);
    return;
  }
  CommandBytes command;
  for (const std::string_view argument : exchange.arguments) {
    command.arguments.push_back(bytes_of(argument));
  }
  const bool usual = is_usual(exchange);
  const std::string key(exchange.key());
  if (!key.empty()) command.arguments[1] = {KeyBytes{key_names.at(key), {}}};
  if (usual ? exchange.arguments[0] == "SET" : !key.empty()) {
    request.written_keys.push_back(command.arguments[1]);
  }
  request.payload.what = std::move(command);
}

void add_envelope(const codec::Message& message, bool sees_packets,
                  scenario::RequestStep& request) {
  if (sees_packets) {
    request.qos = message.qos;
    request.retain = message.retain;
  }
  request.no_response_topic = !message.response_topic;
  // A right one is the client's own, as far as the case is concerned.
  if (message.response_topic && codec::response_topic_fault(*message.response_topic)) {
    request.response_topic = bytes_of(*message.response_topic);
  }
  request.no_correlation = !message.correlation_data;
  if (message.correlation_data && message.correlation_data->empty()) {
    request.correlation = bytes_of("");
  }
  request.content_type = message.content_type;
  request.payload_format = message.payload_format;
  request.expiry_seconds = message.expiry_seconds;
  for (const auto& [name, value] : message.user_properties) {
    // If there are repeated ones, the last counts, which has a member of its own.
    const bool own = name == codec::kTimestampProperty || name == codec::kTokenProperty;
    if (own && &value == message.property(name)) continue;
    if (is_of_protocol(name)) request.user_properties.emplace_back(name, value);
  }
}

}  // namespace

BytesSpec bytes_of(std::string_view bytes) { return {scenario::LiteralBytes{std::string(bytes)}}; }

scenario::RequestStep request_step(const codec::Message& message, const ReadExchange& exchange,
                                   const std::map<std::string, std::string>& key_names,
                                   bool sees_packets) {
  scenario::RequestStep out;
  add_payload(message, exchange, key_names, out);
  add_envelope(message, sees_packets, out);
  return out;
}

}  // namespace fencepost::record
