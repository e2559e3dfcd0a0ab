#include "suite/target/descriptor.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/printable.h"
#include "endpoint/fault_schedule.h"
#include "endpoint/packet_size.h"
#include "endpoint/url.h"
#include "suite/scenario/yaml_reader.h"
#include "suite/target/descriptor_fields.h"

namespace fencepost::target {
namespace {

namespace fields = descriptor_fields;

constexpr std::int64_t kMaxKeys = 100'000;      // that a case fills in reasonable time
constexpr std::int64_t kMinPacketSize = 1'024;  // a request without value has some 300 bytes
constexpr std::size_t kMaxKeyPrefixLength = 64;
constexpr std::size_t kMaxClientIdLength = 64;
constexpr std::size_t kMaxProductText = 100;

// Letters that mean nothing in a pattern of keys, as the prefix goes into rules of access.
bool is_key_prefix(std::string_view text) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/";
  return !text.empty() && text.size() <= kMaxKeyPrefixLength &&
         text.find_first_not_of(kAllowed) == std::string_view::npos && text.front() != '/' &&
         text.back() != '/';
}

// It becomes a level of topics.
bool is_client_id(std::string_view text) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !text.empty() && text.size() <= kMaxClientIdLength &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

class DescriptorLoader {
 public:
  DescriptorLoader(const scenario::SourceFile& file, std::vector<scenario::LoadError>& errors)
      : reader_(file.name, errors, scenario::YamlReader::Content::kSecret),
        content_(file.content),
        directory_(std::filesystem::path(file.name).parent_path()) {}

  std::optional<Descriptor> load() {
    const auto root = reader_.parse(content_);
    if (!root || !reader_.check_map(*root, "the descriptor", fields::kDescriptor, {"url"})) {
      return std::nullopt;
    }
    root_ = *root;
    load_url(root_.member("url"));
    with("profile", [this](scenario::YamlNode node) { load_profile(node); });
    with("edition", [this](scenario::YamlNode node) { load_edition(node, "edition"); });
    with("wording", [this](scenario::YamlNode node) {  // the old name
      if (out_.edition) reader_.diagnose(node, "wording is the old name of edition; remove it");
      load_edition(node, "wording");
    });
    with("timeout", [this](scenario::YamlNode node) {
      if (const auto timeout = reader_.duration(node, "timeout")) out_.mqtt.timeout = *timeout;
    });
    with("tls", [this](scenario::YamlNode node) { load_tls(node); });
    with("roles", [this](scenario::YamlNode node) { load_roles(node); });
    with("key_prefix", [this](scenario::YamlNode node) { load_key_prefix(node); });
    with("capabilities", [this](scenario::YamlNode node) { load_capabilities(node); });
    with("clock_tolerance", [this](scenario::YamlNode node) {
      out_.clock_tolerance = reader_.duration(node, "clock_tolerance");
    });
    with("expiry_tolerance", [this](scenario::YamlNode node) {
      out_.expiry_tolerance = reader_.duration(node, "expiry_tolerance");
    });
    with("disconnect_settling", [this](scenario::YamlNode node) {
      out_.disconnect_settling = reader_.duration(node, "disconnect_settling");
    });
    with("hooks", [this](scenario::YamlNode node) { load_hooks(node); });
    with("durability", [this](scenario::YamlNode node) { load_durability(node); });
    with("product", [this](scenario::YamlNode node) { load_product(node); });
    with("note", [this](scenario::YamlNode node) { (void)reader_.text(node, "note"); });
    return std::move(out_);
  }

 private:
  template <typename Use>
  void with(std::string_view key, const Use& use) {
    if (const auto node = root_.member(key); node.is_defined()) use(node);
  }

  void load_url(scenario::YamlNode node) {
    const auto text = reader_.text(node, "url");
    if (!text) return;
    out_.url = *text;
    const auto url = endpoint::parse_url(*text);
    if (!url) {
      reader_.diagnose(node, url.error());
      return;
    }
    has_user_ = !url->user.empty();
    const bool ours =
        url->scheme == endpoint::Scheme::kEmbedded || url->scheme == endpoint::Scheme::kInProcess;
    const auto refuse = [&](std::string_view key, const std::string& why) {
      with(key, [&](scenario::YamlNode member) {
        reader_.diagnose(member, std::string(key) + " " + why);
      });
    };
    for (const std::string_view key : {"tls", "roles", "capabilities", "hooks", "durability"}) {
      if (ours) refuse(key, "cannot be set for " + *text + ", which has its own; remove it");
    }
    if (url->scheme == endpoint::Scheme::kMqtt) {
      refuse("tls", "is not used by mqtt:// URLs; write mqtts://, or remove it");
    }
  }

  void load_profile(scenario::YamlNode node) {
    const auto word = reader_.text(node, "profile");
    if (!word) return;
    out_.profile = codec::profile_named(*word);
    if (!out_.profile) {
      reader_.diagnose(node, "profile must be auto, documented or deployed, not \"" + *word + "\"");
    }
  }

  void load_edition(scenario::YamlNode node, const std::string& key) {
    const auto word = reader_.text(node, key);
    if (!word) return;
    out_.edition = scenario::edition_named(*word);
    if (!out_.edition) {
      reader_.diagnose(node, key + " must be auto, preview or ga, not \"" + *word + "\"");
    }
  }

  void load_product(scenario::YamlNode node) {
    if (!reader_.check_map(node, "product", fields::kProduct, {"name"})) return;
    const auto line = [&](const char* key) {
      const scenario::YamlNode member = node.member(key);
      const auto out = member.is_defined() ? reader_.text(member, key) : std::string();
      if (out && (out->size() > kMaxProductText || text::one_line(*out) != *out)) {
        reader_.diagnose(member, std::string(key) + " must be one line of at most 100 bytes");
      }
      return out.value_or("");
    };
    out_.product = {.name = line("name"), .version = line("version"), .owner = line("owner")};
    if (out_.product.name.empty()) reader_.diagnose(node, "product needs a name that is not empty");
  }

  void load_tls(scenario::YamlNode node) {
    if (!reader_.check_map(node, "tls", fields::kTls)) return;
    out_.mqtt.ca = path(node.member("ca"), "ca");
    load_certificate(node, out_.mqtt.certificate, out_.mqtt.key);
  }

  void load_certificate(scenario::YamlNode map, std::filesystem::path& certificate,
                        std::filesystem::path& key) {
    certificate = path(map.member("certificate"), "certificate");
    key = path(map.member("key"), "key");
    if (!key.empty() && certificate.empty()) {
      reader_.diagnose(map, "a key needs its certificate");
    }
  }

  std::filesystem::path path(scenario::YamlNode node, std::string_view what) {
    if (!node.is_defined()) return {};
    const auto text = reader_.text(node, what);
    if (!text) return {};
    std::filesystem::path full = directory_ / *text;
    std::error_code failed;
    if (!std::filesystem::is_regular_file(full, failed)) {
      // Somebody may have put the key itself there.
      reader_.diagnose(
          node,
          std::string(what) + ": there is no such file; it must be a path, relative to this file");
    }
    return full;
  }

  void load_roles(scenario::YamlNode node) {
    if (!reader_.check_names(node, "roles")) return;
    for (const auto& entry : node.entries()) {
      const std::string name = entry.key.scalar();
      auto credentials = load_role(name, entry.value);
      if (!credentials) continue;
      if (name != kDefaultRole) {
        out_.mqtt.roles[name] = std::move(*credentials);
        out_.mqtt.capabilities.roles.push_back(name);
        continue;
      }
      if (has_user_) {
        reader_.diagnose(entry.key, "the url already has a user; remove it there or here");
      }
      out_.mqtt.credentials = std::move(*credentials);
    }
  }

  std::optional<endpoint::Credentials> load_role(const std::string& name, scenario::YamlNode node) {
    if (!reader_.check_map(node, "role", fields::kRole)) return std::nullopt;
    endpoint::Credentials out;
    const scenario::YamlNode user = node.member("user");
    const scenario::YamlNode password = node.member("password");
    const scenario::YamlNode variable = node.member("password_env");
    if (user.is_defined()) out.user = reader_.text(user, "user").value_or("");
    load_certificate(node, out.certificate, out.key);
    const scenario::YamlNode client_id = node.member("client_id");
    if (client_id.is_defined()) load_client_id(name, client_id);
    if (!user.is_defined() && !node.member("certificate").is_defined() && !client_id.is_defined()) {
      reader_.diagnose(node, "a role needs a user, a certificate or a client_id");
    }
    if (!user.is_defined() && (password.is_defined() || variable.is_defined())) {
      reader_.diagnose(node, "a password needs its user");
    }
    if (password.is_defined() && variable.is_defined()) {
      reader_.diagnose(variable, "the role already has a password; remove it, or password_env");
    } else if (password.is_defined()) {
      out.password = reader_.text(password, "password").value_or("");
    } else if (variable.is_defined()) {
      out.password = environment(name, variable);
    }
    return out;
  }

  void load_client_id(const std::string& role, scenario::YamlNode node) {
    const auto text = reader_.text(node, "client_id");
    if (!text) return;
    if (role == kDefaultRole) {
      reader_.diagnose(node, "client_id: this role has many clients; remove it");
    } else if (!is_client_id(*text)) {
      reader_.diagnose(node, "client_id \"" + *text +
                                 "\" must be at most 64 letters, digits, dots, dashes and "
                                 "underscores");
    } else {
      out_.mqtt.capabilities.client_ids[role] = *text;
    }
  }

  std::string environment(const std::string& role, scenario::YamlNode node) {
    const auto variable = reader_.text(node, "password_env");
    if (!variable) return {};
    const char* value =
        std::getenv(variable->c_str());  // NOLINT(concurrency-mt-unsafe): no threads
    if (value == nullptr) {
      // Somebody may have put the password itself there.
      reader_.diagnose(node, "password_env: there is no environment variable of this name");
      return {};
    }
    out_.password_variables[role] = *variable;
    return value;
  }

  void load_key_prefix(scenario::YamlNode node) {
    const auto text = reader_.text(node, "key_prefix");
    if (!text) return;
    if (!is_key_prefix(*text)) {
      reader_.diagnose(node, "key_prefix \"" + *text +
                                 "\" must be at most 64 letters, digits, dots, dashes, "
                                 "underscores and slashes, without a slash at its ends");
      return;
    }
    out_.mqtt.capabilities.key_prefix = *text;
  }

  void load_capabilities(scenario::YamlNode node) {
    if (!reader_.check_map(node, "capabilities", fields::kCapabilities)) return;
    const auto number = [&](const char* key, std::int64_t least,
                            std::int64_t most) -> std::optional<std::int64_t> {
      const scenario::YamlNode member = node.member(key);
      return member.is_defined() ? reader_.integer(member, key, least, most) : std::nullopt;
    };
    if (const auto quota = number("quota", 1, kMaxKeys)) {
      out_.mqtt.capabilities.quota = static_cast<std::size_t>(*quota);
    }
    constexpr auto kMax = static_cast<std::int64_t>(endpoint::kMaxPacketSize);
    if (const auto size = number("max_packet_size", kMinPacketSize, kMax)) {
      out_.mqtt.capabilities.max_packet_size = static_cast<std::uint32_t>(*size);
    }
    if (const auto member = node.member("store_in_broker"); member.is_defined()) {
      out_.mqtt.capabilities.store_in_broker =
          reader_.boolean(member, "store_in_broker").value_or(true);
    }
  }

  void load_durability(scenario::YamlNode node) {
    const auto word = reader_.text(node, "durability");
    if (!word) return;
    const auto durability = endpoint::durability_named(*word);
    out_.durability = durability.value_or(endpoint::Durability::kNone);
    if (!durability) {
      reader_.diagnose(node,
                       "durability must be none, restart, kill or failover, not \"" + *word + "\"");
    }
  }

  void load_hooks(scenario::YamlNode node) {
    if (!reader_.check_map(node, "hooks", fields::kHooks)) return;
    Hook hook{.directory = directory_};
    if (const auto timeout = node.member("timeout"); timeout.is_defined()) {
      hook.timeout = reader_.duration(timeout, "timeout").value_or(hook.timeout);
    }
    if (const auto names = node.member("environment"); names.is_defined()) {
      hook.environment = reader_.texts(names, "environment");
    }
    out_.mqtt.hook_timeout = hook.timeout;
    for (const std::string_view name : fields::kHookCommands) {
      const scenario::YamlNode command = node.member(name);
      if (!command.is_defined()) continue;
      hook.command = reader_.text(command, name).value_or("");
      if (hook.command.empty()) reader_.diagnose(command, std::string(name) + " must be a command");
      out_.hooks.emplace(name, hook);
    }
    for (const endpoint::NetworkFaultKind& kind : endpoint::kNetworkFaults) {
      if (kind.undo.empty()) continue;
      const bool begins = out_.hooks.contains(kind.name);
      if (begins == out_.hooks.contains(kind.undo)) continue;
      reader_.diagnose(node,
                       fmt::format("hooks has {} and not {}; one undoes the other",
                                   begins ? kind.name : kind.undo, begins ? kind.undo : kind.name));
    }
    if (out_.hooks.empty()) {
      reader_.diagnose(node, fmt::format("hooks needs the key \"{}\"",
                                         fmt::join(fields::kHookCommands, "\" or \"")));
    }
  }

  scenario::YamlReader reader_;
  const std::string& content_;
  std::filesystem::path directory_;
  scenario::YamlNode root_;
  Descriptor out_;
  bool has_user_ = false;  // in the URL
};

}  // namespace

std::vector<std::string> secrets_of(const Descriptor& descriptor) {
  std::vector<std::string> out = endpoint::passwords_in(descriptor.url);
  for (const auto& [role, credentials] : descriptor.mqtt.roles) {
    if (!credentials.password.empty()) out.push_back(credentials.password);
  }
  if (!descriptor.mqtt.credentials.password.empty()) {
    out.push_back(descriptor.mqtt.credentials.password);
  }
  return out;
}

bool holds_password(const Descriptor& descriptor) {
  const auto is_its_own = [&](const std::string& role, const endpoint::Credentials& credentials) {
    return !credentials.password.empty() && !descriptor.password_variables.contains(role);
  };
  return !endpoint::passwords_in(descriptor.url).empty() ||
         is_its_own(kDefaultRole, descriptor.mqtt.credentials) ||
         std::any_of(descriptor.mqtt.roles.begin(), descriptor.mqtt.roles.end(),
                     [&](const auto& role) { return is_its_own(role.first, role.second); });
}

std::optional<Descriptor> load_descriptor(const scenario::SourceFile& file,
                                          std::vector<scenario::LoadError>& errors) {
  const std::size_t before = errors.size();
  auto descriptor = DescriptorLoader(file, errors).load();
  if (errors.size() > before) return std::nullopt;
  return descriptor;
}

}  // namespace fencepost::target
