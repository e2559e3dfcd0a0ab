#include "reference_store/service.h"

#include "base/check.h"
#include "codec/command.h"
#include "codec/topics.h"

namespace fencepost::store {
namespace {

constexpr std::string_view kStatusOk = "200";

// What every message of the store has in common.
codec::Message outgoing() {
  codec::Message message;
  message.qos = 1;
  message.retain = false;
  message.content_type = std::string(codec::kContentType);
  message.payload_format = std::uint8_t{0};
  return message;
}

}  // namespace

bool Handler::serves(std::string_view topic) const { return topic == codec::kRequestTopic; }

Service::Service(ServiceOptions options)
    : dialect_(codec::dialect(options.dialect)),
      limits_(options.limits),
      store_(std::move(options.store)) {}

Handling Service::handle(const Caller& caller, const codec::Message& request, const Instant& now,
                         std::vector<Delivery>& out) {
  // Before the command is read: whether it takes effect is open (ENV-RESPONSE-TOPIC-OPEN-4), and we
  // refuse before we act. Req: ENV-RESPONSE-TOPIC-4
  if (request.response_topic && codec::response_topic_fault(*request.response_topic)) {
    return Handling::kDisconnect;
  }
  // "The request fails", and how is not said. Without a response topic there is nowhere to answer,
  // without correlation data no client could match the answer; QoS 0 goes the same way. The PUBACK
  // says nothing of the outcome (ENV-ASYNC-1).
  // Req: ENV-QOS-1, ENV-RESPONSE-TOPIC-5, ENV-CORRELATION-2
  if (request.qos != 1 || !request.response_topic || !request.correlation_data) {
    return Handling::kIgnored;
  }
  const auto command = codec::parse_command(request.payload, dialect_, limits_);
  Outcome outcome;
  std::optional<codec::Verb> verb;
  if (command) {
    verb = command->verb;
    outcome = store_.apply(caller,
                           {.command = *command,
                            .timestamp = request.property(codec::kTimestampProperty),
                            .token = request.property(codec::kTokenProperty)},
                           now, events_);
    // Notifications before the response: a client that stops observing after its last SET must have
    // them when the response to STOP arrives. The SDKs close their channel then.
    flush_events(out);
  } else {
    // A payload that is no request may still name a verb, by which errors are spelled: that of
    // KEYNOTIFY has a prefix of its own in one dialect. Req: RESP-INVALID-1
    verb = codec::verb_of(request.payload, limits_);
    outcome.reply = {.kind = codec::ReplyKind::kError, .error = command.error()};
  }
  out.push_back({.client_id = {}, .message = response(request, outcome, verb)});
  return Handling::kAnswered;
}

void Service::expire(const Instant& now, std::vector<Delivery>& out) {
  store_.expire(now, events_);
  flush_events(out);
}

codec::Message Service::response(const codec::Message& request, const Outcome& outcome,
                                 std::optional<codec::Verb> verb) const {
  codec::Message message = outgoing();
  message.topic = *request.response_topic;
  message.correlation_data = request.correlation_data;
  codec::append_reply(message.payload, outcome.reply, verb, dialect_);
  message.user_properties.reserve(2);
  // 200 for errors, too: the SDKs do not read the payload under any other status.
  // Req: ENV-STATUS-1
  message.user_properties.emplace_back(codec::kStatusProperty, kStatusOk);
  if (outcome.version) {
    message.user_properties.emplace_back(codec::kTimestampProperty, version_text(*outcome.version));
  }
  return message;
}

void Service::flush_events(std::vector<Delivery>& out) {
  for (Event& event : events_) {
    codec::Message message = outgoing();
    std::optional<std::string> topic = codec::notification_topic(event.client_id, event.key);
    FENCEPOST_CHECK(topic.has_value());  // KEYNOTIFY refuses keys that are too long for a topic
    message.topic = std::move(*topic);
    codec::append_notification(message.payload,
                               {.operation = event.operation, .value = event.value}, dialect_);
    message.user_properties.emplace_back(codec::kTimestampProperty, version_text(event.version));
    out.push_back({.client_id = std::move(event.client_id), .message = std::move(message)});
  }
  events_.clear();
}

std::string Service::version_text(const hlc::Timestamp& version) const {
  return hlc::format(version,
                     dialect_.padded_versions ? hlc::Padding::kCanonical : hlc::Padding::kNone);
}

}  // namespace fencepost::store
