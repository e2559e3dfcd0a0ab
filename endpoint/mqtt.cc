#include "endpoint/mqtt.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "endpoint/builtin_client.h"
#include "endpoint/cancellation.h"
#include "endpoint/connector.h"
#include "endpoint/hiding_connector.h"
#include "endpoint/paho_driver.h"
#include "endpoint/socket.h"

namespace fencepost::endpoint {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr auto kBackPoll = milliseconds{50};
// A hundred observers that connected one after the other, 30 ms away, took 24 s of a run's 28
// (docs/decisions/0025-connections-are-reused.md).
constexpr std::size_t kConnectsAtOnce = 16;

// In the place of one that this machine cannot use.
class NoConnector final : public Connector {
 public:
  // The endpoint is made all the same, and each connect() says why it is of no use.
  explicit NoConnector(std::string why) : why_(std::move(why)) {}
  Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& /*options*/) override {
    return fail(Error{ErrorKind::kInvalid, why_});
  }

 private:
  std::string why_;
};

std::unique_ptr<Connector> connector_for(const MqttOptions& options) {
  std::unique_ptr<Connector> out;
  if (options.driver == Driver::kPaho) {
    auto paho = make_paho_connector(options);
    out = paho ? std::move(*paho) : std::make_unique<NoConnector>(paho.error());
  } else {
    out = std::make_unique<BuiltinConnector>(options);
  }
  if (!options.hides_secrets) return out;
  // Below everything else: what nobody gets to see, nobody can record or print.
  return hide_secrets(std::move(out), secrets_to_hide(options));
}

class MqttSession final : public Session, public Clock {
 public:
  MqttSession(const MqttOptions& options, Connector& connector)
      : options_(options), connector_(connector) {}

  Clock& clock() override { return *this; }
  Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& options) override {
    return connector_.connect(options);
  }
  std::vector<Result<std::unique_ptr<Client>, Error>> connect_all(
      const std::vector<ClientOptions>& all, const Prepare& prepare) override {
    std::vector<Result<std::unique_ptr<Client>, Error>> out(all.size());
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    run_in_threads(std::min(all.size(), kConnectsAtOnce), [&] {
      // Who is ready takes the next one: a client that connects slowly holds up none of the others.
      for (std::size_t at = next++; at < all.size(); at = next++) {
        out[at] = failed ? fail(not_begun()) : connect_and_prepare(at, all[at], prepare);
        if (!out[at]) failed = true;
      }
    });
    return out;
  }

  Result<void, Error> disturb(const Disturbance& disturbance) override {
    const auto hook = options_.hooks.find(disturbance.kind.name);
    if (hook == options_.hooks.end()) return Session::disturb(disturbance);
    if (auto done = hook->second(); !done) return done;
    // A hook may be done before the broker is: only an answered CONNECT shows that it is back. Its
    // time counts from the end of the hook.
    const Duration deadline = now() + options_.hook_timeout;
    while (true) {
      const auto client = connector_.connect({.client_id = disturbance.client_id});
      if (client) return {};
      // Checked after the attempt: there is one at least, however short the time is.
      if (now() > deadline || waits_have_ended()) return fail(client.error());
      sleep_until_or_end(now() + kBackPoll);
    }
  }

  // For `__ts`, which the store compares with its own clock (Req: HLC-SKEW-1). What is measured is
  // measured on the other one, which nobody sets.
  [[nodiscard]] std::uint64_t wall_ms() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(duration_cast<milliseconds>(now).count());
  }
  [[nodiscard]] Duration now() const override { return steady_now(); }
  void wait_until(Duration time) override { sleep_until_or_end(time); }

 private:
  const MqttOptions& options_;
  Connector& connector_;
};

class MqttEndpoint final : public Endpoint {
 public:
  explicit MqttEndpoint(MqttOptions options)
      : options_(std::move(options)), connector_(connector_for(options_)) {
    // No client library sends such packets; cases that need them are skipped elsewhere.
    options_.capabilities.raw_packets = options_.driver == Driver::kBuiltin;
    for (const auto& [name, hook] : options_.hooks) options_.capabilities.disturbances.insert(name);
  }

  [[nodiscard]] const std::string& url() const override { return options_.url; }
  [[nodiscard]] const Capabilities& capabilities() const override { return options_.capabilities; }
  // There is one broker here, regardless of what is requested: suite/target/ puts two endpoints
  // together where another one serves isolated cases.
  Result<std::unique_ptr<Session>, Error> open_session(const SessionRequest& /*request*/) override {
    return std::make_unique<MqttSession>(options_, *connector_);
  }
  [[nodiscard]] bool sessions_share_clients() const override { return true; }
  Result<void, Error> check_reachable(Duration timeout, const std::string& /*caller*/) override {
    // A quick no: where nobody accepts, there is no broker. Whether one answers has to be tried
    // with a CONNECT, since the socket of a process that was just killed may still accept.
    const auto socket =
        connect_tcp(options_.host, options_.port, duration_cast<milliseconds>(timeout));
    if (socket) return {};
    return fail(Error{ErrorKind::kUnreachable, "cannot connect to " + options_.host + ":" +
                                                   std::to_string(options_.port) + ": " +
                                                   socket.error()});
  }

 private:
  // The connector refers to these as long as it lives, so they stand first.
  MqttOptions options_;
  std::unique_ptr<Connector> connector_;
};

}  // namespace

std::optional<Driver> driver_named(std::string_view name) {
  if (name == "builtin") return Driver::kBuiltin;
  if (name == "paho") return Driver::kPaho;
  return std::nullopt;
}

std::string driver_error(Driver driver) {
  return driver == Driver::kPaho ? paho_error() : std::string();
}

std::unique_ptr<Endpoint> make_mqtt_endpoint(MqttOptions options) {
  return std::make_unique<MqttEndpoint>(std::move(options));
}

}  // namespace fencepost::endpoint
