#include "endpoint/mqtt.h"

#include <array>
#include <cstdio>
#include <thread>
#include <utility>

extern "C" {  // which this header of Paho does not say
#include <MQTTReasonCodes.h>
}

#include "endpoint/paho_client.h"
#include "endpoint/socket.h"

namespace fencepost::endpoint {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr auto kRestartPoll = milliseconds{50};

class MqttSession final : public Session, public Clock {
 public:
  MqttSession(const MqttOptions& options, PahoConnector& connector)
      : options_(options), connector_(connector) {}

  Clock& clock() override { return *this; }
  Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& options) override {
    return connector_.connect(options);
  }

  Result<void, Error> restart_broker(const std::string& client_id) override {
    if (!options_.restart) return Session::restart_broker(client_id);
    if (auto restarted = options_.restart(); !restarted) return restarted;
    const Duration deadline = now() + options_.restart_timeout;
    while (true) {
      const auto client = connector_.connect({.client_id = client_id});
      if (client) return {};
      if (now() > deadline) return fail(client.error());
      std::this_thread::sleep_for(kRestartPoll);
    }
  }

  [[nodiscard]] std::uint64_t wall_ms() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(duration_cast<milliseconds>(now).count());
  }
  [[nodiscard]] Duration now() const override { return steady_now(); }
  void wait_until(Duration time) override {
    std::this_thread::sleep_until(std::chrono::steady_clock::time_point{time});
  }

 private:
  const MqttOptions& options_;
  PahoConnector& connector_;
};

class MqttEndpoint final : public Endpoint {
 public:
  explicit MqttEndpoint(MqttOptions options) : options_(std::move(options)), connector_(options_) {}

  [[nodiscard]] const std::string& url() const override { return options_.url; }
  [[nodiscard]] const Capabilities& capabilities() const override { return options_.capabilities; }
  Result<std::unique_ptr<Session>, Error> open_session() override {
    return std::make_unique<MqttSession>(options_, connector_);
  }
  Result<void, Error> check_reachable(Duration timeout) override {
    const auto socket =
        connect_tcp(options_.host, options_.port, duration_cast<milliseconds>(timeout));
    if (socket) return {};
    return fail(Error{ErrorKind::kUnreachable, "cannot connect to " + options_.host + ":" +
                                                   std::to_string(options_.port) + ": " +
                                                   socket.error()});
  }

 private:
  MqttOptions options_;
  PahoConnector connector_;
};

}  // namespace

std::string reason_text(int reason_code) {
  std::array<char, 80> text{};
  const char* words = MQTTReasonCode_toString(static_cast<MQTTReasonCodes>(reason_code));
  std::snprintf(text.data(), text.size(), words == nullptr ? "0x%02x" : "0x%02x (%s)",
                static_cast<unsigned>(reason_code), words);
  return text.data();
}

std::unique_ptr<Endpoint> make_mqtt_endpoint(MqttOptions options) {
  return std::make_unique<MqttEndpoint>(std::move(options));
}

}  // namespace fencepost::endpoint
