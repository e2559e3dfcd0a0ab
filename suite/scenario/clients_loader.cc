#include "suite/scenario/clients_loader.h"

#include <algorithm>
#include <utility>

#include "suite/scenario/bytes_loader.h"
#include "suite/scenario/scenario_fields.h"

namespace fencepost::scenario {
namespace {

// An iterator of the list, const as that is.
template <typename Clients>
auto find_client(Clients& clients, const std::string& name) {
  return std::find_if(clients.begin(), clients.end(),
                      [&](const ClientSpec& spec) { return spec.name == name; });
}

void load_will(YamlReader& reader, YamlNode node, ClientSpec& spec) {
  if (!reader.check_map(node, "will", fields::kWill, {"topic", "payload"})) return;
  auto topic = load_bytes(reader, node.member("topic"), "topic");
  auto payload = load_bytes(reader, node.member("payload"), "payload");
  if (topic && payload) spec.will = Will{std::move(*topic), std::move(*payload)};
}

// Properties are bytes that stand for nothing else: no keys.
void load_extras(YamlReader& reader, YamlNode node, endpoint::MqttExtras& extras) {
  const auto bytes = [&](const char* key, std::string& out) {
    const YamlNode member = node.member(key);
    const auto loaded = member.is_defined() ? load_bytes(reader, member, key) : std::nullopt;
    if (!loaded) return;
    if (auto literal = literal_of(*loaded)) {
      out = std::move(*literal);
    } else {
      reader.diagnose(member, std::string(key) + " takes text, escaped, hex, and join of these");
    }
  };
  bytes("connect_properties", extras.connect_properties);
  bytes("subscribe_properties", extras.subscribe_properties);
  if (const auto options = node.member("subscription_options"); options.is_defined()) {
    const auto bits = reader.integer(options, "subscription_options", 0, 0xfc);
    extras.subscription_options = static_cast<std::uint8_t>(bits.value_or(0));
    if ((extras.subscription_options & 3U) != 0) {
      reader.diagnose(
          options, "subscription_options does not contain the QoS: its two lowest bits must be 0");
    }
  }
  if (const auto aliases = node.member("topic_aliases"); aliases.is_defined()) {
    extras.topic_aliases = reader.boolean(aliases, "topic_aliases").value_or(false);
  }
}

// Without a broker nobody looks at these.
void needs_transport(YamlReader& reader, YamlNode node, const ClientSpec& spec,
                     const Case& test_case) {
  const bool needed = spec.receive_maximum != 0 || spec.max_packet_size != 0 || spec.will;
  const auto& names = test_case.requires_;
  if (!needed || std::find(names.begin(), names.end(), "transport") != names.end()) return;
  reader.diagnose(node,
                  "client " + spec.name + " needs a real connection: write requires: [transport]");
}

void load_client(YamlReader& reader, const std::string& name, YamlNode node, Case& test_case) {
  if (!reader.check_map(node, "client", fields::kClient)) return;
  ClientSpec spec{.name = name};
  if (const auto role = node.member("role"); role.is_defined()) {
    spec.role = reader.text(role, "role").value_or("");
  }
  if (const auto id = node.member("same_id_as"); id.is_defined()) {
    spec.same_id_as = load_client_name(reader, id, test_case);
  }
  const auto flag = [&](const char* key, bool& value) {
    const YamlNode member = node.member(key);
    if (member.is_defined()) value = reader.boolean(member, key).value_or(value);
  };
  flag("subscribes", spec.subscribes);
  flag("observes", spec.observes);
  flag("clean_start", spec.clean_start);
  if (const auto expiry = node.member("session_expiry"); expiry.is_defined()) {
    const auto seconds = reader.integer(expiry, "session_expiry (seconds)", 0, 86'400);
    spec.session_expiry_seconds = static_cast<std::uint32_t>(seconds.value_or(0));
  }
  if (const auto most = node.member("receive_maximum"); most.is_defined()) {
    const auto count = reader.integer(most, "receive_maximum", 1, 65'535);
    spec.receive_maximum = static_cast<std::uint16_t>(count.value_or(1));
  }
  if (const auto most = node.member("max_packet_size"); most.is_defined()) {
    const auto bytes = reader.integer(most, "max_packet_size", 100, 16'777'216);
    spec.max_packet_size = static_cast<std::uint32_t>(bytes.value_or(100));
  }
  load_extras(reader, node, spec.extras);
  if (const auto will = node.member("will"); will.is_defined()) load_will(reader, will, spec);
  if (const auto protocol = node.member("protocol"); protocol.is_defined()) {
    const auto version = reader.text(protocol, "protocol");
    spec.old = version == "3.1.1";
    if (version && !spec.old) {
      reader.diagnose(protocol, "protocol must be \"3.1.1\"; without it a client speaks MQTT 5");
    }
  }
  needs_transport(reader, node, spec, test_case);
  test_case.clients.push_back(std::move(spec));
}

}  // namespace

void load_clients(YamlReader& reader, YamlNode node, Case& test_case) {
  if (!node.is_defined()) {
    test_case.clients.push_back({.name = "a"});
    return;
  }
  if (!node.is_map() || node.size() == 0) {
    reader.diagnose(node, "clients must map names to their options, e.g. {a: {}, b: {}}");
    return;
  }
  if (!reader.check_names(node, "clients")) return;
  test_case.clients.reserve(node.size());
  for (const auto& entry : node.entries())
    load_client(reader, entry.key.scalar(), entry.value, test_case);
}

std::string load_client_name(YamlReader& reader, YamlNode node, const Case& test_case) {
  if (!node.is_defined()) return test_case.clients.empty() ? "" : test_case.clients.front().name;
  const auto name = reader.text(node, "client");
  if (name && find_client(test_case.clients, *name) == test_case.clients.end()) {
    reader.diagnose(node, "there is no client \"" + *name + "\"; declare it under clients");
  }
  return name.value_or("");
}

void make_observer(Case& test_case, const std::string& client) {
  const auto found = find_client(test_case.clients, client);
  if (found != test_case.clients.end()) found->observes = true;
}

void make_dropping(Case& test_case, const std::string& client) {
  const auto found = find_client(test_case.clients, client);
  if (found != test_case.clients.end()) found->drops = true;
}

}  // namespace fencepost::scenario
