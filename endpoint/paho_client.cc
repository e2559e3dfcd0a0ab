// The only file, with paho_waker.cc, that includes Paho.

#include "endpoint/paho_client.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>

#include <mqtt/async_client.h>

#include "endpoint/connector.h"
#include "endpoint/held_bytes.h"
#include "endpoint/inbox.h"
#include "endpoint/paho_repairs.h"
#include "endpoint/socket.h"
#include "endpoint/tls.h"
#include "endpoint/tls_trouble.h"
#include "endpoint/wait_clock.h"
#include "wire/packet.h"

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
  PahoClient(const std::string& uri, const std::string& client_id, const MqttOptions& broker,
             std::function<void()> on_event)
      : client_(std::make_unique<mqtt::async_client>(
            uri, client_id, mqtt::create_options(MQTTVERSION_5, kMaxBufferedMessages), nullptr)),
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
    const std::lock_guard lock(paho_calls());
    client_.reset();
  }
  PahoClient(const PahoClient&) = delete;
  PahoClient& operator=(const PahoClient&) = delete;

  Result<void, Error> open(const mqtt::connect_options& options) {
    take_last_refusal();
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
      return {};
    } catch (const mqtt::exception& error) {
      // Paho reports the reason code of a CONNACK as a return code.
      const int reason = std::max(error.get_reason_code(), error.get_return_code());
      if (reason >= kFirstErrorReason) {
        return fail(refused_connection(reason));
      }
      const std::string refusal = take_last_refusal();
      if (!refusal.empty()) {
        return fail(Error{ErrorKind::kLost, "cannot connect to the broker: it sends " + refusal});
      }
      return fail(Error{ErrorKind::kUnreachable,
                        std::string("cannot connect to the broker: ") + error.what()});
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
        // A broker may grant less QoS than was asked for (MQTT 5, 3.9.3); messages could then be
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
    connection_.reset();
  }

  void drop() override {
    closing_ = true;
    connected_ = false;
    if (!connection_) return;
    // Not close(): Paho has a descriptor of this socket, too, which would keep the connection.
    shutdown(connection_->descriptor(), SHUT_RDWR);
    connection_.reset();
    // Paho's receive thread must have dealt with it before the number of the descriptor is used
    // again: it would take the end of this connection for one of the next.
    std::unique_lock lock(end_mutex_);
    const auto deadline = WaitClock::now() + kDisconnectTimeout;
    end_noticed_.wait_until(lock, deadline, [this] { return ended_; });
  }

  // Keeps a descriptor of our own: the number of Paho's is somebody else's as soon as Paho has
  // noticed that the connection is gone.
  void remember_descriptor(int descriptor) {
    connection_.emplace(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  }

 private:
  void push_disconnected(std::optional<int> reason) {
    connected_ = false;
    {
      const std::lock_guard lock(end_mutex_);
      ended_ = true;
    }
    end_noticed_.notify_all();
    std::string why = take_refusal();
    if (!closing_ && !floods_) push_end({reason, std::move(why)});
  }

  // Paho reads on whatever we do: once a broker has sent more than we hold, what comes is left out.
  void push_message(const mqtt::message& received) {
    if (floods_) return;
    if (received.get_properties().c_struct().count > static_cast<int>(wire::kMostProperties)) {
      return end_flood("a message with more than " + std::to_string(wire::kMostProperties) +
                       " properties");
    }
    codec::Message message = from_paho_message(received);
    bool has_room = false;
    {
      const std::lock_guard lock(held_mutex_);
      has_room = held_.own() < kMostUnread && held_.try_add(bytes_unread(message));
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

  // A PUBLISH failed. Of a lost connection the disconnection handlers tell.
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
  std::condition_variable end_noticed_;
  bool ended_ = false;  // Paho has closed the connection
  std::string end_text_;
  std::unique_ptr<mqtt::async_client> client_;
  std::chrono::milliseconds timeout_;
  std::optional<Socket> connection_;  // of a client that may drop it
  std::optional<std::uint32_t> packet_limit_;
  const std::function<void()> on_event_;
};

mqtt::connect_options connect_options(const MqttOptions& broker, const ClientOptions& client,
                                      const Credentials& credentials) {
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
  if (broker.tls) {
    mqtt::ssl_options ssl;
    if (!broker.ca.empty()) ssl.set_trust_store(broker.ca.string());
    const bool own = !credentials.certificate.empty();
    const auto& certificate = own ? credentials.certificate : broker.certificate;
    const auto& key = own ? credentials.key : broker.key;
    if (!certificate.empty()) ssl.set_key_store(certificate.string());
    if (!key.empty()) ssl.set_private_key(key.string());
    ssl.set_enable_server_cert_auth(true);
    ssl.set_verify(true);
    options.set_ssl(ssl);
  }
  return options;
}

std::string uri(const MqttOptions& broker) {
  const bool ipv6 = broker.host.find(':') != std::string::npos;
  const std::string host = ipv6 ? "[" + broker.host + "]" : broker.host;
  return (broker.tls ? "ssl://" : "tcp://") + host + ":" + std::to_string(broker.port);
}

// Paho has one text for all that can go wrong before the CONNECT is answered, and its error handler
// is called through a pointer that is not valid any more. So OpenSSL is asked, now and then: a
// broker that is overloaded is not to be asked again for each connection.
Error explained(Error error, const MqttOptions& broker, const Credentials& credentials,
                std::atomic<int>& questions) {
  constexpr std::chrono::milliseconds kPatience{1'000};
  constexpr int kMaxQuestions = 4;
  if (error.kind == ErrorKind::kUnreachable && broker.tls && !error.reason_code &&
      questions++ < kMaxQuestions) {
    const std::string trouble = tls_trouble(broker, credentials, kPatience);
    if (!trouble.empty()) error.text += "; TLS: " + trouble;
  }
  if (error.kind == ErrorKind::kUnreachable && !broker.tls && !error.reason_code) {
    error.text += "; if that port wants TLS, write mqtts://";
  }
  return error;
}

}  // namespace

namespace {

// Who connects at once: a droppable client alone, the others together. One for the process, as is
// the last descriptor. Each caller waits at the entrance for those before it, as a lock that
// readers can always share would be held by one or another of them for seconds.
class Connecting {
 public:
  std::shared_lock<std::shared_mutex> together() {
    const std::lock_guard enter(entrance_);
    return std::shared_lock(mutex_);
  }
  std::unique_lock<std::shared_mutex> alone() {
    const std::lock_guard enter(entrance_);
    return std::unique_lock(mutex_);
  }

 private:
  std::mutex entrance_;
  std::shared_mutex mutex_;
};

Connecting& connecting() {
  static Connecting connecting;
  return connecting;
}

}  // namespace

PahoConnector::PahoConnector(const MqttOptions& options) : options_(options) {
  install_paho_repairs();
}

Result<std::unique_ptr<Client>, Error> PahoConnector::connect(const ClientOptions& client_options) {
  const Credentials* credentials = credentials_for(options_, client_options.role);
  if (credentials == nullptr) {
    return fail(Error{ErrorKind::kInvalid, "no credentials for role " + client_options.role});
  }
  if (client_options.session_expiry_seconds > kMaxFourByteInteger) {
    return fail(
        Error{ErrorKind::kInvalid, "cannot ask for a session expiry interval of more than " +
                                       std::to_string(kMaxFourByteInteger) + " s"});
  }
  auto client = std::make_unique<PahoClient>(uri(options_), client_options.client_id, options_,
                                             client_options.on_event);
  const PahoWaker::Hold awake(*waker_);
  const mqtt::connect_options options = connect_options(options_, client_options, *credentials);
  const HandshakePlace handshake(options_.tls);
  if (!client_options.droppable) {
    const auto others = connecting().together();
    if (auto opened = client->open(options); !opened) {
      return fail(explained(opened.error(), options_, *credentials, questions_));
    }
    return client;
  }
  // Alone, so that the last descriptor connected is this client's.
  const auto alone = connecting().alone();
  if (auto opened = client->open(options); !opened) {
    return fail(explained(opened.error(), options_, *credentials, questions_));
  }
  client->remember_descriptor(last_connected_descriptor());
  return client;
}

}  // namespace fencepost::endpoint
