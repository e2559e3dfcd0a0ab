// The only file, with waker.cc, that includes Paho.

#include "endpoint/paho/client.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include <mqtt/async_client.h>

#include "endpoint/connector.h"
#include "endpoint/held_bytes.h"
#include "endpoint/paho/inbox.h"
#include "endpoint/paho/relay.h"
#include "endpoint/stream.h"
#include "endpoint/wire/packet.h"

namespace fencepost::endpoint {
namespace {

constexpr int kMaxBufferedMessages =
    100'000;  // Paho's default of 100 fails with "no more messages can be buffered"
constexpr auto kDisconnectTimeout = std::chrono::milliseconds{1'000};
// Paho writes greater numbers as signed ones, byte by byte, and gets other numbers.
constexpr std::uint32_t kMaxFourByteInteger = 0x7fff'ffff;

using Code = mqtt::property;

mqtt::properties to_paho_properties(const codec::Message& message) {
  mqtt::properties properties;
  if (message.payload_format) {
    properties.add(
        {Code::PAYLOAD_FORMAT_INDICATOR, static_cast<std::int32_t>(*message.payload_format)});
  }
  if (message.expiry_seconds) {
    properties.add(
        {Code::MESSAGE_EXPIRY_INTERVAL, static_cast<std::int32_t>(*message.expiry_seconds)});
  }
  if (message.content_type) properties.add({Code::CONTENT_TYPE, *message.content_type});
  if (message.response_topic) properties.add({Code::RESPONSE_TOPIC, *message.response_topic});
  if (message.correlation_data) properties.add({Code::CORRELATION_DATA, *message.correlation_data});
  for (const auto& [name, value] : message.user_properties) {
    properties.add({Code::USER_PROPERTY, name, value});
  }
  return properties;
}

template <typename T>
std::optional<T> read(const mqtt::properties& properties, Code::code code) {
  if (!properties.contains(code)) return std::nullopt;  // get() would throw
  return mqtt::get<T>(properties, code);
}

std::string text_of(const MQTTLenString& text) {
  return {text.data, static_cast<std::size_t>(text.len)};
}

codec::Message from_paho_message(const mqtt::message& from) {
  codec::Message message;
  message.topic = from.get_topic();
  message.payload = from.get_payload();
  message.qos = from.get_qos();
  message.retain = from.is_retained();
  message.duplicate = from.is_duplicate();
  const mqtt::properties& properties = from.get_properties();
  message.response_topic = read<std::string>(properties, Code::RESPONSE_TOPIC);
  message.correlation_data = read<std::string>(properties, Code::CORRELATION_DATA);
  message.content_type = read<std::string>(properties, Code::CONTENT_TYPE);
  message.payload_format = read<std::uint8_t>(properties, Code::PAYLOAD_FORMAT_INDICATOR);
  message.expiry_seconds = read<std::uint32_t>(properties, Code::MESSAGE_EXPIRY_INTERVAL);
  // As the C library has them: its functions search for the n-th from the first.
  const MQTTProperties& all = properties.c_struct();
  for (int i = 0; i < all.count; ++i) {
    const MQTTProperty& one =
        all.array[i];  // NOLINT(cppcoreguidelines-pro-bounds-pointer-arithmetic)
    if (one.identifier != MQTTPROPERTY_CODE_USER_PROPERTY) continue;
    message.user_properties.emplace_back(text_of(one.value.data), text_of(one.value.value));
  }
  return message;
}

// The token of a call that queues a command. Waiting for it is done without the lock.
template <typename Call>
auto start(Call call) {
  const std::lock_guard lock(paho_calls());
  return call();
}

class PahoClient final : public Client, private mqtt::iaction_listener {
 public:
  PahoClient(std::shared_ptr<PahoRelay> relay, const std::string& client_id,
             const MqttOptions& broker, std::function<void()> on_event)
      : relay_(std::move(relay)),
        client_(std::make_unique<mqtt::async_client>(
            "tcp://127.0.0.1:" + std::to_string(relay_->port()), client_id,
            mqtt::create_options(MQTTVERSION_5, kMaxBufferedMessages), nullptr)),
        timeout_(std::chrono::duration_cast<std::chrono::milliseconds>(broker.timeout)),
        packet_limit_(broker.capabilities.max_packet_size),
        on_event_(std::move(on_event)) {
    client_->set_message_callback(
        [this](const mqtt::const_message_ptr& message) { push_message(*message); });
    client_->set_connection_lost_handler(
        [this](const std::string&) { push_disconnected(std::nullopt); });
    client_->set_disconnected_handler([this](const mqtt::properties&, mqtt::ReasonCode reason) {
      push_disconnected(static_cast<int>(reason));
    });
  }
  ~PahoClient() override {
    disconnect();
    {
      const std::lock_guard lock(paho_calls());
      client_.reset();
    }
    relay_->end();
  }
  PahoClient(const PahoClient&) = delete;
  PahoClient& operator=(const PahoClient&) = delete;

  Result<void, Error> open(const mqtt::connect_options& options) {
    try {
      const mqtt::token_ptr token = start([&] { return client_->connect(options); });
      if (!token->wait_for(timeout_)) {
        return fail(
            Error{ErrorKind::kUnreachable, "the broker did not answer the CONNECT in time"});
      }
      const mqtt::connect_response response = token->get_connect_response();
      const auto announced =
          read<std::uint32_t>(response.get_properties(), Code::MAXIMUM_PACKET_SIZE);
      // A broker that states no limit (MQTT 5, 3.2.2.3.6) leaves that of the descriptor.
      if (announced) packet_limit_ = announced;
      has_resumed_ = response.is_session_present();
      takes_qos_0_only_ =
          read<std::uint8_t>(response.get_properties(), Code::MAXIMUM_QOS) == std::uint8_t{0};
      return {};
    } catch (const mqtt::exception& error) {
      // Paho reports the reason code of a CONNACK as a return code.
      const int reason = std::max(error.get_reason_code(), error.get_return_code());
      if (reason >= kFirstErrorReason) {
        return fail(refused_connection(reason));
      }
      const std::string why = relay_->why();
      return fail(Error{ErrorKind::kUnreachable,
                        "cannot connect to the broker: " + (why.empty() ? error.what() : why)});
    }
  }

  Result<void, Error> subscribe(const std::string& filter) override {
    if (!connected_) return fail(lost());
    try {
      const mqtt::token_ptr token =
          start([&] { return client_->subscribe(filter, kSubscriptionQos); });
      if (!token->wait_for(timeout_)) {
        return fail(Error{ErrorKind::kTimeout, "no SUBACK in time for " + filter});
      }
      const mqtt::subscribe_response response = token->get_subscribe_response();
      for (const mqtt::ReasonCode code : response.get_reason_codes()) {
        // A broker may grant less QoS than was requested (MQTT 5, 3.9.3); messages could then be
        // lost, and what does not arrive would prove nothing.
        if (static_cast<int>(code) != kSubscriptionQos) {
          return fail(refused_subscription(filter, static_cast<int>(code)));
        }
      }
      return {};
    } catch (const mqtt::exception& error) {
      if (error.get_reason_code() >= kFirstErrorReason) {
        return fail(refused_subscription(filter, error.get_reason_code()));
      }
      return fail(Error{ErrorKind::kLost, "cannot subscribe to " + filter + ": " + error.what()});
    }
  }

  Result<void, Error> unsubscribe(const std::string& filter) override {
    if (!connected_) return fail(lost());
    try {
      const mqtt::token_ptr token = start([&] { return client_->unsubscribe(filter); });
      if (token->wait_for(timeout_)) return {};
      return fail(Error{ErrorKind::kTimeout, "no UNSUBACK in time for " + filter});
    } catch (const mqtt::exception& error) {
      return fail(
          Error{ErrorKind::kLost, "cannot unsubscribe from " + filter + ": " + error.what()});
    }
  }

  Result<void, Error> publish(const codec::Message& message) override {
    if (!connected_) return fail(lost());  // Paho would keep the message for a later connection
    if (message.expiry_seconds.value_or(0) > kMaxFourByteInteger) {
      return fail(Error{ErrorKind::kInvalid, "cannot send a message expiry interval of more than " +
                                                 std::to_string(kMaxFourByteInteger) + " s"});
    }
    if (takes_qos_0_only_ && message.qos > 0) {
      return fail(Error{ErrorKind::kNotAllowed,
                        "a PUBLISH of QoS " + std::to_string(message.qos) +
                            ": the broker announces Maximum QoS 0 (MQTT 5, 3.2.2.3.4)"});
    }
    try {
      mqtt::message_ptr out =
          mqtt::make_message(message.topic, message.payload.data(), message.payload.size(),
                             message.qos, message.retain);
      out->set_properties(to_paho_properties(message));
      start([&] { return client_->publish(out, nullptr, *this); });
      return {};
    } catch (const mqtt::exception& error) {
      return fail(Error{ErrorKind::kLost, std::string("cannot publish: ") + error.what()});
    }
  }

  std::optional<Event> receive(Duration timeout) override {
    std::optional<Event> event = inbox_.pop(timeout);
    if (event) {
      if (const auto* received = std::get_if<MessageReceived>(&event->what)) {
        const std::lock_guard lock(held_mutex_);
        held_.remove(bytes_unread(received->message));
      }
    }
    return event;
  }

  [[nodiscard]] bool has_resumed() const override { return has_resumed_; }
  [[nodiscard]] std::optional<std::uint32_t> packet_limit() const override { return packet_limit_; }

  void disconnect() override {
    closing_ = true;
    connected_ = false;
    try {
      if (client_->is_connected()) {
        start([&] { return client_->disconnect(); })->wait_for(kDisconnectTimeout);
      }
    } catch (const mqtt::exception&) {  // it was gone already
    }
  }

  void drop() override {
    closing_ = true;
    connected_ = false;
    relay_->cut();
  }

 private:
  void push_disconnected(std::optional<int> reason) {
    connected_ = false;
    if (!closing_ && !floods_) push_end({reason, relay_->why()});
  }

  // Paho reads on regardless of what we do: once a broker has sent more than we hold, what comes is
  // left out.
  void push_message(const mqtt::message& received) {
    if (floods_) return;
    if (received.get_properties().c_struct().count > static_cast<int>(wire::kMaxProperties)) {
      return end_flood("a message with more than " + std::to_string(wire::kMaxProperties) +
                       " properties");
    }
    codec::Message message = from_paho_message(received);
    bool has_room = false;
    {
      const std::lock_guard lock(held_mutex_);
      has_room = held_.own() < kMaxUnread && held_.try_add(bytes_unread(message));
    }
    if (!has_room) return end_flood("more messages than are read");
    push({MessageReceived{std::move(message)}, steady_now()});
  }

  void end_flood(const std::string& what) {
    floods_ = true;
    connected_ = false;
    if (!closing_) push_end({std::nullopt, "the endpoint floods: " + what});
  }

  void push_end(Disconnected end) {
    {
      const std::lock_guard lock(end_mutex_);
      end_text_ = end.text;
    }
    push({std::move(end), steady_now()});
  }

  void push(Event event) {
    inbox_.push(std::move(event));
    if (on_event_) on_event_();
  }

  Error lost() {
    const std::lock_guard lock(end_mutex_);
    return {ErrorKind::kLost,
            "the client is not connected" + (end_text_.empty() ? "" : ": " + end_text_)};
  }

  // A PUBLISH failed. The disconnection handlers report a lost connection.
  void on_failure(const mqtt::token& token) override {
    const int reason = static_cast<int>(token.get_reason_code());
    const auto* delivery = dynamic_cast<const mqtt::delivery_token*>(&token);
    if (reason < kFirstErrorReason || delivery == nullptr) return;
    const auto correlation =
        read<std::string>(delivery->get_message()->get_properties(), Code::CORRELATION_DATA);
    push({PublishRefused{reason, correlation.value_or("")}, steady_now()});
  }
  void on_success(const mqtt::token& /*token*/) override {}

  // What Paho's threads use outlives the client, which the destructor ends.
  Inbox inbox_;
  std::mutex held_mutex_;
  HeldBytes held_;                     // messages in the inbox
  std::atomic<bool> floods_{false};    // the broker did: no event any more
  std::atomic<bool> closing_{false};   // we end the connection: no event
  std::atomic<bool> connected_{true};  // as far as we know; open() comes before everything else
  std::mutex end_mutex_;
  std::string end_text_;
  const std::shared_ptr<PahoRelay> relay_;
  std::unique_ptr<mqtt::async_client> client_;
  std::chrono::milliseconds timeout_;
  std::optional<std::uint32_t> packet_limit_;
  bool takes_qos_0_only_ = false;
  bool has_resumed_ = false;
  const std::function<void()> on_event_;
};

mqtt::connect_options connect_options(const ClientOptions& client, const Credentials& credentials) {
  mqtt::connect_options options;
  options.set_mqtt_version(MQTTVERSION_5);
  options.set_clean_start(client.clean_start);
  options.set_max_inflight(kReceiveMaximum);
  mqtt::properties properties;
  properties.add({Code::RECEIVE_MAXIMUM, client.receive_maximum == 0
                                             ? kReceiveMaximum
                                             : static_cast<int>(client.receive_maximum)});
  if (client.max_packet_size > 0) {
    properties.add({Code::MAXIMUM_PACKET_SIZE, static_cast<std::int32_t>(client.max_packet_size)});
  }
  if (client.will) {
    options.set_will_message(mqtt::make_message(client.will->topic, client.will->payload.data(),
                                                client.will->payload.size(), kSubscriptionQos,
                                                false));
  }
  if (client.session_expiry_seconds > 0) {
    properties.add(
        {Code::SESSION_EXPIRY_INTERVAL, static_cast<std::int32_t>(client.session_expiry_seconds)});
  }
  options.set_properties(properties);
  if (!credentials.user.empty()) {
    options.set_user_name(credentials.user);
    options.set_password(credentials.password);
  }
  return options;
}

}  // namespace

Result<std::unique_ptr<Client>, Error> PahoConnector::connect(const ClientOptions& client_options) {
  const Credentials* credentials = credentials_for(options_, client_options.role);
  if (credentials == nullptr) {
    return fail(Error{ErrorKind::kInvalid, "no credentials for role " + client_options.role});
  }
  if (client_options.session_expiry_seconds > kMaxFourByteInteger) {
    return fail(
        Error{ErrorKind::kInvalid, "cannot request a session expiry interval of more than " +
                                       std::to_string(kMaxFourByteInteger) + " s"});
  }
  const auto context = contexts_.of(options_, client_options.role, *credentials);
  if (!context) {
    return fail(
        Error{ErrorKind::kUnreachable, "cannot connect to the broker: TLS: " + context.error()});
  }
  const HandshakePlace handshake(options_.tls);
  auto stream = Stream::connect(options_, *context, options_.timeout);
  if (!stream) return fail(Error{ErrorKind::kUnreachable, stream.error()});
  auto relay = PahoRelay::start(std::move(*stream), loop_);
  if (!relay) return fail(Error{ErrorKind::kInternal, relay.error()});
  auto client = std::make_unique<PahoClient>(std::move(*relay), client_options.client_id, options_,
                                             client_options.on_event);
  const PahoWaker::Hold awake(*waker_);
  auto opened = client->open(connect_options(client_options, *credentials));
  if (opened) return client;
  Error error = std::move(opened.error());
  if (error.kind == ErrorKind::kUnreachable && !error.reason_code && !options_.tls) {
    error.text += "; if the port uses TLS, write mqtts://";
  }
  return fail(std::move(error));
}

}  // namespace fencepost::endpoint
