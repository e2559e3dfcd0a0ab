#include "conformance/target.h"

#include <array>
#include <filesystem>

#include "base/check.h"
#include "endpoint/in_process.h"
#include "endpoint/url.h"

namespace fencepost::conformance {
namespace {

using namespace std::string_view_literals;

constexpr std::array kDescriptor = {"url"sv, "tls"sv, "roles"sv, "capabilities"sv, "timeout"sv};
constexpr std::array kTls = {"ca"sv, "certificate"sv, "key"sv};
constexpr std::array kRole = {"user"sv, "password"sv};
constexpr std::array kCapabilities = {"quota"sv};

constexpr const char* kRestrictedRole = "restricted";

class DescriptorLoader {
 public:
  DescriptorLoader(const SourceFile& file, std::vector<LoadError>& errors)
      : reader_(file.name, errors),
        content_(file.content),
        directory_(std::filesystem::path(file.name).parent_path()) {}

  std::optional<Descriptor> load() {
    const auto root = reader_.parse(content_);
    if (!root || !reader_.check_map(*root, "the descriptor", kDescriptor, {"url"}))
      return std::nullopt;
    Descriptor out;
    out.url = reader_.text(YamlReader::member(*root, "url"), "url").value_or("");
    if (const auto tls = YamlReader::member(*root, "tls"); tls.IsDefined()) load_tls(tls, out.mqtt);
    if (const auto roles = YamlReader::member(*root, "roles"); roles.IsDefined()) {
      load_roles(roles, out.mqtt);
    }
    if (const auto capabilities = YamlReader::member(*root, "capabilities");
        capabilities.IsDefined() &&
        reader_.check_map(capabilities, "capabilities", kCapabilities)) {
      load_quota(YamlReader::member(capabilities, "quota"), out.mqtt);
    }
    if (const auto timeout = YamlReader::member(*root, "timeout"); timeout.IsDefined()) {
      out.mqtt.timeout = reader_.duration(timeout, "timeout").value_or(std::chrono::seconds{3});
    }
    return out;
  }

 private:
  void load_tls(const YAML::Node& node, endpoint::MqttOptions& out) {
    if (!reader_.check_map(node, "tls", kTls)) return;
    out.ca = path(YamlReader::member(node, "ca"), "ca");
    out.certificate = path(YamlReader::member(node, "certificate"), "certificate");
    out.key = path(YamlReader::member(node, "key"), "key");
  }

  std::filesystem::path path(const YAML::Node& node, std::string_view what) {
    if (!node.IsDefined()) return {};
    const auto text = reader_.text(node, what);
    if (!text) return {};
    std::filesystem::path full = directory_ / *text;
    std::error_code failed;
    if (!std::filesystem::exists(full, failed)) {
      reader_.complain(node, std::string(what) + ": there is no file " + full.string());
    }
    return full;
  }

  void load_roles(const YAML::Node& node, endpoint::MqttOptions& out) {
    if (!node.IsMap()) {
      reader_.complain(node, "roles must map names to {user, password}");
      return;
    }
    for (const auto& entry : node) {
      if (out.roles.contains(entry.first.Scalar())) {
        reader_.complain(entry.first, "the key \"" + entry.first.Scalar() +
                                          "\" stands twice in roles; remove one");
      }
      if (!reader_.check_map(entry.second, "role", kRole, {"user"})) continue;
      const YAML::Node password = YamlReader::member(entry.second, "password");
      out.roles[entry.first.Scalar()] = {
          .user = reader_.text(YamlReader::member(entry.second, "user"), "user").value_or(""),
          .password = password.IsDefined() ? reader_.text(password, "password").value_or("") : ""};
      out.capabilities.roles.push_back(entry.first.Scalar());
    }
  }

  void load_quota(const YAML::Node& node, endpoint::MqttOptions& out) {
    if (!node.IsDefined()) return;
    constexpr std::int64_t kMostKeys = 100'000;
    const auto quota = reader_.integer(node, "quota", 1, kMostKeys);
    if (quota) out.capabilities.quota = static_cast<std::size_t>(*quota);
  }

  YamlReader reader_;
  const std::string& content_;
  std::filesystem::path directory_;
};

Result<codec::DialectId, TargetError> dialect_of(const endpoint::Url& url,
                                                 codec::DialectId fallback) {
  for (const auto& [name, value] : url.query) {
    if (name != "dialect") {
      return fail(TargetError{TargetErrorKind::kUsage, "the endpoint has no option \"" + name +
                                                           "\"; it may have dialect=documented or "
                                                           "dialect=deployed"});
    }
  }
  const auto given = url.query.find("dialect");
  if (given == url.query.end()) return fallback;
  const auto known = codec::dialect_named(given->second);
  if (!known) {
    return fail(TargetError{TargetErrorKind::kUsage,
                            "dialect=" + given->second + " is neither documented nor deployed"});
  }
  return *known;
}

std::unique_ptr<endpoint::Endpoint> open_in_process(codec::DialectId dialect) {
  auto authorization = store::parse_authorization(reference_authorization());
  FENCEPOST_CHECK(authorization.has_value());
  return endpoint::make_in_process_endpoint(
      {.service = {.dialect = dialect, .store = {.authorization = std::move(*authorization)}},
       .quota = kReferenceQuota,
       .roles = {kRestrictedRole}});
}

// Two brokers: one without limit for most cases, one whose few places are soon filled.
class EmbeddedEndpoint final : public endpoint::Endpoint {
 public:
  EmbeddedEndpoint(std::uint16_t port, std::uint16_t quota_port)
      : main_(endpoint::make_mqtt_endpoint(options(port))),
        small_(endpoint::make_mqtt_endpoint(options(quota_port))),
        capabilities_(options(port).capabilities) {}

  [[nodiscard]] const std::string& url() const override { return main_->url(); }
  [[nodiscard]] const endpoint::Capabilities& capabilities() const override {
    return capabilities_;
  }
  Result<std::unique_ptr<endpoint::Session>, endpoint::Error> open_session() override {
    return main_->open_session();
  }
  Result<std::unique_ptr<endpoint::Session>, endpoint::Error> open_quota_session() override {
    return small_->open_session();
  }
  Result<void, endpoint::Error> check_reachable(endpoint::Duration timeout) override {
    auto reached = main_->check_reachable(timeout);
    return reached ? small_->check_reachable(timeout) : reached;
  }

 private:
  static endpoint::MqttOptions options(std::uint16_t port) {
    endpoint::MqttOptions out;
    out.url = "embedded";
    out.host = "127.0.0.1";
    out.port = port;
    out.roles[kRestrictedRole] = {.user = kRestrictedRole};
    out.capabilities.quota = kReferenceQuota;
    out.capabilities.quota_apart = true;
    out.capabilities.exact_clock = true;
    out.capabilities.roles = {kRestrictedRole};
    return out;
  }

  std::unique_ptr<endpoint::Endpoint> main_;
  std::unique_ptr<endpoint::Endpoint> small_;
  endpoint::Capabilities capabilities_;
};

Result<Target, TargetError> open_embedded(codec::DialectId dialect) {
  Target target;
  for (const std::size_t quota : {std::size_t{0}, kReferenceQuota}) {
    auto broker = endpoint::BrokerProcess::start(
        {.dialect = dialect, .quota = quota, .authorization_json = reference_authorization()});
    if (!broker) {
      const bool missing = broker.error().kind == endpoint::StartErrorKind::kMissingProgram;
      return fail(TargetError{missing ? TargetErrorKind::kUsage : TargetErrorKind::kUnreachable,
                              broker.error().text});
    }
    target.brokers.push_back(std::move(*broker));
  }
  target.endpoint =
      std::make_unique<EmbeddedEndpoint>(target.brokers[0]->port(), target.brokers[1]->port());
  return target;
}

Target open_network(const Descriptor& descriptor, const endpoint::Url& url) {
  endpoint::MqttOptions options = descriptor.mqtt;
  options.url = url.display();
  options.host = url.host;
  options.port = url.port;
  options.tls = url.scheme == endpoint::Scheme::kMqtts;
  options.credentials = {.user = url.user, .password = url.password};
  Target target;
  target.endpoint = endpoint::make_mqtt_endpoint(std::move(options));
  return target;
}

}  // namespace

const std::string& reference_authorization() {
  // Keys of cases look like fencepost/<run>/<case>/<name>; names that begin with a word below are
  // for the role.
  static const std::string json = R"({"policies": [
    {"principals": {"usernames": ["restricted"]},
     "stateStoreResources": [
       {"method": "Read", "keyType": "Pattern", "keys": ["fencepost/*/read-only/*"]},
       {"method": "Write", "keyType": "Pattern", "keys": ["fencepost/*/write-only/*"]},
       {"method": "ReadWrite", "keyType": "Pattern",
        "keys": ["fencepost/*/shared/*", "fencepost/*/probe", "fencepost/*/fence-*"]}]},
    {"principals": {"clientIds": ["*"]},
     "stateStoreResources": [{"method": "ReadWrite", "keyType": "Pattern", "keys": ["*"]}]}]})";
  return json;
}

std::optional<Descriptor> load_descriptor(const SourceFile& file, std::vector<LoadError>& errors) {
  const std::size_t before = errors.size();
  auto descriptor = DescriptorLoader(file, errors).load();
  if (errors.size() > before) return std::nullopt;
  return descriptor;
}

Result<Target, TargetError> open_target(const Descriptor& descriptor, codec::DialectId dialect) {
  const auto url = endpoint::parse_url(descriptor.url);
  if (!url) return fail(TargetError{TargetErrorKind::kUsage, url.error()});
  const bool ours =
      url->scheme == endpoint::Scheme::kEmbedded || url->scheme == endpoint::Scheme::kInProcess;
  if (!ours) {
    if (!url->query.empty()) {
      return fail(TargetError{TargetErrorKind::kUsage,
                              "mqtt URLs take no options; put them into a descriptor"});
    }
    return open_network(descriptor, *url);
  }
  const auto spoken = dialect_of(*url, dialect);
  if (!spoken) return fail(spoken.error());
  if (url->scheme == endpoint::Scheme::kEmbedded) return open_embedded(*spoken);
  Target target;
  target.endpoint = open_in_process(*spoken);
  return target;
}

}  // namespace fencepost::conformance
