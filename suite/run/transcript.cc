#include "suite/run/transcript.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/durations.h"
#include "base/text/printable.h"
#include "codec/resp3.h"
#include "codec/topics.h"

namespace fencepost::run {
namespace {

constexpr std::size_t kMaxShown = 60;  // bytes of one argument on one line

std::string in_quotes(std::string_view bytes) { return "\"" + escape(bytes, kMaxShown) + "\""; }

// `SET "k" "v" NX`: the first argument bare when it is a word, the others quoted.
std::string summarize_command(const codec::CommandFrame& frame) {
  std::string out;
  const std::size_t shown = std::min(frame.count, codec::CommandFrame::kStored);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string_view argument = frame.arguments[i];
    const bool word =
        !argument.empty() && argument.size() < 12 &&
        argument.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos;
    if (!out.empty()) out += ' ';
    out += word ? std::string(argument) : in_quotes(argument);
  }
  if (frame.count > shown) out += fmt::format(" ... ({} arguments)", frame.count);
  return out;
}

std::string_view arrow(Direction direction) {
  switch (direction) {
    case Direction::kSent:
      return ">";
    case Direction::kReceived:
      return "<";
    case Direction::kEvent:
      return "*";
  }
  return " ";
}

// What an endpoint sends is kept for each packet of each case: no more of it than people read.
codec::Message kept(const codec::Message& message) {
  codec::Message out = message.head(kMaxTranscriptPayload);
  const std::size_t count = std::min(message.user_properties.size(), kMaxTranscriptProperties);
  out.user_properties.reserve(count);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count && bytes <= kMaxTranscriptPropertyBytes; ++i) {
    const auto& [name, value] = message.user_properties[i];
    bytes += std::min(name.size(), kMaxTranscriptText) + std::min(value.size(), kMaxTranscriptText);
    out.user_properties.emplace_back(name.substr(0, kMaxTranscriptText),
                                     value.substr(0, kMaxTranscriptText));
  }
  return out;
}

}  // namespace

std::string summarize(const codec::Message& message) {
  const auto frame = codec::decode_command(message.payload);
  std::string out = frame ? summarize_command(*frame) : escape(message.payload, kMaxShown * 2);
  if (message.topic != codec::kRequestTopic && codec::parse_notification_topic(message.topic)) {
    out += " of key " + in_quotes(codec::parse_notification_topic(message.topic)->key);
  }
  return out;
}

TranscriptEntry make_entry(endpoint::Duration time, const std::string& client, Direction direction,
                           const codec::Message& message) {
  return {time, client, direction, summarize(message), kept(message), message.payload.size()};
}

namespace {

std::size_t size_of_summary(const TranscriptEntry& entry) {
  return sizeof(entry) + entry.summary.size() + entry.client.size();
}

std::size_t size_of(const TranscriptEntry& entry) {
  const codec::Message& message = entry.message;
  std::size_t out = size_of_summary(entry) + message.topic.size() + message.payload.size() +
                    message.response_topic.value_or("").size() +
                    message.correlation_data.value_or("").size() +
                    message.content_type.value_or("").size();
  for (const auto& [name, value] : message.user_properties) {
    out += sizeof(std::pair<std::string, std::string>) + name.size() + value.size();
  }
  return out;
}

}  // namespace

TranscriptBudget::Keep TranscriptBudget::take(const TranscriptEntry& entry) {
  constexpr std::size_t kMaxInFull = std::size_t{64} << 20U;
  constexpr std::size_t kMax = std::size_t{80} << 20U;
  const std::size_t all = size_of(entry);
  if (used_ + all <= kMaxInFull) {
    used_ += all;
    return Keep::kAll;
  }
  const std::size_t summary = size_of_summary(entry);
  if (used_ + summary > kMax) return Keep::kNothing;
  used_ += summary;
  return Keep::kSummary;
}

void TranscriptBudget::give_back(const TranscriptEntry& entry) {
  const bool in_full = entry.message.correlation_data || !entry.message.payload.empty() ||
                       !entry.message.user_properties.empty();
  used_ -= in_full ? size_of(entry) : size_of_summary(entry);
}

std::string to_line(const TranscriptEntry& entry) {
  std::string out = fmt::format("{:10.3f} ms  {:<4} {} {}", in_milliseconds(entry.time),
                                text::one_line(entry.client), arrow(entry.direction),
                                text::one_line(entry.summary));
  for (const auto& [name, value] : entry.message.user_properties) {
    out += fmt::format("  {}={}", escape(name, 40), escape(value, 60));
  }
  if (entry.direction == Direction::kSent && entry.message.qos != 1) {
    out += fmt::format("  qos={}", entry.message.qos);
  }
  return out;
}

}  // namespace fencepost::run
