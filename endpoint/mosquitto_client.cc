// The libmosquitto driver. A client has no thread of its own: whoever waits for an event runs its loop.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <sys/socket.h>

#include "endpoint/mqtt_driver.h"
#include "reference_store/broker_plugin/properties.h"

namespace fencepost::endpoint {
namespace {

constexpr int kReceiveMaximum = 65'535;
constexpr int kFirstErrorReason = 0x80;
constexpr int kKeepAliveSeconds = 0;  // a case may look away from a client for longer than any keep alive
constexpr int kMaxPackets = 1;        // what libmosquitto wants to be told; it ignores it

struct MosquittoDeleter {
  void operator()(mosquitto* client) const { mosquitto_destroy(client); }
};

class MosquittoClient final : public Client {
 public:
  MosquittoClient(const ClientOptions& options, Duration timeout)
      : client_(mosquitto_new(options.client_id.c_str(), options.clean_start, this)),
        timeout_(timeout) {
    mosquitto_int_option(client_.get(), MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
    mosquitto_int_option(client_.get(), MOSQ_OPT_TCP_NODELAY, 1);
    mosquitto_int_option(client_.get(), MOSQ_OPT_RECEIVE_MAXIMUM, kReceiveMaximum);
    mosquitto_int_option(client_.get(), MOSQ_OPT_SEND_MAXIMUM, kReceiveMaximum);
    mosquitto_connect_v5_callback_set(client_.get(), on_connect);
    mosquitto_disconnect_v5_callback_set(client_.get(), on_disconnect);
    mosquitto_subscribe_v5_callback_set(client_.get(), on_subscribe);
    mosquitto_publish_v5_callback_set(client_.get(), on_publish);
    mosquitto_message_v5_callback_set(client_.get(), on_message);
  }
  ~MosquittoClient() override { disconnect(); }
  MosquittoClient(const MosquittoClient&) = delete;
  MosquittoClient& operator=(const MosquittoClient&) = delete;

  Result<void, Error> open(const MqttOptions& options, const Credentials& credentials,
                           std::uint32_t session_expiry) {
    if (auto prepared = prepare(options, credentials); !prepared) return prepared;
    mosquitto_property* list = nullptr;
    if (session_expiry > 0) {
      mosquitto_property_add_int32(&list, MQTT_PROP_SESSION_EXPIRY_INTERVAL, session_expiry);
    }
    const broker_plugin::Properties properties(list);
    const int failed = mosquitto_connect_bind_v5(client_.get(), options.host.c_str(), options.port,
                                                 kKeepAliveSeconds, nullptr, properties.get());
    if (failed != MOSQ_ERR_SUCCESS) {
      return fail(Error{ErrorKind::kUnreachable,
                        std::string("cannot connect to the broker: ") + error_text(failed)});
    }
    open_ = true;
    const bool answered = run_until([this] { return connect_reason_.has_value(); });
    if (connect_reason_ == 0) return {};
    open_ = false;
    if (connect_reason_) {
      return fail(Error{kind_of_connect_refusal(*connect_reason_),
                        "the broker refused the connection with " + reason_text(*connect_reason_),
                        connect_reason_});
    }
    return fail(Error{ErrorKind::kUnreachable,
                      answered ? "the broker closed the connection during the CONNECT"
                               : "the broker did not answer the CONNECT in time"});
  }

  Result<void, Error> subscribe(const std::string& filter) override {
    int identifier = 0;
    subscribe_reason_.reset();
    const int failed = mosquitto_subscribe_v5(client_.get(), &identifier, filter.c_str(), 1, 0,
                                              nullptr);
    if (failed != MOSQ_ERR_SUCCESS || !open_) {
      return fail(Error{ErrorKind::kLost,
                        "cannot subscribe to " + filter + ": " + error_text(failed)});
    }
    run_until([this] { return subscribe_reason_.has_value(); });
    if (!subscribe_reason_) {
      return fail(open_ ? Error{ErrorKind::kTimeout, "no SUBACK in time for " + filter}
                        : Error{ErrorKind::kLost, "the connection was lost while subscribing"});
    }
    if (*subscribe_reason_ < kFirstErrorReason) return {};
    return fail(Error{ErrorKind::kNotAllowed,
                      "the broker refused the subscription to " + filter + " with " +
                          reason_text(*subscribe_reason_),
                      subscribe_reason_});
  }

  Result<void, Error> publish(const codec::Message& message) override {
    if (!open_) return fail(Error{ErrorKind::kLost, "cannot publish: not connected"});
    if (message.response_topic && message.response_topic->empty()) {
      return fail(Error{ErrorKind::kInvalid, "libmosquitto cannot send an empty response topic"});
    }
    const broker_plugin::Properties properties = broker_plugin::make_properties(message);
    int identifier = 0;
    const int failed = mosquitto_publish_v5(
        client_.get(), &identifier, message.topic.c_str(), static_cast<int>(message.payload.size()),
        message.payload.data(), message.qos, message.retain, properties.get());
    if (failed == MOSQ_ERR_INVAL || failed == MOSQ_ERR_MALFORMED_UTF8) {
      return fail(Error{ErrorKind::kInvalid,
                        std::string("libmosquitto cannot send this message: ") + error_text(failed)});
    }
    if (failed != MOSQ_ERR_SUCCESS) {
      return fail(Error{ErrorKind::kLost, std::string("cannot publish: ") + error_text(failed)});
    }
    if (message.qos > 0) in_flight_[identifier] = message.correlation_data.value_or("");
    return {};
  }

  std::optional<Event> receive(Duration timeout) override {
    run_until([this] { return !events_.empty(); }, timeout);
    if (events_.empty()) return std::nullopt;
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  void disconnect() override {
    if (!open_) return;
    open_ = false;
    closing_ = true;
    mosquitto_disconnect_v5(client_.get(), 0, nullptr);
  }

  void drop() override {
    if (!open_) return;
    open_ = false;
    closing_ = true;
    shutdown(mosquitto_socket(client_.get()), SHUT_RDWR);
  }

 private:
  static std::string error_text(int code) {
    if (code == MOSQ_ERR_ERRNO) return std::string(std::strerror(errno));  // NOLINT: safe in glibc
    return mosquitto_strerror(code);
  }

  Result<void, Error> prepare(const MqttOptions& options, const Credentials& credentials) {
    if (!credentials.user.empty()) {
      mosquitto_username_pw_set(client_.get(), credentials.user.c_str(),
                                credentials.password.empty() ? nullptr
                                                             : credentials.password.c_str());
    }
    if (!options.tls) return {};
    const auto text = [](const std::filesystem::path& path) {
      return path.empty() ? nullptr : path.c_str();
    };
    if (options.ca.empty()) mosquitto_int_option(client_.get(), MOSQ_OPT_TLS_USE_OS_CERTS, 1);
    const int failed = mosquitto_tls_set(client_.get(), text(options.ca),
                                         options.ca.empty() ? "/etc/ssl/certs" : nullptr,
                                         text(options.certificate), text(options.key), nullptr);
    if (failed == MOSQ_ERR_SUCCESS) return {};
    return fail(Error{ErrorKind::kInvalid,
                      std::string("the TLS files cannot be used: ") + error_text(failed)});
  }

  // Runs the client's loop until `done` holds, the connection ends or the time is up. True unless the time is up.
  template <typename Condition>
  bool run_until(Condition done, std::optional<Duration> timeout = std::nullopt) {
    const Duration deadline = steady_now() + timeout.value_or(timeout_);
    while (!done() && open_) {
      const Duration left = deadline - steady_now();
      if (left <= Duration::zero()) return false;
      // Rounded up: a loop of 0 ms would spin through the last millisecond.
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(left);
      const int failed =
          mosquitto_loop(client_.get(), static_cast<int>(wait.count()), kMaxPackets);
      if (failed != MOSQ_ERR_SUCCESS && open_) end_of_connection(std::nullopt);
    }
    return true;
  }

  void end_of_connection(std::optional<int> reason) {
    if (!open_ || closing_) return;
    open_ = false;
    // A refused CONNECT is told by open(), not by an event.
    if (connect_reason_ == 0) events_.push_back({Disconnected{reason}, steady_now()});
  }

  static MosquittoClient& self(void* object) { return *static_cast<MosquittoClient*>(object); }

  static void on_connect(mosquitto* /*client*/, void* object, int reason, int /*flags*/,
                         const mosquitto_property* /*properties*/) {
    self(object).connect_reason_ = reason;
  }
  static void on_disconnect(mosquitto* /*client*/, void* object, int reason,
                            const mosquitto_property* /*properties*/) {
    // Smaller numbers are libmosquitto's own errors.
    self(object).end_of_connection(reason >= kFirstErrorReason ? std::optional(reason)
                                                               : std::nullopt);
  }
  static void on_subscribe(mosquitto* /*client*/, void* object, int /*identifier*/, int count,
                           const int* granted, const mosquitto_property* /*properties*/) {
    self(object).subscribe_reason_ = count > 0 ? granted[0] : kFirstErrorReason;
  }
  static void on_publish(mosquitto* /*client*/, void* object, int identifier, int reason,
                         const mosquitto_property* /*properties*/) {
    MosquittoClient& client = self(object);
    const auto sent = client.in_flight_.extract(identifier);
    if (reason < kFirstErrorReason || sent.empty()) return;
    client.events_.push_back({PublishRefused{reason, sent.mapped()}, steady_now()});
  }
  static void on_message(mosquitto* /*client*/, void* object, const mosquitto_message* from,
                         const mosquitto_property* properties) {
    codec::Message message;
    message.topic = from->topic;
    message.payload.assign(static_cast<const char*>(from->payload),
                           static_cast<std::size_t>(from->payloadlen));
    message.qos = from->qos;
    message.retain = from->retain;
    broker_plugin::read_properties(properties, message);
    self(object).events_.push_back({MessageReceived{std::move(message)}, steady_now()});
  }

  std::unique_ptr<mosquitto, MosquittoDeleter> client_;
  Duration timeout_;
  bool open_ = false;     // connected, as far as we know
  bool closing_ = false;  // we end it: no event
  std::optional<int> connect_reason_;
  std::optional<int> subscribe_reason_;
  std::map<int, std::string> in_flight_;  // packet identifier -> correlation data
  std::deque<Event> events_;
};

class MosquittoDriver final : public MqttDriver {
 public:
  explicit MosquittoDriver(const MqttOptions& options) : options_(options) {
    static std::once_flag once;
    std::call_once(once, [] { mosquitto_lib_init(); });
  }

  Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& client_options) override {
    const Credentials* credentials = credentials_for(options_, client_options.role);
    if (credentials == nullptr) {
      return fail(Error{ErrorKind::kInvalid, "no credentials for role " + client_options.role});
    }
    auto client = std::make_unique<MosquittoClient>(client_options, options_.timeout);
    auto opened = client->open(options_, *credentials, client_options.session_expiry_seconds);
    if (!opened) return fail(opened.error());
    return client;
  }

 private:
  const MqttOptions& options_;
};

}  // namespace

std::unique_ptr<MqttDriver> make_mosquitto_driver(const MqttOptions& options) {
  return std::make_unique<MosquittoDriver>(options);
}

}  // namespace fencepost::endpoint
