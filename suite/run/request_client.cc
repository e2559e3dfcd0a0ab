#include "suite/run/request_client.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/command.h"
#include "codec/resp3.h"
#include "codec/topics.h"
#include "endpoint/cancellation.h"
#include "endpoint/connector.h"

namespace fencepost::run {
namespace {

constexpr std::size_t kMaxOfTopic = 300;  // that people see
constexpr std::size_t kMaxOfPayload = 120;

// Bytes of notifications and of unsolicited messages to one client.
constexpr std::size_t kMaxReceived = std::size_t{16} << 20U;

// Could a store take this for a KEYNOTIFY, however it spells verbs?
bool may_register(std::string payload) {
  std::transform(payload.begin(), payload.end(), payload.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return payload.find("NOTIFY") != std::string::npos;
}

// What is kept of a message, with what is said of it and the blocks that it takes: of many small
// ones most of the memory is that.
std::size_t size_of(const codec::Message& message) {
  constexpr std::size_t kBesides = 768;
  std::size_t out = sizeof(UnsolicitedMessage) + kBesides + message.payload.size() +
                    message.topic.size() + message.correlation_data.value_or("").size();
  for (const auto& [name, value] : message.user_properties) {
    out += sizeof(std::pair<std::string, std::string>) + name.size() + value.size();
  }
  return out;
}

// The same for a message and for its duplicate, and for hardly any two others.
std::size_t digest(const codec::Message& message) {
  std::size_t out = 0;
  const auto add = [&](std::size_t number) { out = out * 0x9e3779b97f4a7c15U + number + 1; };
  const auto add_text = [&](std::string_view text) { add(std::hash<std::string_view>{}(text)); };
  const auto add_optional = [&](const std::optional<std::string>& text) {
    add(text ? 1 : 0);
    if (text) add_text(*text);
  };
  add_text(message.topic);
  add_text(message.payload);
  add(static_cast<std::size_t>(message.qos));
  add(message.retain ? 1 : 0);
  add_optional(message.response_topic);
  add_optional(message.correlation_data);
  add_optional(message.content_type);
  add(message.payload_format ? std::size_t{*message.payload_format} + 1 : 0);
  add(message.expiry_seconds ? std::size_t{*message.expiry_seconds} + 1 : 0);
  for (const auto& [name, value] : message.user_properties) {
    add_text(name);
    add_text(value);
  }
  return out;
}

}  // namespace

using endpoint::Duration;

RequestClient::RequestClient(std::string name, std::unique_ptr<endpoint::Client> client,
                             std::string client_id, endpoint::Clock& clock,
                             std::optional<Recording> recording, std::shared_ptr<Received> received)
    : name_(std::move(name)),
      client_(std::move(client)),
      client_id_(std::move(client_id)),
      clock_(clock),
      recording_(recording),
      received_(received ? std::move(received) : std::make_shared<Received>()) {}

RequestClient::RequestClient(std::string name, SpareClient spare, endpoint::Clock& clock,
                             std::optional<Recording> recording, std::shared_ptr<Received> received)
    : RequestClient(std::move(name), std::move(spare.connection), std::move(spare.client_id), clock,
                    recording, std::move(received)) {
  earlier_ = std::move(spare.correlation_data);
  earlier_keys_ = std::move(spare.observed);
}

std::string RequestClient::response_topic() const {
  return codec::recommended_response_topic(client_id_);
}

codec::Message RequestClient::request(const std::vector<std::string_view>& arguments) {
  codec::Message message;
  message.topic = codec::kRequestTopic;
  message.payload = codec::encode_command(arguments);
  message.response_topic = response_topic();
  do {
    message.correlation_data = fmt::format("{:0{}}", ++own_requests_, kCorrelationBytes);
  } while (earlier_.contains(*message.correlation_data));
  return message;
}

Result<judge::Exchange*, endpoint::Error> RequestClient::send(
    codec::Message request, const std::optional<endpoint::RawPacket>& odd) {
  const Duration now = clock_.now();
  record(now, Direction::kSent, request);
  // The wall clock is read before the message leaves: the store handles it later than that.
  judge::Exchange& exchange =
      exchanges_.emplace_back(std::move(request), now, static_cast<std::int64_t>(clock_.wall_ms()));
  const auto sent =
      odd ? client_->publish_raw(exchange.request, *odd) : client_->publish(exchange.request);
  if (!sent) {
    exchanges_.pop_back();
    note("not sent: " + sent.error().text);
    return fail(sent.error());
  }
  return &exchange;
}

bool RequestClient::await(const judge::Exchange& exchange, Duration timeout) {
  return pump_until([&] { return exchange.is_over(); }, timeout);
}

bool RequestClient::await_loosely(judge::Exchange& exchange, Duration timeout) {
  const auto is_meant = [&](const UnsolicitedMessage& unsolicited) {
    const std::optional<codec::Message>& message = unsolicited.message;
    return message && (message->topic == exchange.request.response_topic ||
                       message->correlation_data == exchange.request.correlation_data);
  };
  const auto find = [&] {
    return std::find_if(unsolicited_.begin(), unsolicited_.end(), is_meant);
  };
  pump_until([&] { return exchange.is_over() || find() != unsolicited_.end(); }, timeout);
  if (const auto found = find(); !exchange.is_over() && found != unsolicited_.end()) {
    exchange.reply.emplace(*found->message, found->time, wall_at(found->time));
    unsolicited_.erase(found);
  }
  return exchange.is_over();
}

bool RequestClient::pump_until(const std::function<bool()>& done, Duration timeout) {
  const Duration deadline = clock_.now() + timeout;
  while (!done()) {
    const Duration left = deadline - clock_.now();
    if (left <= Duration::zero() || disconnected_) return false;
    if (auto event = client_->receive(left)) {
      take(*std::move(event));
    } else if (endpoint::waits_have_ended()) {
      return false;
    }
  }
  return true;
}

void RequestClient::drain() {
  while (auto event = client_->receive(Duration::zero())) take(*std::move(event));
}

void RequestClient::take_read() {
  while (auto event = client_->take()) take(*std::move(event));
}

void RequestClient::note(std::string summary) {
  if (!recording_) return;
  keep({.time = clock_.now() - recording_->start,
        .client = name_,
        .direction = Direction::kEvent,
        .summary = std::move(summary)});
}

void RequestClient::record(Duration time, Direction direction, const codec::Message& message) {
  if (!recording_) return;
  keep(make_entry(time - recording_->start, name_, direction, message));
}

// However much an endpoint sends, a transcript is for people.
void RequestClient::keep(TranscriptEntry entry) {
  using enum TranscriptBudget::Keep;
  const auto kept = recording_->budget == nullptr ? kAll : recording_->budget->take(entry);
  if (kept == kNothing) return;
  if (kept == kSummary) {
    entry.message = {.topic = entry.message.topic.substr(0, kMaxTranscriptText)};
  }
  recording_->transcript.push_back(std::move(entry));
}

void RequestClient::take(endpoint::Event event) {
  if (auto* received = std::get_if<endpoint::MessageReceived>(&event.what)) {
    take_message(std::move(received->message), event.time);
  } else if (const auto* refused = std::get_if<endpoint::PublishRefused>(&event.what)) {
    take_refusal(*refused, event.time);
  } else if (const auto* gone = std::get_if<endpoint::Disconnected>(&event.what)) {
    note(gone->reason_code
             ? fmt::format("disconnected by the broker with 0x{:02x}", *gone->reason_code)
             : "connection closed by the broker");
    disconnected_ = *gone;
  }
}

// A PUBACK names a packet; which request that was is known by its correlation data, which several
// may share. (MQTT 5, 3.4)
void RequestClient::take_refusal(const endpoint::PublishRefused& refused, Duration time) {
  if (refused.reason_code < endpoint::kFirstErrorReason) {
    note(fmt::format("PUBACK with reason code 0x{:02x}", refused.reason_code));
    // It has been acknowledged, and is carried out or not. (Req: ENV-PUBACK-1)
    unsolicited_.push_back(
        {.text = fmt::format("a PUBACK with reason code 0x{:02x}, which MQTT does not have (MQTT "
                             "5, 3.4.2.1)",
                             refused.reason_code),
         .rule = "ENV-PUBACK-1",
         .time = time});
    return;
  }
  note(fmt::format("the broker refused the PUBLISH with 0x{:02x}", refused.reason_code));
  bool answered = false;
  for (judge::Exchange& exchange : exchanges_) {
    if (exchange.request.correlation_data.value_or("") != refused.correlation_data ||
        exchange.refused) {
      continue;
    }
    if (!exchange.reply) {
      exchange.refused = refused.reason_code;
      return;
    }
    answered = true;
  }
  // Req: ENV-PUBACK-1. Clients take the request for failed, and it was carried out.
  if (answered) {
    unsolicited_.push_back({.text = fmt::format("a PUBACK with reason code 0x{:02x} for a request "
                                                "that was answered",
                                                refused.reason_code),
                            .rule = "ENV-PUBACK-1",
                            .time = time});
  }
}

void RequestClient::take_message(codec::Message message, Duration time) {
  record(time, Direction::kReceived, message);
  if (is_redelivery(message)) {
    note("the broker delivered this message again");
    return;
  }
  const bool notifies = message.topic.starts_with(codec::kStorePrefix);
  judge::Exchange* exchange = notifies ? nullptr : find_request(message);
  if (exchange == nullptr && is_of_earlier(message)) {
    note("this belongs to a request from before this case");
    return;
  }
  // A response that was published with RETAIN: it comes again after each subscription to its topic.
  // (MQTT 5, 3.3.1.3; Req: ENV-RESPONSE-OPEN-1)
  if (exchange == nullptr && message.retain && !notifies) {
    note("the broker has retained this message");
    return;
  }
  if (exchange == nullptr && floods(message)) return;
  held_.add(size_of(message));
  received_->insert(digest(message));
  if (notifies) {
    take_notification(std::move(message), time);
    return;
  }
  if (exchange != nullptr) {
    exchange->reply.emplace(std::move(message), time, wall_at(time));
    return;
  }
  text::Phrase text = text::Phrase("a message on the topic ")
                          .bytes(message.topic, kMaxOfTopic)
                          .words(" with correlation data ");
  if (message.correlation_data) {
    text.correlation_data(*message.correlation_data, 40);
  } else {
    text.words("absent");
  }
  text.words(" that answers no open request: ");
  if (codec::decode_command(message.payload)) {
    text.words(summarize(message));
  } else {
    text.bytes(message.payload, kMaxOfPayload);
  }
  text.means("a message that answers no open request");
  std::string rule(judge::rule_of_unasked(message, exchanges_));
  unsolicited_.push_back({.text = std::move(text),
                          .rule = std::move(rule),
                          .message = std::move(message),
                          .time = time});
}

// A fresh connection would never have seen it.
bool RequestClient::is_of_earlier(const codec::Message& message) const {
  if (!earlier_keys_.empty() && message.topic.starts_with(codec::kStorePrefix)) {
    const auto target = codec::parse_notification_topic(message.topic);
    return target && target->client_id == client_id_ && earlier_keys_.contains(target->key);
  }
  return message.correlation_data && earlier_.contains(*message.correlation_data) &&
         message.topic == response_topic();
}

bool RequestClient::end_registrations(Duration timeout) {
  std::set<std::string, std::less<>> keys;
  for (const judge::Exchange& exchange : exchanges_) {
    const std::string& payload = exchange.request.payload;
    const auto command = codec::parse_command(payload, codec::dialect(codec::DialectId::kDeployed));
    if (command && command->verb == codec::Verb::kKeynotify) {
      keys.emplace(command->key);
    } else if (may_register(payload)) {
      return false;
    }
  }
  std::vector<const judge::Exchange*> sent;
  for (const std::string& key : keys) {
    const auto exchange = send(request({"KEYNOTIFY", key, "STOP"}));
    if (!exchange) return false;
    sent.push_back(*exchange);
  }
  registrations_ended_ = pump_until(
      [&] {
        return std::all_of(sent.begin(), sent.end(), [](const judge::Exchange* each) {
          return each->reply && !each->reply->is(codec::ReplyKind::kError);
        });
      },
      timeout);
  // What was on its way may come late, where the store sends it late. (Req: NTF-ORDER-OPEN-2)
  earlier_keys_.merge(keys);
  return registrations_ended_;
}

bool RequestClient::is_clean(std::size_t unique_bytes) const {
  if (!client_ || disconnected_ || !unsolicited_.empty() || !notifications_.empty()) return false;
  std::set<std::string_view> used;
  return std::all_of(exchanges_.begin(), exchanges_.end(), [&](const judge::Exchange& exchange) {
    const codec::Message& request = exchange.request;
    if (!exchange.reply || exchange.refused) return false;
    if (!registrations_ended_ && may_register(request.payload)) return false;
    if (request.response_topic != response_topic() || !request.correlation_data) return false;
    // What a case has chosen itself, another may choose, too.
    const std::string& correlation = *request.correlation_data;
    return (correlation.size() == kCorrelationBytes || correlation.size() == unique_bytes) &&
           !earlier_.contains(correlation) && used.insert(correlation).second;
  });
}

SpareClient RequestClient::release() {
  for (const judge::Exchange& exchange : exchanges_) {
    earlier_.insert(*exchange.request.correlation_data);
  }
  return {std::move(client_), client_id_, std::move(earlier_), std::move(earlier_keys_)};
}

// All that a case receives is kept until its end. More than any case can request, beside replies,
// ends its connection: the memory of this machine is not the endpoint's to fill.
bool RequestClient::floods(const codec::Message& message) {
  unasked_bytes_ += size_of(message);
  const bool many = unasked_bytes_ > kMaxReceived || held_.is_too_much();
  if (!many || received_->empty()) return false;
  note("the endpoint floods this client, which disconnects");
  client_->drop();
  disconnected_ = endpoint::Disconnected{
      .text = unasked_bytes_ > kMaxReceived
                  ? fmt::format("the endpoint floods: more than {} MiB of messages to one client",
                                kMaxReceived >> 20U)
                  : fmt::format("the endpoint floods: more than {} MiB of messages in all",
                                endpoint::kMaxHeldOfAll >> 20U)};
  return true;
}

void RequestClient::take_notification(codec::Message message, Duration time) {
  const auto target = codec::parse_notification_topic(message.topic);
  // Req: NTF-TOPIC-1, NTF-TOPIC-3
  if (target && target->client_id == client_id_) {
    const bool open = !exchanges_.empty() && !exchanges_.back().is_over();
    const auto [last, first] = notified_.try_emplace(digest(message), time);
    const auto before = first ? std::nullopt : std::optional(std::exchange(last->second, time));
    notifications_.push_back({std::move(message), target->key, time, open, before});
    return;
  }
  const auto key = target ? std::optional<std::string_view>(target->key) : std::nullopt;
  unsolicited_.push_back(
      {.text = text::Phrase("a notification on the topic ")
                   .bytes(message.topic, kMaxOfTopic)
                   .words(", which is not this client's or not upper-case Base16")
                   .means("a notification on another topic"),
       .rule = std::string(judge::rule_of_other_topic(key, exchanges_)),
       .message = message,
       .time = time});
}

// A message with the DUP flag that has been received before. (MQTT 5, 3.3.1.1)
bool RequestClient::is_redelivery(const codec::Message& message) const {
  if (!message.duplicate) return false;
  return received_->contains(digest(message));
}

// The oldest unanswered request that this message can be the response to.
judge::Exchange* RequestClient::find_request(const codec::Message& message) {
  // Most are answered in turn: of thousands those at the front need not be looked at again.
  while (answered_ < exchanges_.size() && exchanges_[answered_].reply) ++answered_;
  const auto begin = exchanges_.begin() + static_cast<std::ptrdiff_t>(answered_);
  const auto found = std::find_if(begin, exchanges_.end(), [&](const judge::Exchange& exchange) {
    // Correlation data of no bytes may be none. (Req: ENV-CORRELATION-OPEN-1)
    return !exchange.reply && !exchange.closed &&
           exchange.request.response_topic.value_or("") == message.topic &&
           exchange.request.correlation_data.value_or("") == message.correlation_data.value_or("");
  });
  return found == exchanges_.end() ? nullptr : &*found;
}

void RequestClient::forget_answered() {
  for (; !exchanges_.empty() && exchanges_.front().reply; exchanges_.pop_front()) {
    held_.remove(size_of(exchanges_.front().reply->message));
  }
  answered_ = 0;
}

// What our wall clock read at most at that time, which is in the past.
std::int64_t RequestClient::wall_at(Duration time) const {
  const Duration passed = clock_.now() - time;  // read first, so that it is rather too short
  return static_cast<std::int64_t>(clock_.wall_ms()) -
         std::chrono::floor<std::chrono::milliseconds>(passed).count();
}

}  // namespace fencepost::run
