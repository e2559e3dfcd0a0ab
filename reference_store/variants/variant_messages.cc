#include "reference_store/variants/variant_messages.h"

#include <algorithm>
#include <cstdint>

#include "codec/topics.h"
#include "reference_store/variants/variant_gate.h"

namespace fencepost::store {

using codec::ReplyKind;
using codec::Verb;

codec::Message VariantMessages::begun() const {
  codec::Message out;
  out.qos = 1;
  if (is_.is<"own-content-type", "octet-stream">()) {
    out.content_type = std::string(codec::kContentType);
  }
  if (is_.is<"other-content-type", "text-plain">()) out.content_type = "text/plain";
  if (is_.is<"more-properties", "before">())
    out.user_properties.emplace_back("traceparent", "00-1");
  return out;
}

void VariantMessages::finish(codec::Message& message) const {
  if (is_.is<"more-properties", "behind">()) {
    message.user_properties.emplace_back("__srcId", "StateStore");
    message.user_properties.emplace_back("__protVer", "1.0");
  }
  if (is_.is<"own-payload-format", "absent">()) return;
  const bool text = std::all_of(message.payload.begin(), message.payload.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x80 && byte != 0;
  });
  message.payload_format = std::uint8_t{text && is_.is<"own-payload-format", "1-for-text">()};
}

codec::Message VariantMessages::response(const codec::Message& request,
                                         const VariantAnswer& answer) const {
  codec::Message out = begun();
  out.qos = is_.is<"response-qos", "0">() ? 0 : 1;
  out.topic = *request.response_topic;
  out.correlation_data = request.correlation_data;
  const auto verb = codec::verb_of(request.payload);
  const codec::Dialect& dialect = is_.is<"keynotify-error", "plain">() && verb == Verb::kKeynotify
                                      ? codec::dialect(codec::DialectId::kDeployed)
                                      : dialect_;
  if (answer.array) {
    out.payload = "*0\r\n";
  } else if (answer.own_words) {
    out.payload = verb == Verb::kKeynotify ? std::string(dialect.keynotify_error_prefix) : "-ERR ";
    out.payload += "the request is not understood\r\n";
  } else {
    codec::append_reply(out.payload, answer.reply, verb, dialect);
    if (answer.reply.kind == ReplyKind::kError) change_error(verb, out.payload);
  }
  const std::string_view status = status_of(request, is_);
  if (status != kExecuted) out.payload.clear();
  if (status == "505") out.user_properties.emplace_back("__supProtMajVer", "1");
  if (status != kExecuted || is_.is<"status", "200">()) {
    out.user_properties.emplace_back(codec::kStatusProperty, status);
  }
  if (answer.version) {
    out.user_properties.emplace_back(codec::kTimestampProperty, version_text(*answer.version));
  }
  finish(out);
  return out;
}

// An error that the protocol lists, as the article alone lets a store spell it.
void VariantMessages::change_error(std::optional<Verb> verb, std::string& payload) const {
  constexpr std::string_view kLineEnd = "\r\n";
  payload.resize(payload.size() - kLineEnd.size());
  if (is_.is<"error-detail", "behind-the-text">()) payload += ": see the log";
  // The article prints its first error without line end, that of KEYNOTIFY with one.
  if (verb == Verb::kKeynotify || is_.is<"error-line-end", "cr-lf">()) payload += kLineEnd;
}

std::string VariantMessages::version_text(const hlc::Timestamp& version) const {
  if (is_.is<"version-padding", "20-10">()) {
    const auto padded = [](std::uint64_t number, std::size_t width) {
      std::string digits = std::to_string(number);
      return std::string(width - std::min(width, digits.size()), '0') + digits;
    };
    return padded(version.wall_ms, 20) + ":" + padded(version.counter, 10) + ":" + version.node;
  }
  const bool padded = is_.is<"version-padding", "15-5">() ||
                      (is_.is<"version-padding", "as-the-dialect">() && dialect_.padded_versions);
  return hlc::format(version, padded ? hlc::Padding::kCanonical : hlc::Padding::kNone);
}

std::optional<codec::Message> VariantMessages::notification(const Recipient& to,
                                                            const std::string& key,
                                                            const codec::Notification& what,
                                                            const hlc::Timestamp& version) const {
  const auto topic = codec::notification_topic(to.client_id, key);
  if (!topic) return std::nullopt;
  codec::Message out = begun();
  out.topic = *topic;
  out.qos = is_.is<"notification-qos", "0">() ? 0 : 1;
  out.retain = is_.is<"notification-retain", "1">();
  if (what.operation == codec::Operation::kSet && !to.with_get &&
      is_.is<"value-without-get", "not-told">()) {
    out.payload = codec::encode_command({"NOTIFY", "SET"});
  } else {
    codec::append_notification(out.payload, what, dialect_);
  }
  out.user_properties.emplace_back(codec::kTimestampProperty, version_text(version));
  finish(out);
  return out;
}

}  // namespace fencepost::store
