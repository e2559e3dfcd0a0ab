#include "clients/serve/store_client.h"

#include <algorithm>
#include <random>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "clients/serve/sender.h"
#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/topics.h"
#include "endpoint/connector.h"
#include "endpoint/packet_size.h"
#include "reference_store/served/control.h"

namespace fencepost::serve {
namespace {

using endpoint::Duration;
using endpoint::Error;
using endpoint::ErrorKind;

constexpr Duration kPatience = std::chrono::milliseconds{500};  // for the answer of another store
constexpr Duration kFirstPause = std::chrono::milliseconds{100};
constexpr Duration kLongestPause = std::chrono::seconds{10};
constexpr std::size_t kTogether = 64;  // requests whose answers are written together
constexpr int kSessionTakenOver = 0x8e;
// MQTT 5, 3.8.3.1: a retained request is not sent to us when we subscribe (again).
constexpr std::uint8_t kNothingRetained = 32;
// Of a request that does not say who sends it, in the log.
constexpr std::string_view kUnknown = "?";

std::string random_digits() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// A read of a key that nobody has: does another store answer?
codec::Message question(const std::string& client_id, const std::string& correlation_data) {
  const std::string key = "fencepost-serve/" + correlation_data;
  codec::Message out;
  out.topic = codec::kRequestTopic;
  out.payload = fmt::format("*2\r\n$3\r\nGET\r\n${}\r\n{}\r\n", key.size(), key);
  out.qos = 1;
  out.response_topic = codec::recommended_response_topic(client_id);
  out.correlation_data = correlation_data;
  return out;
}

}  // namespace

StoreClient::StoreClient(endpoint::Endpoint& endpoint, StoreClientOptions options,
                         std::optional<served::TrafficLog> log, Tell tell)
    : endpoint_(endpoint),
      options_(std::move(options)),
      tell_(std::move(tell)),
      store_(options_.store, std::move(log), [this](const std::string& text) { tell_once(text); }) {
}

Result<void, Error> StoreClient::open() {
  auto session = endpoint_.open_session();
  if (!session) return fail(session.error());
  session_ = std::move(*session);
  store_.start(now(), false);
  return connect();
}

Result<void, Error> StoreClient::connect() {
  auto client = session_->connect(
      {.client_id = options_.client_id, .extras = {.subscription_options = kNothingRetained}});
  if (!client) return fail(client.error());
  client_ = std::move(*client);
  auto ready = [&]() -> Result<void, Error> {
    auto another = another_store_answers();
    if (!another) return fail(another.error());
    if (*another) return fail(another_store());
    if (auto done = client_->subscribe(std::string(codec::kRequestTopic)); !done) return done;
    if (!options_.store.control) return {};
    send(store_.control_state_message().message);
    return client_->subscribe(std::string(served::kControlTopic));
  }();
  if (!ready) client_.reset();
  return ready;
}

// Before requests reach us: who answers now is another one.
Result<bool, Error> StoreClient::another_store_answers() {
  question_ = random_digits();
  const codec::Message request = question(options_.client_id, question_);
  const Duration begin = session_->clock().now();
  if (auto done = client_->subscribe(*request.response_topic); !done) return fail(done.error());
  const Duration round_trip = session_->clock().now() - begin;
  if (auto done = client_->publish(request); !done) return fail(done.error());
  const Duration deadline = session_->clock().now() + kPatience + 4 * round_trip;
  while (session_->clock().now() < deadline) {
    const auto event = client_->receive(deadline - session_->clock().now());
    if (!event) break;
    if (const auto* refused = std::get_if<endpoint::PublishRefused>(&event->what)) {
      // A PUBACK of a reason that MQTT does not have refuses nothing. (3.4.2.1)
      if (refused->reason_code < endpoint::kFirstErrorReason) continue;
      return fail(Error{
          ErrorKind::kNotAllowed,
          fmt::format("the broker refuses a request, with reason 0x{:02x}", refused->reason_code)});
    }
    if (std::holds_alternative<endpoint::Disconnected>(event->what)) {
      return fail(Error{ErrorKind::kLost, "the connection ended"});
    }
    if (is_own_reply(std::get<endpoint::MessageReceived>(event->what).message)) return true;
  }
  return false;
}

bool StoreClient::is_own_reply(const codec::Message& message) const {
  return message.correlation_data == question_ &&
         message.topic == codec::recommended_response_topic(options_.client_id);
}

Error StoreClient::another_store() const {
  return {ErrorKind::kInvalid,
          "another state store answers requests at this broker, and clients would get two replies; "
          "stop it, or use a broker without one"};
}

Result<void, Error> StoreClient::serve(Duration time) {
  const Duration deadline = session_->clock().now() + time;
  for (Duration at{0}; (at = session_->clock().now()) < deadline;) {
    const Duration until = std::min(deadline, store_.next_wake().value_or(deadline));
    if (client_) {
      const auto event = client_->receive(std::max(until - at, Duration::zero()));
      if (event) {
        if (auto done = take(*event); !done) return done;
      }
    } else if (at >= retry_at_) {
      if (auto done = reconnect(); !done) return done;
    } else {
      session_->clock().wait_until(std::min(until, retry_at_));
    }
    store_.expire(now());
    send_due({});  // an expiry answers no request
  }
  return {};
}

Result<void, Error> StoreClient::reconnect() {
  auto connected = connect();
  if (connected) {
    pause_ = Duration::zero();
    failure_.clear();
    tell("connected again");
    return {};
  }
  if (connected.error().kind == ErrorKind::kInvalid) return connected;
  if (connected.error().text != failure_) tell("cannot connect again: " + connected.error().text);
  failure_ = connected.error().text;
  pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
  retry_at_ = session_->clock().now() + pause_;
  return {};
}

// With what has come meanwhile: the answers to all of it are written together.
Result<void, Error> StoreClient::take(const endpoint::Event& first) {
  client_->gather(true);
  Result<void, Error> out;
  std::optional<endpoint::Event> event = first;
  for (std::size_t count = 0; event && out && client_; ++count) {
    if (const auto* received = std::get_if<endpoint::MessageReceived>(&event->what)) {
      out = take(received->message);
    } else if (const auto* refused = std::get_if<endpoint::PublishRefused>(&event->what)) {
      tell_once(fmt::format("the broker refuses a message of the store, with reason 0x{:02x}",
                            refused->reason_code));
    } else {
      out = lost(std::get<endpoint::Disconnected>(event->what));
    }
    event = client_ && count < kTogether ? client_->take() : std::nullopt;
  }
  if (client_) client_->gather(false);
  return out;
}

Result<void, Error> StoreClient::take(const codec::Message& message) {
  if (is_own_reply(message)) return fail(another_store());
  if (message.topic == codec::kRequestTopic) {
    handle(message);
  } else if (options_.store.control && message.topic == served::kControlTopic) {
    const std::string sender = sender_of(message);
    store_.control(sender.empty() ? std::string(kUnknown) : sender, message, now(), deliveries_);
    for (const store::Delivery& delivery : deliveries_) send(delivery.message);
    deliveries_.clear();
  }
  return {};
}

Result<void, Error> StoreClient::lost(const endpoint::Disconnected& end) {
  client_.reset();
  if (end.reason_code == kSessionTakenOver) {
    return fail(Error{ErrorKind::kLost, "another client has connected as " + options_.client_id +
                                            "; choose another id with --client-id"});
  }
  const std::string reason =
      end.reason_code ? fmt::format(" with reason 0x{:02x}", *end.reason_code) : "";
  tell(fmt::format("the broker ended the connection{}{}{}; connecting again", reason,
                   end.text.empty() ? "" : ": ", end.text));
  retry_at_ = session_->clock().now();
  return {};
}

void StoreClient::handle(const codec::Message& request) {
  std::string sender = sender_of(request);
  if (sender.empty()) {
    const auto verb = codec::verb_of(request.payload, options_.store.service.limits);
    if (verb == codec::Verb::kKeynotify) return refuse_unknown_observer(request);
    sender = kUnknown;
  }
  if (store_.handle({.client_id = sender}, request, now()) == store::Handling::kDisconnect) {
    tell_once(
        "a request is ignored whose client the store inside a broker disconnects, for its response "
        "topic for example; a client of the broker cannot do that");
  }
  send_due(sender);
}

// The topic of its notifications has its client id. Without a response topic there is no reply to
// any request.
void StoreClient::refuse_unknown_observer(const codec::Message& request) {
  constexpr const char* kWhy =
      "the client id is unknown; KEYNOTIFY needs it in the response topic, clients/ID/..., or in "
      "the user property __srcId";
  tell_once(fmt::format("a KEYNOTIFY is refused: {}", kWhy));
  const bool legal = request.response_topic && request.correlation_data && request.qos == 1 &&
                     !codec::response_topic_fault(*request.response_topic);
  if (!legal) return;
  codec::Message reply;
  reply.topic = *request.response_topic;
  reply.correlation_data = request.correlation_data;
  reply.payload = fmt::format(
      "{}{}\r\n", codec::dialect(options_.store.service.dialect).keynotify_error_prefix, kWhy);
  reply.qos = 1;
  reply.user_properties.emplace_back(codec::kStatusProperty, "200");
  send(reply);
}

void StoreClient::send_due(std::string_view caller) {
  store_.take(caller, now(), deliveries_);
  for (const store::Delivery& delivery : deliveries_) send(delivery.message);
  deliveries_.clear();
}

// While there is no connection, messages are lost, as they are for clients that are not connected.
void StoreClient::send(const codec::Message& message) {
  if (!client_) return;
  const auto limit = client_->packet_limit();
  if (limit && endpoint::publish_packet_size(message) > *limit) {
    return tell_once(
        fmt::format("a message of the store is not sent: the broker takes packets of at "
                    "most {} bytes",
                    *limit));
  }
  const auto sent = client_->publish(message);
  // The end of a connection is an event of its own.
  if (!sent && sent.error().kind != ErrorKind::kLost) {
    tell_once("a message of the store is not sent: " + sent.error().text);
  }
}

void StoreClient::tell(const std::string& text) const { tell_(endpoint_.url() + ": " + text); }

// What clients may cause, again and again.
void StoreClient::tell_once(const std::string& text) {
  constexpr std::size_t kMost = 100;
  if (reported_.size() < kMost && reported_.insert(text).second) tell(text);
}

served::Clocks StoreClient::now() const {
  const endpoint::Clock& clock = session_->clock();
  return {.wall = std::chrono::milliseconds{clock.wall_ms()}, .steady = clock.now()};
}

}  // namespace fencepost::serve
