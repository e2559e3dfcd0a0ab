#include "endpoint/hiding_connector.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <variant>

#include "endpoint/forwarding_client.h"

namespace fencepost::endpoint {
namespace {

constexpr std::size_t kShortest = 4;
constexpr std::size_t kShortestWord = 8;

bool can_be_hidden(const std::string& password) {
  if (password.size() < kShortest) return false;
  return password.size() >= kShortestWord ||
         !std::all_of(password.begin(), password.end(),
                      [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

// What has to be hidden, and whether it still is. Thread safe.
class Secrets {
 public:
  explicit Secrets(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
    // The longest first: one may be a part of another.
    std::sort(secrets_.begin(), secrets_.end(),
              [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  }

  // As many bytes as before: lengths in a payload stay right.
  void hide(std::string& text) const {
    if (!on_.load(std::memory_order_relaxed)) return;
    for (const std::string& secret : secrets_) {
      for (std::size_t at = text.find(secret); at != std::string::npos;
           at = text.find(secret, at + secret.size())) {
        text.replace(at, secret.size(), secret.size(), '*');
      }
    }
  }
  void hide(codec::Message& message) const {
    hide(message.topic);
    hide(message.payload);
    for (auto& [name, value] : message.user_properties) {
      hide(name);
      hide(value);
    }
    for (auto* text : {&message.response_topic, &message.correlation_data, &message.content_type}) {
      if (*text) hide(**text);
    }
  }
  void hide(Event& event) const {
    if (auto* received = std::get_if<MessageReceived>(&event.what)) hide(received->message);
    if (auto* end = std::get_if<Disconnected>(&event.what)) hide(end->text);
  }
  [[nodiscard]] std::optional<Event> hidden(std::optional<Event> event) const {
    if (event) hide(*event);
    return event;
  }
  [[nodiscard]] Error hidden(Error error) const {
    hide(error.text);
    return error;
  }
  template <typename T>
  [[nodiscard]] Result<T, Error> hidden(Result<T, Error> result) const {
    if (!result) return fail(hidden(std::move(result.error())));
    return result;
  }

  void look_at(const codec::Message& sent) {
    codec::Message copy = sent;
    hide(copy);
    if (!(copy == sent)) on_ = false;
  }

 private:
  std::vector<std::string> secrets_;
  std::atomic<bool> on_{true};
};

class HidingClient final : public ForwardingClient {
 public:
  HidingClient(std::unique_ptr<Client> client, Secrets& secrets)
      : ForwardingClient(std::move(client)), secrets_(secrets) {}

  Result<void, Error> subscribe(const std::string& filter) override {
    return secrets_.hidden(ForwardingClient::subscribe(filter));
  }
  Result<void, Error> unsubscribe(const std::string& filter) override {
    return secrets_.hidden(ForwardingClient::unsubscribe(filter));
  }
  Result<void, Error> publish(const codec::Message& message) override {
    secrets_.look_at(message);
    return secrets_.hidden(ForwardingClient::publish(message));
  }
  Result<void, Error> publish_raw(const codec::Message& message, const RawPacket& odd) override {
    secrets_.look_at(message);
    return secrets_.hidden(ForwardingClient::publish_raw(message, odd));
  }
  std::optional<Event> receive(Duration timeout) override {
    return secrets_.hidden(ForwardingClient::receive(timeout));
  }
  std::optional<Event> take() override { return secrets_.hidden(ForwardingClient::take()); }

 private:
  Secrets& secrets_;
};

class HidingConnector final : public Connector {
 public:
  HidingConnector(std::unique_ptr<Connector> connector, std::vector<std::string> secrets)
      : connector_(std::move(connector)), secrets_(std::move(secrets)) {}

  Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& options) override {
    auto client = connector_->connect(options);
    if (!client) return fail(secrets_.hidden(std::move(client.error())));
    return std::make_unique<HidingClient>(std::move(*client), secrets_);
  }

 private:
  std::unique_ptr<Connector> connector_;
  Secrets secrets_;
};

}  // namespace

std::vector<std::string> secrets_to_hide(const MqttOptions& options) {
  std::vector<std::string> out;
  if (can_be_hidden(options.credentials.password)) out.push_back(options.credentials.password);
  for (const auto& [role, credentials] : options.roles) {
    if (can_be_hidden(credentials.password)) out.push_back(credentials.password);
  }
  return out;
}

std::unique_ptr<Connector> hide_secrets(std::unique_ptr<Connector> connector,
                                        std::vector<std::string> secrets) {
  if (secrets.empty()) return connector;
  return std::make_unique<HidingConnector>(std::move(connector), std::move(secrets));
}

}  // namespace fencepost::endpoint
