#include "suite/target/target.h"

#include <cerrno>
#include <functional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/printable.h"
#include "endpoint/in_process.h"
#include "endpoint/url.h"
#include "reference_store/variants/variant_store.h"
#include "suite/target/conditions_options.h"

namespace fencepost::target {
namespace {

constexpr const char* kRestrictedRole = "restricted";

// Empty: the correct store.
endpoint::MakeStore maker_of(const ReferenceOptions& given) {
  if (given.right) return store::make_variant(*given.right);
  if (given.faults.empty()) return {};
  return [faults = given.faults, seed = given.seed](const store::ServiceOptions& service) {
    return store::make_store(faults, service, seed);
  };
}

std::unique_ptr<endpoint::Endpoint> open_in_process(const ReferenceOptions& given,
                                                    const endpoint::Url& url,
                                                    const std::string& key_prefix) {
  auto authorization = store::parse_authorization(authorization_below(key_prefix));
  FENCEPOST_CHECK(authorization.has_value());
  return endpoint::make_in_process_endpoint(
      {.service = {.dialect = given.dialect, .store = {.authorization = std::move(*authorization)}},
       .make_store = maker_of(given),
       .quota = kReferenceQuota,
       .roles = {kRestrictedRole},
       .conditions = given.conditions,
       .url = url.display(),
       .key_prefix = key_prefix});
}

// Two brokers: one without limits for most cases, and a small one, whose few places are soon
// filled, which takes no large packets, and which may be restarted or killed. With a database, the
// small one has another, which is thrown away.
class EmbeddedEndpoint final : public endpoint::Endpoint {
 public:
  // The brokers must outlive the endpoint.
  EmbeddedEndpoint(endpoint::BrokerCluster& main, endpoint::BrokerCluster& small,
                   const std::string& url, const Descriptor& descriptor, bool exact_clock,
                   std::uint16_t proxy_port)
      : main_(endpoint::make_mqtt_endpoint(options(main, url, descriptor, proxy_port))),
        small_(endpoint::make_mqtt_endpoint(options(small, url, descriptor))),
        capabilities_(main_->capabilities()) {
    capabilities_.max_packet_size = kReferencePacketSize;
    capabilities_.ephemeral = capabilities_.durability == endpoint::Durability::kNone;
    capabilities_.exact_clock = exact_clock;
  }

  [[nodiscard]] const std::string& url() const override { return main_->url(); }
  [[nodiscard]] const endpoint::Capabilities& capabilities() const override {
    return capabilities_;
  }
  Result<std::unique_ptr<endpoint::Session>, endpoint::Error> open_session(
      const endpoint::SessionRequest& request) override {
    return (request.isolated ? small_ : main_)->open_session(request);
  }
  [[nodiscard]] bool sessions_share_clients() const override { return true; }
  Result<void, endpoint::Error> check_reachable(endpoint::Duration timeout,
                                                const std::string& /*caller*/) override {
    auto reached = main_->check_reachable(timeout);
    return reached ? small_->check_reachable(timeout) : reached;
  }

 private:
  static endpoint::MqttOptions options(endpoint::BrokerCluster& broker, const std::string& url,
                                       const Descriptor& descriptor, std::uint16_t proxy_port = 0) {
    endpoint::MqttOptions out;
    out.proxy_port = proxy_port;
    out.driver = descriptor.mqtt.driver;
    out.url = url;
    out.host = "127.0.0.1";
    out.port = broker.port();
    out.roles[kRestrictedRole] = {.user = kRestrictedRole};
    out.capabilities.quota = kReferenceQuota;
    out.capabilities.has_isolated_broker = true;
    out.capabilities.roles = {kRestrictedRole};
    out.capabilities.key_prefix = descriptor.mqtt.capabilities.key_prefix;
    out.capabilities.durability = durability_of(descriptor);
    for (const endpoint::DisturbanceKind& kind : endpoint::kDisturbances) {
      if (kind.declared == endpoint::Durability::kFailover && broker.nodes() == 1) continue;
      out.hooks.emplace(kind.name, [&broker, what = kind.name]() -> Result<void, endpoint::Error> {
        const auto done = broker.disturb(what);
        if (done) return {};
        return fail(endpoint::Error{endpoint::ErrorKind::kInternal, done.error()});
      });
    }
    return out;
  }

  std::unique_ptr<endpoint::Endpoint> main_;
  std::unique_ptr<endpoint::Endpoint> small_;
  endpoint::Capabilities capabilities_;
};

// As the plugin reads it; the reference store's own decisions have a text, too.
std::string right_text(const store::Decisions& decisions) {
  std::string text = store::to_text(decisions);
  if (!text.empty()) return text;
  return std::string(store::kChoices[0].name) + ":" + std::string(store::kChoices[0].decisions[0]);
}

// The port of the proxy, which is part of the target then; 0 without faults.
Result<std::uint16_t, TargetError> start_proxy(std::optional<endpoint::NetworkFaultOptions> faults,
                                               endpoint::DisturbBroker disturb,
                                               const endpoint::ProxiedBroker& broker,
                                               Target& target) {
  if (!faults) return std::uint16_t{0};
  faults->disturb_broker = std::move(disturb);
  auto network = endpoint::NetworkFaults::start(*faults, broker);
  if (!network) return fail(TargetError{TargetErrorKind::kUsage, network.error()});
  target.network = std::move(*network);
  return target.network->port();
}

Result<Target, TargetError> open_embedded(
    const ReferenceOptions& given, const endpoint::Url& url, const Descriptor& descriptor,
    const std::optional<endpoint::NetworkFaultOptions>& faults) {
  const std::string& key_prefix = descriptor.mqtt.capabilities.key_prefix;
  Target target;
  if (!given.database.empty()) {
    target.folder = std::make_unique<TemporaryFolder>();
    if (target.folder->path().empty()) {
      return fail(
          TargetError{TargetErrorKind::kUsage,
                      fmt::format("no folder can be made for temporary files ({}), which the "
                                  "database of cases that end the broker needs: set TMPDIR",
                                  std::generic_category().message(errno))});
    }
  }
  const std::string of_small = target.folder ? target.folder->path() / "store.db" : "";
  for (const bool small : {false, true}) {
    auto broker =
        endpoint::BrokerCluster::start({.dialect = given.dialect,
                                        .quota = small ? kReferenceQuota : 0,
                                        .max_packet_size = small ? kReferencePacketSize : 0,
                                        .authorization_json = authorization_below(key_prefix),
                                        .conditions = given.conditions,
                                        .fault = store::ids_of(given.faults),
                                        .seed = given.seed,
                                        .right = given.right ? right_text(*given.right) : "",
                                        .database = small ? of_small : given.database},
                                       given.nodes);
    if (!broker) {
      const bool usage = broker.error().kind == endpoint::StartErrorKind::kMissingProgram ||
                         broker.error().kind == endpoint::StartErrorKind::kBadValue;
      return fail(TargetError{usage ? TargetErrorKind::kUsage : TargetErrorKind::kUnreachable,
                              broker.error().text});
    }
    target.brokers.push_back(std::move(*broker));
  }
  for (const endpoint::NetworkFault fault :
       faults ? kinds_of(*faults) : std::vector<endpoint::NetworkFault>()) {
    if (!endpoint::kind_of(fault).of_cluster || given.nodes > 1) continue;
    return fail(TargetError{TargetErrorKind::kUsage,
                            fmt::format("--disturb {} needs a cluster: "
                                        "embedded?database=FILE&nodes=3, or commands of yours in a "
                                        "descriptor",
                                        endpoint::kind_of(fault).name)});
  }
  const auto disturb = [&broker = *target.brokers[0]](std::string_view what) {
    return broker.disturb(what);
  };
  const auto proxy = start_proxy(faults, disturb,
                                 {.host = "127.0.0.1", .port = target.brokers[0]->port()}, target);
  if (!proxy) return fail(proxy.error());
  target.endpoint = std::make_unique<EmbeddedEndpoint>(
      *target.brokers[0], *target.brokers[1], url.display(), descriptor,
      given.conditions.clock_offset.count() == 0, *proxy);
  return target;
}

// Runs the hook of that name, which there is.
std::function<Result<void, std::string>()> hook_runner(const Descriptor& descriptor,
                                                       std::string_view name) {
  return [hook = descriptor.hooks.find(name)->second,
          secrets = secrets_of(descriptor)]() -> Result<void, std::string> {
    const auto done = run_hook(hook);
    if (done) return {};
    // What it writes may name the passwords that it needs. (The command itself, in which the
    // shell's quotes would hide them, is in no message.)
    return fail(text::without_secrets(done.error(), secrets));
  };
}

Result<Target, TargetError> open_network(
    const Descriptor& descriptor, const endpoint::Url& url,
    const std::optional<endpoint::NetworkFaultOptions>& faults) {
  endpoint::MqttOptions options = descriptor.mqtt;
  options.url = url.display();
  options.host = url.host;
  options.port = url.port;
  options.tls = url.scheme == endpoint::Scheme::kMqtts;
  if (!url.user.empty()) {
    options.credentials.user = url.user;
    options.credentials.password = url.password;
  }
  options.capabilities.durability = descriptor.durability;
  for (const auto& [name, hook] : descriptor.hooks) {
    if (endpoint::disturbance_named(name) == nullptr) continue;
    options.hooks[name] = [run = hook_runner(descriptor, name)]() -> Result<void, endpoint::Error> {
      const auto done = run();
      if (done) return {};
      return fail(endpoint::Error{endpoint::ErrorKind::kInternal, done.error()});
    };
  }
  for (const endpoint::NetworkFault fault :
       faults ? kinds_of(*faults) : std::vector<endpoint::NetworkFault>()) {
    const endpoint::NetworkFaultKind& kind = endpoint::kind_of(fault);
    for (const std::string_view hook : {kind.name, kind.undo}) {
      if (!kind.of_broker || hook.empty() || descriptor.hooks.contains(hook)) continue;
      return fail(
          TargetError{TargetErrorKind::kUsage,
                      fmt::format("--disturb {} needs a command that does it, in a descriptor "
                                  "(hooks: {{{}: COMMAND}})",
                                  kind.name, hook)});
    }
  }
  const auto disturb = [descriptor](std::string_view what) {
    return hook_runner(descriptor, what)();
  };
  Target target;
  const auto proxy = start_proxy(
      faults, disturb, {.host = options.host, .port = options.port, .tls = options.tls}, target);
  if (!proxy) return fail(proxy.error());
  options.proxy_port = *proxy;
  target.endpoint = endpoint::make_mqtt_endpoint(std::move(options));
  return target;
}

}  // namespace

Result<std::unique_ptr<store::Handler>, TargetError> open_store(const Descriptor& descriptor,
                                                                codec::DialectId dialect) {
  const auto usage = [](std::string text) {
    return fail(TargetError{TargetErrorKind::kUsage, std::move(text)});
  };
  const auto url = endpoint::parse_url(descriptor.url);
  if (!url) return usage(url.error());
  if (url->scheme != endpoint::Scheme::kInProcess) return usage("this is not an inproc: endpoint");
  const auto given = reference_options(*url, dialect);
  if (!given) return usage(given.error());
  const endpoint::Conditions& conditions = given->conditions;
  if (conditions.clock_offset.count() != 0 || conditions.response_delay.count() != 0 ||
      conditions.response_jitter.count() != 0) {
    return usage("clock-offset, response-delay and response-jitter are for an embedded endpoint");
  }
  const store::ServiceOptions service{.dialect = given->dialect};
  if (const endpoint::MakeStore make = maker_of(*given)) return make(service);
  return std::make_unique<store::Service>(service);
}

std::string authorization_below(const std::string& key_prefix) {
  // Keys of cases look like <prefix>/<run>/<case>/<name>; names that begin with a word below are
  // for the role.
  const std::string below = '"' + key_prefix + "/*/";
  return R"({"policies": [
    {"principals": {"usernames": ["restricted"]},
     "stateStoreResources": [
       {"method": "Read", "keyType": "Pattern", "keys": [)" +
         below + R"(read-only/*"]},
       {"method": "Write", "keyType": "Pattern", "keys": [)" +
         below + R"(write-only/*"]},
       {"method": "ReadWrite", "keyType": "Pattern",
        "keys": [)" +
         below + "shared/*\", " + below + "probe\", " + below + R"(fence-*"]}]},
    {"principals": {"clientIds": ["*"]},
     "stateStoreResources": [{"method": "ReadWrite", "keyType": "Pattern", "keys": ["*"]}]}]})";
}

endpoint::Durability durability_of(const Descriptor& descriptor) {
  const auto url = endpoint::parse_url(descriptor.url);
  const bool keeps_keys =
      url && url->scheme == endpoint::Scheme::kEmbedded && url->query.contains("database");
  if (!keeps_keys) return descriptor.durability;
  return url->query.contains("nodes") ? endpoint::Durability::kFailover
                                      : endpoint::Durability::kKill;
}

const std::string& reference_authorization() {
  static const std::string json = authorization_below(endpoint::Capabilities{}.key_prefix);
  return json;
}

Result<Target, TargetError> open_target(
    const Descriptor& descriptor, codec::DialectId dialect,
    const std::optional<endpoint::NetworkFaultOptions>& faults) {
  const auto url = endpoint::parse_url(descriptor.url);
  if (!url) return fail(TargetError{TargetErrorKind::kUsage, url.error()});
  const bool ours =
      url->scheme == endpoint::Scheme::kEmbedded || url->scheme == endpoint::Scheme::kInProcess;
  if (!ours) {
    if (!url->query.empty()) {
      return fail(TargetError{TargetErrorKind::kUsage,
                              "mqtt URLs take no options; put them into a descriptor"});
    }
    return open_network(descriptor, *url, faults);
  }
  const auto given = reference_options(*url, dialect);
  if (!given) return fail(TargetError{TargetErrorKind::kUsage, given.error()});
  if (url->scheme == endpoint::Scheme::kEmbedded) {
    return open_embedded(*given, *url, descriptor, faults);
  }
  if (faults) {
    return fail(TargetError{TargetErrorKind::kUsage, "inproc: has no connections to disturb"});
  }
  Target target;
  target.endpoint = open_in_process(*given, *url, descriptor.mqtt.capabilities.key_prefix);
  return target;
}

}  // namespace fencepost::target
