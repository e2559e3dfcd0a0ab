#include "traffic/record/explainer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/text/text_wrap.h"
#include "codec/notification.h"
#include "codec/topics.h"
#include "traffic/record/capture_rules.h"
#include "traffic/record/plain_text.h"

namespace fencepost::record {
namespace {

using codec::ReplyKind;
using codec::Verb;
using std::chrono::microseconds;

constexpr std::size_t kMaxShownBytes = 60;
// More keys than anybody reads about: then what is known of them is forgotten.
constexpr std::size_t kMaxKeys = 100'000;

std::string shown_bytes(std::string_view bytes) {
  return "\"" + escape(bytes, kMaxShownBytes) + "\"";
}

std::string shown_word(std::string_view bytes) {
  const bool plain = !bytes.empty() && bytes.size() <= kMaxShownBytes && is_plain(bytes) &&
                     bytes.find(' ') == std::string_view::npos;
  return plain ? std::string(bytes) : shown_bytes(bytes);
}

// "SET my-key "one" NX", "GET my-key at QoS 0"
std::string shown_request(const CapturedMessage& request, const ReadExchange& read) {
  std::string out;
  const bool has_value = read.verb() && codec::has_value(*read.verb());
  for (std::size_t i = 0; i < read.arguments.size(); ++i) {
    if (i > 0) out += ' ';
    out += has_value && i == 2 ? shown_bytes(read.arguments[i]) : shown_word(read.arguments[i]);
  }
  if (read.arguments.empty()) out = "the payload " + shown_bytes(request.message.payload);
  if (request.message.qos != 1) out += fmt::format(" at QoS {}", request.message.qos);
  return out;
}

constexpr std::string_view kDisconnected = "disconnected";

// Why a request gets no response, and the rule; nothing for a request that needs a response.
struct Unanswerable {
  std::string_view requirement;
  std::string_view what;
};

std::optional<Unanswerable> unanswerable(const codec::Message& request) {
  if (request.response_topic && codec::response_topic_fault(*request.response_topic)) {
    return Unanswerable{"ENV-RESPONSE-TOPIC-4", kDisconnected};
  }
  if (request.qos != 1) return Unanswerable{"ENV-QOS-1", "ignored"};
  if (!request.response_topic) {
    return Unanswerable{"ENV-RESPONSE-TOPIC-5",
                        "ignored, without a response topic (MQTT 3.1.1 has none)"};
  }
  if (!request.correlation_data) {
    return Unanswerable{"ENV-CORRELATION-2", "ignored, without correlation data"};
  }
  return std::nullopt;
}

std::string meaning_of(const ReadExchange& read) {
  if (!read.reply) return ", which is not a response of the protocol";
  switch (read.reply->kind) {
    case ReplyKind::kMissing:
      return " (no such key)";
    case ReplyKind::kNotApplied:
      return " (not applied)";
    case ReplyKind::kValue:
      return " " + shown_bytes(read.reply->value);
    case ReplyKind::kCount:
      return read.command && read.command->verb == Verb::kKeynotify
                 ? ""
                 : fmt::format(" ({} deleted)", read.reply->count);
    case ReplyKind::kOk:
    case ReplyKind::kError:
      return "";
  }
  return "";
}

// "+OK", "$3 "one"", "-ERR missing timestamp"
std::string shown_reply(const codec::Message& reply, const ReadExchange& read) {
  const std::string_view payload = reply.payload;
  return escape(payload.substr(0, payload.find("\r\n")), kMaxShownBytes) + meaning_of(read);
}

}  // namespace

std::string Explainer::with_sentence(std::string_view requirement) const {
  const std::string text = text_of_rule_(requirement);
  return fmt::format("{}{}{}", requirement, text.empty() ? "" : ": ", text);
}

KeyNow& Explainer::key_now(std::string_view key, microseconds at) {
  if (keys_.size() >= kMaxKeys) keys_.clear();
  KeyNow& now = keys_[std::string(key)];
  if (now.exists && now.expires_after && at > now.received + *now.expires_after) remove(now, true);
  return now;
}

void Explainer::see(const CapturedEvent& event, std::vector<std::string>& lines) {
  if (const auto* message = std::get_if<CapturedMessage>(&event)) {
    see_message(*message, lines);
  } else {
    see_end(std::get<CapturedConnection>(event), lines);
  }
}

void Explainer::see_message(const CapturedMessage& message, std::vector<std::string>& lines) {
  if (message.direction == CaptureDirection::kToStore) {
    tell_ignored(lines);
    waiting_.push_back(message);
    return;
  }
  if (!message.client_id.empty()) return tell_notification(message, lines);
  const auto request =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const CapturedMessage& each) {
        return each.message.response_topic == message.message.topic &&
               each.message.correlation_data == message.message.correlation_data;
      });
  if (request == waiting_.end()) {
    lines.push_back(fmt::format("a message on {} that matches no request: {}",
                                shown_bytes(message.message.topic),
                                shown_bytes(message.message.payload)));
    return;
  }
  tell_answer(*request, message, lines);
  waiting_.erase(request);
}

void Explainer::tell_answer(const CapturedMessage& request, const CapturedMessage& reply,
                            std::vector<std::string>& lines) {
  const TimelineItem item{.client_id = request.client_id,
                          .message = &request.message,
                          .reply = &reply.message,
                          .sent = request.time,
                          .received = reply.time};
  const ReadExchange read = record::read(item);
  KeyNow& key = key_now(read.key(), request.time);
  const std::string_view rule = requirement_of(item, read, key);
  const bool error = !read.reply || read.answered(ReplyKind::kError);
  lines.push_back(fmt::format("{}: {}: {}, {}", shown_word(request.client_id),
                              shown_request(request, read), shown_reply(reply.message, read),
                              error ? with_sentence(rule) : std::string(rule)));
  follow(key, item, read);
}

void Explainer::tell_notification(const CapturedMessage& message,
                                  std::vector<std::string>& lines) const {
  const auto target = codec::parse_notification_topic(message.message.topic);
  const auto read = codec::decode_notification(message.message.payload);
  if (!target || !read) {
    lines.push_back(fmt::format("{}: receives {}, which is not a notification of the protocol",
                                shown_word(message.client_id),
                                shown_bytes(message.message.payload)));
    return;
  }
  const bool set = read->operation == codec::Operation::kSet;
  lines.push_back(fmt::format("{}: receives NOTIFY {} {}{}, {}", shown_word(message.client_id),
                              set ? "SET" : "DELETE", shown_word(target->key),
                              set ? " " + shown_bytes(read->value) : std::string(),
                              set ? "NTF-SEND-1" : "NTF-SEND-2"));
}

void Explainer::see_end(const CapturedConnection& connection, std::vector<std::string>& lines) {
  if (connection.begins) return;
  if (connection.by_store) {
    const auto request = std::find_if(
        waiting_.rbegin(), waiting_.rend(),
        [&](const CapturedMessage& each) { return each.client_id == connection.client_id; });
    if (request != waiting_.rend()) {
      const auto why = unanswerable(request->message);
      const bool expected = why && why->what == kDisconnected;
      lines.push_back(
          fmt::format("{}: {}: disconnected{}", shown_word(connection.client_id),
                      shown_request(*request, record::read({.message = &request->message})),
                      expected ? fmt::format(" for its response topic {}, {}",
                                             shown_bytes(*request->message.response_topic),
                                             with_sentence("ENV-RESPONSE-TOPIC-4"))
                               : ", which no conforming store does"));
      waiting_.erase(std::next(request).base());
    }
  }
  std::size_t ended = 0;
  for (auto& [key, now] : keys_) ended += now.observers.erase(connection.client_id);
  if (ended > 0) {
    lines.push_back(fmt::format("{}: its connection ended, and with it {}, LIFE-DISCONNECT-1",
                                shown_word(connection.client_id),
                                text::counted(ended, "registration")));
  }
}

void Explainer::tell_unanswered(const CapturedMessage& request, const std::string& outcome,
                                std::vector<std::string>& lines) const {
  lines.push_back(fmt::format("{}: {}: {}", shown_word(request.client_id),
                              shown_request(request, record::read({.message = &request.message})),
                              outcome));
}

void Explainer::tell_ignored(std::vector<std::string>& lines) {
  std::erase_if(waiting_, [&](const CapturedMessage& request) {
    const auto why = unanswerable(request.message);
    if (!why || why->what == kDisconnected) return false;
    tell_unanswered(request, fmt::format("{}, {}", why->what, with_sentence(why->requirement)),
                    lines);
    return true;
  });
}

void Explainer::settle(microseconds now, std::vector<std::string>& lines) {
  if (!waiting_.empty() && now - waiting_.back().time >= kGrace) tell_ignored(lines);
  std::erase_if(waiting_, [&](const CapturedMessage& request) {
    if (now - request.time < kPatience) return false;
    tell_unanswered(
        request,
        fmt::format("no response within {} s, but a conforming store sends one", kPatience.count()),
        lines);
    return true;
  });
}

}  // namespace fencepost::record
