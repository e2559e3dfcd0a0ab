#include "conformance/run/case_client.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/topics.h"

namespace fencepost::run {

using endpoint::Duration;

CaseClient::CaseClient(std::string name, std::unique_ptr<endpoint::Client> client,
                       std::string client_id, endpoint::Clock& clock, Duration start,
                       std::vector<TranscriptEntry>& transcript, std::shared_ptr<Received> received)
    : name_(std::move(name)),
      client_(std::move(client)),
      client_id_(std::move(client_id)),
      clock_(clock),
      start_(start),
      transcript_(transcript),
      received_(std::move(received)) {}

std::string CaseClient::response_topic() const {
  return codec::recommended_response_topic(client_id_);
}

Result<Pending*, endpoint::Error> CaseClient::send(const codec::Message& message) {
  const Duration now = clock_.now();
  transcript_.push_back(make_entry(now - start_, name_, Direction::kSent, message));
  requests_.push_back({.response_topic = message.response_topic.value_or(""),
                       .correlation_data = message.correlation_data,
                       .sent = now});
  if (auto sent = client_->publish(message); !sent) {
    requests_.pop_back();
    note("not sent: " + sent.error().text);
    return fail(sent.error());
  }
  return &requests_.back();
}

bool CaseClient::pump_until(const std::function<bool()>& done, Duration timeout) {
  const Duration deadline = clock_.now() + timeout;
  while (!done()) {
    const Duration left = deadline - clock_.now();
    if (left <= Duration::zero() || disconnected_) return false;
    if (const auto event = client_->receive(left)) take(*event);
  }
  return true;
}

void CaseClient::drain() {
  while (const auto event = client_->receive(Duration::zero())) take(*event);
}

void CaseClient::note(std::string summary) {
  transcript_.push_back({.time = clock_.now() - start_,
                         .client = name_,
                         .direction = Direction::kEvent,
                         .summary = std::move(summary)});
}

void CaseClient::take(const endpoint::Event& event) {
  if (const auto* received = std::get_if<endpoint::MessageReceived>(&event.what)) {
    take_message(received->message, event.time);
  } else if (const auto* refused = std::get_if<endpoint::PublishRefused>(&event.what)) {
    take_refusal(*refused);
  } else if (const auto* gone = std::get_if<endpoint::Disconnected>(&event.what)) {
    note(gone->reason_code
             ? fmt::format("disconnected by the broker with 0x{:02x}", *gone->reason_code)
             : "connection closed by the broker");
    disconnected_ = *gone;
  }
}

void CaseClient::take_refusal(const endpoint::PublishRefused& refused) {
  note(fmt::format("the broker refused the PUBLISH with 0x{:02x}", refused.reason_code));
  bool answered = false;
  for (Pending& request : requests_) {
    if (request.correlation_data.value_or("") != refused.correlation_data || request.refused) {
      continue;
    }
    if (!request.reply) {
      request.refused = refused.reason_code;
      return;
    }
    answered = true;
  }
  // Req: ENV-PUBACK-1. Clients take the request for failed, and it was carried out.
  if (answered) {
    surprises_.push_back(fmt::format(
        "a PUBACK with reason code 0x{:02x} for a request that was answered", refused.reason_code));
  }
}

void CaseClient::take_message(const codec::Message& message, Duration time) {
  transcript_.push_back(make_entry(time - start_, name_, Direction::kReceived, message));
  if (is_redelivery(message)) {
    note("the broker delivered this message again");
    return;
  }
  received_->push_back(message);
  if (message.topic.starts_with(codec::kStorePrefix)) {
    const auto target = codec::parse_notification_topic(message.topic);
    if (target && target->client_id == client_id_) {
      notifications_.push_back({message, target->key, time});
      return;
    }
    surprises_.push_back("a notification on the topic " + escape(message.topic, 300) +
                         ", which is not this client's or not upper-case Base16");
    return;
  }
  if (Pending* request = find_request(message)) {
    request->reply = message;
    request->replied = time;
    return;
  }
  surprises_.push_back(fmt::format(
      "a message on the topic {} with correlation data {} that answers no open request: {}",
      escape(message.topic, 300),
      message.correlation_data ? "\"" + escape(*message.correlation_data, 40) + "\"" : "absent",
      summarize(message)));
}

// A message with the DUP flag that has been received before.
bool CaseClient::is_redelivery(const codec::Message& message) const {
  if (!message.duplicate) return false;
  return std::any_of(received_->begin(), received_->end(), [&](codec::Message earlier) {
    earlier.duplicate = true;
    return earlier == message;
  });
}

// The oldest unanswered request that this message can be the response to.
Pending* CaseClient::find_request(const codec::Message& message) {
  // Most are answered in turn: of thousands those at the front need not be looked at again.
  while (answered_ < requests_.size() && requests_[answered_].reply) ++answered_;
  const auto begin = requests_.begin() + static_cast<std::ptrdiff_t>(answered_);
  const auto found = std::find_if(begin, requests_.end(), [&](const Pending& request) {
    return !request.reply && !request.closed && request.response_topic == message.topic &&
           request.correlation_data == message.correlation_data;
  });
  return found == requests_.end() ? nullptr : &*found;
}

}  // namespace fencepost::run
