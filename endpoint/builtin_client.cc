#include "endpoint/builtin_client.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "endpoint/connection.h"
#include "endpoint/mqtt311_client.h"
#include "endpoint/stream.h"
#include "endpoint/wire/messages.h"
#include "endpoint/wire/packet.h"
#include "endpoint/wire/raw_publish.h"

namespace fencepost::endpoint {
namespace {

using wire::PropertyId;

constexpr std::uint16_t kKeepAliveSeconds = 60;

wire::Connect connect_packet(const ClientOptions& client, const Credentials& credentials) {
  wire::Connect out{.clean_start = client.clean_start,
                    .keep_alive_s = kKeepAliveSeconds,
                    .client_id = client.client_id};
  // What is 0 is left out: of the session absence means the same (MQTT 5, 3.1.2.11.2); of the two
  // others 0 is a protocol error, and absence is the most there can be (3.1.2.11.3, 3.1.2.11.4).
  if (client.session_expiry_seconds > 0) {
    out.properties.add(PropertyId::kSessionExpiry, client.session_expiry_seconds);
  }
  if (client.receive_maximum > 0) {
    out.properties.add(PropertyId::kReceiveMaximum, std::uint32_t{client.receive_maximum});
  }
  if (client.max_packet_size > 0) {
    out.properties.add(PropertyId::kMaximumPacketSize, client.max_packet_size);
  }
  if (client.will) {
    out.will = wire::Will{
        .qos = kSubscriptionQos, .topic = client.will->topic, .payload = client.will->payload};
  }
  if (!credentials.user.empty()) {
    out.user = credentials.user;
    out.password = credentials.password;
  }
  return out;
}

class BuiltinClient final : public Client {
 public:
  // `packet_limit`: of a broker that announces none.
  BuiltinClient(std::shared_ptr<Connection> connection, Duration timeout,
                const wire::Connack& connack, std::optional<std::uint32_t> packet_limit)
      : connection_(std::move(connection)),
        timeout_(timeout),
        has_resumed_(connack.session_present),
        maximum_qos_(connack.properties.number(PropertyId::kMaximumQos)),
        packet_limit_(packet_limit) {
    // What is announced (MQTT 5, 3.2.2.3.6) goes before what was described: it is of this
    // connection.
    const auto announced = connack.properties.number(PropertyId::kMaximumPacketSize);
    if (announced) packet_limit_ = announced;
  }
  ~BuiltinClient() override { connection_->disconnect(); }
  BuiltinClient(const BuiltinClient&) = delete;
  BuiltinClient& operator=(const BuiltinClient&) = delete;

  Result<void, Error> subscribe(const std::string& filter) override {
    const auto answer = connection_->subscribe(filter, timeout_);
    if (!answer) return fail(answer.error());
    for (const std::uint8_t reason : answer->reasons) {
      // Req: ENV-SUBACK-1. A lower QoS is no error to MQTT 5 (3.8.4), but with it a message may be
      // lost.
      if (reason != kSubscriptionQos) return fail(refused_subscription(filter, reason));
    }
    return {};
  }

  Result<void, Error> unsubscribe(const std::string& filter) override {
    const auto answer = connection_->unsubscribe(filter, timeout_);
    if (!answer) return fail(answer.error());
    return {};
  }

  Result<void, Error> publish(const codec::Message& message) override {
    // A broker that takes QoS 1 and no QoS 2 is asked all the same: what it makes of that is
    // judged.
    if (maximum_qos_ == 0U && message.qos > 0) {
      return fail(Error{ErrorKind::kNotAllowed,
                        "a PUBLISH of QoS " + std::to_string(message.qos) +
                            ": the broker announces Maximum QoS 0 (MQTT 5, 3.2.2.3.4)"});
    }
    return connection_->publish(wire::publish_of(message));
  }

  Result<void, Error> publish_raw(const codec::Message& message, const RawPacket& raw) override {
    wire::RawPublish out{.packet = wire::publish_of(message),
                         .more_properties = raw.more_properties,
                         .wrong_length = raw.wrong_length};
    out.packet.duplicate = raw.duplicate;
    if (raw.qos_3) out.packet.qos = 3;
    // Its own id may be one that is in use: that is what some cases are about.
    out.packet.packet_id = raw.packet_id.value_or(0);
    return connection_->publish_raw(std::move(out), raw.packet_id.has_value());
  }

  std::optional<Event> receive(Duration timeout) override { return connection_->receive(timeout); }
  [[nodiscard]] std::optional<std::uint32_t> packet_limit() const override { return packet_limit_; }
  [[nodiscard]] bool has_resumed() const override { return has_resumed_; }
  [[nodiscard]] std::optional<Event> take() override { return connection_->take(); }
  // The connection calls on_event without its lock.
  [[nodiscard]] bool serves_in_place() const override { return true; }
  void await_acknowledgements(Duration timeout) override {
    connection_->await_acknowledgements(timeout);
  }
  void gather(bool on) override { connection_->gather(on); }
  void disconnect() override { connection_->disconnect(); }
  void drop() override { connection_->drop(); }

 private:
  // Not its only owner: a call of the loop's thread may be running when the client goes.
  std::shared_ptr<Connection> connection_;
  Duration timeout_;
  bool has_resumed_;
  std::optional<std::uint32_t> maximum_qos_;
  std::optional<std::uint32_t> packet_limit_;
};

// An answer may be as large as a request.
std::size_t most_packet_bytes(const Capabilities& capabilities) {
  return std::max<std::size_t>(kMaxPacketBytes, capabilities.max_packet_size.value_or(0));
}

}  // namespace

Result<std::unique_ptr<Client>, Error> BuiltinConnector::connect(const ClientOptions& options) {
  const Credentials* credentials = credentials_for(options_, options.role);
  if (credentials == nullptr) {
    return fail(Error{ErrorKind::kInvalid, "no credentials for role " + options.role});
  }
  const auto unreachable = [](std::string text) {
    return fail(Error{ErrorKind::kUnreachable, std::move(text)});
  };
  const auto context = contexts_.of(options_, options.role, *credentials);
  if (!context) return unreachable("cannot connect to the broker: TLS: " + context.error());
  // Held until the CONNACK has come: by then the broker has done its part of the handshake, too.
  const HandshakePlace place(options_.tls);
  auto stream = Stream::connect(options_, *context, options_.timeout);
  if (!stream) return unreachable(stream.error());
  // Such a client is there to see its request fail (Req: ENV-MQTT5-2); Connection speaks MQTT 5
  // only.
  if (options.mqtt_3_1_1) {
    return connect_mqtt311_client(std::move(*stream), options, *credentials, options_.timeout);
  }
  auto connection = std::make_shared<Connection>(std::move(*stream), loop_,
                                                 most_packet_bytes(options_.capabilities),
                                                 options.on_event, options.read_late);
  // PollLoop::add() starts its thread with the first connection, and a machine may not give one.
  try {
    auto connack =
        connection->open(connect_packet(options, *credentials), options_.timeout, options.extras);
    if (!connack) return fail(std::move(connack.error()));
    return std::make_unique<BuiltinClient>(std::move(connection), options_.timeout, *connack,
                                           options_.capabilities.max_packet_size);
  } catch (const std::system_error& error) {
    return fail(
        Error{ErrorKind::kInternal, std::string("no thread for connections: ") + error.what()});
  }
}

}  // namespace fencepost::endpoint
