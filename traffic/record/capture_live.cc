#include "traffic/record/capture_live.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/topics.h"

namespace fencepost::record {
namespace {

using endpoint::Error;
using std::chrono::microseconds;

constexpr endpoint::Duration kPoll = std::chrono::milliseconds{100};
constexpr std::size_t kMaxFilters = 1'000;  // response topics that are subscribed to
constexpr std::size_t kMaxRecorded = std::size_t{64} << 20U;  // bytes of messages
constexpr const char* kAllClients = "clients/#";

microseconds wall_now() {
  return std::chrono::duration_cast<microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

// What it takes to keep one, roughly: short properties take more than their bytes.
std::size_t kept_bytes(const codec::Message& message) {
  std::size_t out = sizeof(CapturedMessage) + message.topic.size() + message.payload.size();
  out += message.response_topic.value_or("").size() + message.correlation_data.value_or("").size();
  for (const auto& [name, value] : message.user_properties) {
    out += sizeof(std::pair<std::string, std::string>) + name.size() + value.size();
  }
  return out;
}

class Recorder {
 public:
  Recorder(endpoint::Client& client, endpoint::Clock& clock)
      : client_(client), offset_(wall_now() - clock.now()) {}

  // The request topic first: without it there is nothing to record.
  Result<void, Error> subscribe(const std::vector<std::string>& more) {
    if (auto done = add(std::string(codec::kRequestTopic)); !done) return done;
    for (const std::string& filter : more) {
      if (auto done = add(filter); !done) return done;
    }
    if (covers(kAllClients)) return {};
    auto all = add(kAllClients);
    if (all) return {};
    if (all.error().kind != endpoint::ErrorKind::kNotAllowed) return all;
    auto notifications = add(std::string(codec::kStorePrefix) + "/+/command/notify/+");
    if (notifications) return {};
    if (notifications.error().kind != endpoint::ErrorKind::kNotAllowed) return notifications;
    out_.sees_notifications = false;
    out_.unknown.emplace_back(
        "the broker does not let the recorder subscribe to notifications: they are not recorded");
    return {};
  }

  // False: the connection is gone.
  bool take(const endpoint::Event& event) {
    if (std::holds_alternative<endpoint::Disconnected>(event.what)) return false;
    const auto* received = std::get_if<endpoint::MessageReceived>(&event.what);
    if (received == nullptr) return true;
    const codec::Message& message = received->message;
    const bool request = message.topic == codec::kRequestTopic;
    bytes_ += kept_bytes(message);
    // A retained message is of the past.
    if (request && message.retain) return true;
    // Where subscriptions overlap, some brokers send a message for each.
    if (!out_.events.empty() && repeats_last(message)) return true;
    out_.events.emplace_back(CapturedMessage{
        .direction = request ? CaptureDirection::kToStore : CaptureDirection::kToClient,
        .client_id = {},
        .client_known = false,
        .time = offset_ + event.time,
        .message = message});
    if (request && message.response_topic) learn(*message.response_topic);
    return true;
  }

  // No scenario is made of more than that, and this machine's memory has an end.
  [[nodiscard]] bool is_full() const { return bytes_ > kMaxRecorded; }

  Capture& capture() { return out_; }

 private:
  Result<void, Error> add(const std::string& filter) {
    auto done = client_.subscribe(filter);
    if (done) filters_.push_back(filter);
    return done;
  }

  [[nodiscard]] bool covers(std::string_view topic) const {
    return std::any_of(filters_.begin(), filters_.end(), [&](const std::string& filter) {
      return filter == topic || codec::filter_matches(filter, topic);
    });
  }

  [[nodiscard]] bool repeats_last(const codec::Message& message) const {
    const auto* last = std::get_if<CapturedMessage>(&out_.events.back());
    return last != nullptr && filters_.size() > 2 && last->message == message;
  }

  void learn(const std::string& topic) {
    if (codec::response_topic_fault(topic) || covers(topic) || refused_.contains(topic)) return;
    const bool full = filters_.size() >= kMaxFilters;
    if (!full && add(topic)) {
      out_.unknown.push_back("responses to " + escape(topic, 80) +
                             " are recorded only after the first request");
      return;
    }
    refused_.insert(topic);
    out_.unknown.push_back("responses to " + escape(topic, 80) +
                           (full ? " are not recorded: too many topics"
                                 : " are not recorded: the broker refuses the subscription"));
  }

  endpoint::Client& client_;
  microseconds offset_;
  Capture out_{.sees_notifications = true};
  std::vector<std::string> filters_;
  std::set<std::string> refused_;
  std::size_t bytes_ = 0;
};

Error lost_by(const endpoint::Disconnected& how) {
  std::string text = how.text.empty() ? "the broker ended the connection" : how.text;
  if (!how.section.empty()) {
    text = fmt::format("the broker does what MQTT 5 forbids a server, section {} (ENV-MQTT5-3): {}",
                       how.section, text);
  }
  return {endpoint::ErrorKind::kLost, std::move(text), how.reason_code};
}

}  // namespace

Result<LiveCapture, Error> capture_live(endpoint::Endpoint& endpoint,
                                        const LiveCaptureOptions& options,
                                        const std::atomic<bool>& stop,
                                        const std::function<void()>& ready,
                                        const std::function<void(const Capture&)>& watch) {
  auto session = endpoint.open_session();
  if (!session) return fail(session.error());
  auto client = (*session)->connect({.client_id = options.client_id});
  if (!client) return fail(client.error());
  endpoint::Clock& clock = (*session)->clock();
  Recorder recorder(**client, clock);
  recorder.capture().unknown.emplace_back(
      "recorded as a subscriber: client ids are derived from response topics, ends of connections, "
      "QoS and flags were not seen");
  if (auto subscribed = recorder.subscribe(options.filters); !subscribed) {
    return fail(subscribed.error());
  }
  ready();
  LiveCapture out;
  const endpoint::Duration begin = clock.now();
  while (!stop && (!options.time || clock.now() - begin < *options.time)) {
    const auto event = (*client)->receive(kPoll);
    if (event && !recorder.take(*event)) {
      out.lost = lost_by(std::get<endpoint::Disconnected>(event->what));
      break;
    }
    if (recorder.is_full()) {
      recorder.capture().unknown.push_back(fmt::format(
          "the recording ended after {} MiB of messages, which is the limit", kMaxRecorded >> 20U));
      break;
    }
    if (!event) watch(recorder.capture());
  }
  out.capture = std::move(recorder.capture());
  return out;
}

}  // namespace fencepost::record
