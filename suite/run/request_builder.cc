#include "suite/run/request_builder.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "codec/topics.h"
#include "endpoint/packet_size.h"
#include "endpoint/wire/raw_publish.h"
#include "hlc/hlc.h"
#include "suite/scenario/packet_fill.h"
#include "suite/scenario/timestamp_expression.h"

namespace fencepost::run {
namespace {

using codec::Message;

std::string random_bytes(std::mt19937_64& random, std::size_t count) {
  std::string out;
  while (out.size() < count) out += static_cast<char>(random() & 0xffU);
  return out;
}

std::uint64_t not_negative(std::int64_t wall_ms) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(wall_ms, 0));
}

// What the first word of an expression stands for when it is not a saved timestamp.
std::uint64_t base_wall_ms(const scenario::TimestampExpression& expression,
                           const CaseState& state) {
  if (expression.base != scenario::kSkewLimit) return state.store_wall_ms();
  const std::int64_t now_ms = state.our_wall_ms();
  // Req: HLC-SKEW-1, HLC-SKEW-2. Only so much is known of the store's clock: a step below the limit
  // takes the last timestamp that any conforming store accepts, one above it the first that each
  // refuses even when the request takes its time to get there.
  if (expression.offset_ms < 0) return not_negative(state.store_clock.last_accepted_ms(now_ms));
  const std::int64_t latest_ms = now_ms + state.settings.one_way_delay_allowance.count();
  return not_negative(state.store_clock.first_refused_ms(latest_ms) - 1);
}

// The text of a timestamp; nothing when the request has none.
Result<std::optional<std::string>, Problem> timestamp_text(const scenario::TimestampSpec& spec,
                                                           const RequestClient& from,
                                                           const CaseState& state) {
  if (std::holds_alternative<scenario::NoTimestamp>(spec)) return std::optional<std::string>();
  if (const auto* literal = std::get_if<scenario::LiteralTimestamp>(&spec)) {
    return std::optional(literal->text);
  }
  const auto& expression = std::get<scenario::TimestampExpression>(spec);
  const bool unmodified = expression.offset_ms == 0 && expression.counter_offset == 0 &&
                          !expression.counter && !expression.node;
  // Req: LOCK-TOKEN-2. A version goes back as a token byte for byte, padding and all.
  if (const auto saved = state.saved.find(expression.base);
      unmodified && saved != state.saved.end()) {
    return std::optional(saved->second.text);
  }
  std::map<std::string, hlc::Timestamp> values;
  for (const auto& [name, timestamp] : state.saved) values[name] = timestamp.value;
  const auto value =
      scenario::evaluate(expression, base_wall_ms(expression, state), from.client_id(), values);
  if (!value) {
    return fail(Problem{.verdict = Verdict::kInconclusive,
                        .message = value.error(),
                        .kind = judge::Mismatch::kNothingSaved});
  }
  return std::optional(hlc::format(*value));
}

MaybeProblem add_timestamp(std::string_view property, const scenario::TimestampSpec& spec,
                           const RequestClient& from, const CaseState& state, Message& message) {
  auto text = timestamp_text(spec, from, state);
  if (!text) return text.error();
  if (*text) message.user_properties.emplace_back(property, **text);
  return std::nullopt;
}

// Comes last, as the payload may have to fill the packet.
MaybeProblem add_payload(const scenario::RequestStep& step, std::optional<std::uint32_t> limit,
                         CaseState& state, Message& message) {
  const auto filling = scenario::filling_in(step.payload);
  const auto size_with = [&](const std::string& bytes) {
    if (filling) state.fillings[filling->excess] = bytes;
    message.payload = state.bytes_of(step.payload);
    return endpoint::publish_packet_size(message);
  };
  if (!filling) {
    const std::size_t size = size_with({});
    // A client must not send more than the broker's CONNACK allows. (MQTT 5, 3.2.2.3.6)
    if (!limit || size <= *limit) return std::nullopt;
    return too_large_to_send(size, *limit);
  }
  const auto bytes = scenario::packet_filling({limit.value_or(0), filling->excess}, size_with);
  if (!limit || !bytes) {
    return Problem{.verdict = Verdict::kInconclusive,
                   .message = limit ? bytes.error() : "the broker announces no packet limit"};
  }
  (void)size_with(*bytes);
  return std::nullopt;
}

// All that does not depend on what happened before.
Message envelope(const scenario::RequestStep& step, const RequestClient& from, CaseState& state) {
  Message message;
  message.topic = step.topic ? judge::resolve(*step.topic, state.key_prefix)
                             : std::string(codec::kRequestTopic);
  message.qos = step.qos;
  message.retain = step.retain;
  message.content_type = step.content_type;
  message.payload_format = step.payload_format;
  message.expiry_seconds = step.expiry_seconds;
  message.user_properties = step.user_properties;
  if (!step.no_response_topic) {
    message.response_topic = step.response_topic
                                 ? judge::resolve(*step.response_topic, state.key_prefix)
                                 : from.response_topic();
  }
  if (!step.no_correlation) {
    message.correlation_data = step.correlation
                                   ? judge::resolve(*step.correlation, state.key_prefix)
                                   : random_bytes(state.random, kCorrelationBytes);
  }
  return message;
}

wire::Property property_of(const std::string& member, const Message& message) {
  using enum wire::PropertyId;
  if (member == "response_topic") return {.id = kResponseTopic, .text = *message.response_topic};
  if (member == "correlation") return {.id = kCorrelationData, .text = *message.correlation_data};
  if (member == "content_type") return {.id = kContentType, .text = *message.content_type};
  if (member == "payload_format") return {.id = kPayloadFormat, .number = *message.payload_format};
  FENCEPOST_CHECK(member == "expiry");  // the loader knows no others
  return {.id = kMessageExpiry, .number = *message.expiry_seconds};
}

}  // namespace

Problem too_large_to_send(std::size_t size, std::size_t limit) {
  return {.verdict = Verdict::kSkipped,
          .message = fmt::format("{} {} bytes, and the endpoint takes at most {}", kTooLargeToSend,
                                 size, limit)};
}

std::optional<endpoint::RawPacket> raw_packet(const scenario::RequestStep& step,
                                              const Message& message) {
  if (!step.packet) return std::nullopt;
  const scenario::PacketSpec& packet = *step.packet;
  endpoint::RawPacket out{.duplicate = packet.duplicate,
                          .qos_3 = packet.qos_3,
                          .packet_id = packet.id,
                          .wrong_length = packet.wrong_length};
  for (const std::string& member : packet.twice) {
    out.more_properties += wire::encode(property_of(member, message));
  }
  if (packet.topic_alias) {
    out.more_properties +=
        wire::encode({.id = wire::PropertyId::kTopicAlias, .number = *packet.topic_alias});
  }
  out.more_properties += packet.more_properties;
  return out;
}

Result<Message, Problem> build_request(const scenario::RequestStep& step, RequestClient& from,
                                       CaseState& state) {
  Message message = envelope(step, from, state);
  MaybeProblem problem =
      add_timestamp(codec::kTimestampProperty, step.timestamp, from, state, message);
  if (!problem) problem = add_timestamp(codec::kTokenProperty, step.token, from, state, message);
  if (!problem) problem = add_payload(step, from.raw().packet_limit(), state, message);
  if (problem) return fail(std::move(*problem));
  return message;
}

}  // namespace fencepost::run
