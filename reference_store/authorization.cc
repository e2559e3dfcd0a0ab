#include "reference_store/authorization.h"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/glob.h"
#include "base/json_reader.h"

namespace fencepost::store {
namespace {

using nlohmann::json;

constexpr std::string_view kPrincipal = "{principal.";  // what substitutions begin with

// A glob that matches `name` and nothing else: a user who may choose a client id must not choose a
// pattern with it.
std::string literal_glob(std::string_view name) {
  std::string glob;
  for (const char c : name) {
    const bool special = c == '*' || c == '?' || c == '[';
    if (special) glob += '[';
    glob += c;
    if (special) glob += ']';
  }
  return glob;
}

// One pass, so that a name which spells a substitution is not substituted again. Nothing when the
// pattern needs a user name and the client has none.
std::optional<std::string> substitute(std::string_view pattern, const Caller& caller) {
  constexpr std::string_view kClientId = "{principal.clientId}";
  constexpr std::string_view kUserName = "{principal.username}";
  std::string out;
  while (!pattern.empty()) {
    if (pattern.starts_with(kClientId)) {
      out += literal_glob(caller.client_id);
      pattern.remove_prefix(kClientId.size());
    } else if (pattern.starts_with(kUserName)) {
      if (caller.user_name.empty()) return std::nullopt;
      out += literal_glob(caller.user_name);
      pattern.remove_prefix(kUserName.size());
    } else {
      out += pattern.front();
      pattern.remove_prefix(1);
    }
  }
  return out;
}

bool rule_covers(const Rule& rule, const Caller& caller, std::string_view key) {
  return std::any_of(rule.keys.begin(), rule.keys.end(), [&](const std::string& wanted) {
    if (rule.key_type != KeyType::kPattern) return key == wanted;
    if (wanted.find(kPrincipal) == std::string::npos) return glob_matches(wanted, key);
    const std::optional<std::string> pattern = substitute(wanted, caller);
    return pattern && glob_matches(*pattern, key);
  });
}

bool method_grants(Method method, Access access) {
  switch (method) {
    case Method::kReadWrite:
      return true;
    case Method::kRead:
      return access == Access::kRead;
    case Method::kWrite:
      return access == Access::kWrite;
  }
  return false;
}

bool any_glob_matches(const std::vector<std::string>& globs, std::string_view text) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return glob_matches(glob, text); });
}

int base64_digit(char c) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::size_t digit = kDigits.find(c);
  return digit == std::string_view::npos ? -1 : static_cast<int>(digit);
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string out;
  unsigned buffer = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const int digit = base64_digit(c);
    if (digit < 0) return std::nullopt;
    buffer = (buffer << 6U) | static_cast<unsigned>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>((buffer >> bits) & 0xffU);
  }
  return out;
}

// Reads an array of strings; nothing when it is not one.
std::optional<std::vector<std::string>> read_strings(const json& node) {
  if (!node.is_array()) return std::nullopt;
  std::vector<std::string> strings;
  for (const json& item : node) {
    if (!item.is_string()) return std::nullopt;
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

// A member that is one of a few words.
template <typename T>
std::optional<T> read_word(const json& node, const char* member, const char* fallback,
                           std::initializer_list<std::pair<const char*, T>> words) {
  const auto found = node.find(member);
  if (found != node.end() && !found->is_string()) return std::nullopt;
  const std::string text = found == node.end() ? fallback : found->get<std::string>();
  for (const auto& [word, value] : words) {
    if (text == word) return value;
  }
  return std::nullopt;
}

Result<Rule, std::string> read_rule(const json& node, const std::string& where) {
  if (!node.is_object()) return fail(where + " must be an object");
  const auto method = read_word<Method>(
      node, "method", "",
      {{"Read", Method::kRead}, {"Write", Method::kWrite}, {"ReadWrite", Method::kReadWrite}});
  if (!method) return fail(where + ".method must be Read, Write or ReadWrite");
  const auto key_type = read_word<KeyType>(
      node, "keyType", "Pattern",
      {{"Pattern", KeyType::kPattern}, {"String", KeyType::kString}, {"Binary", KeyType::kBinary}});
  if (!key_type) return fail(where + ".keyType must be Pattern, String or Binary");
  std::optional<std::vector<std::string>> keys = read_strings(node.value("keys", json{}));
  if (!keys) return fail(where + ".keys must be an array of strings");
  if (*key_type == KeyType::kBinary) {
    for (std::string& key : *keys) {
      std::optional<std::string> bytes = base64_decode(key);
      if (!bytes) return fail(where + ".keys: \"" + key + "\" is not base64");
      key = std::move(*bytes);
    }
  }
  return Rule{*method, *key_type, std::move(*keys)};
}

Result<Policy, std::string> read_policy(const json& node, const std::string& where) {
  if (!node.is_object()) return fail(where + " must be an object");
  const json principals = node.value("principals", json{});
  const json empty = json::array();
  Policy policy;
  auto client_ids =
      principals.is_object() ? read_strings(principals.value("clientIds", empty)) : std::nullopt;
  auto user_names =
      principals.is_object() ? read_strings(principals.value("usernames", empty)) : std::nullopt;
  if (!client_ids || !user_names || (client_ids->empty() && user_names->empty())) {
    return fail(where + ".principals must name clientIds or usernames (arrays of globs)");
  }
  policy.client_ids = std::move(*client_ids);
  policy.user_names = std::move(*user_names);
  const json resources = node.value("stateStoreResources", json{});
  if (!resources.is_array()) return fail(where + ".stateStoreResources must be an array");
  for (std::size_t i = 0; i < resources.size(); ++i) {
    auto rule = read_rule(resources[i], where + ".stateStoreResources[" + std::to_string(i) + "]");
    if (!rule) return fail(rule.error());
    policy.rules.push_back(std::move(*rule));
  }
  return policy;
}

}  // namespace

bool Authorization::allows(const Caller& caller, Access access, std::string_view key) const {
  if (policies_ == nullptr) return true;
  const auto policy =
      std::find_if(policies_->begin(), policies_->end(), [&](const Policy& candidate) {
        return any_glob_matches(candidate.client_ids, caller.client_id) ||
               (!caller.user_name.empty() &&
                any_glob_matches(candidate.user_names, caller.user_name));
      });
  if (policy == policies_->end()) return false;
  return std::any_of(policy->rules.begin(), policy->rules.end(), [&](const Rule& rule) {
    return method_grants(rule.method, access) && rule_covers(rule, caller, key);
  });
}

Result<Authorization, std::string> parse_authorization(std::string_view text) {
  const json document = read_json(text);
  if (document.is_discarded()) return fail(std::string("the authorization file is not JSON"));
  const json policies = document.is_object() ? document.value("policies", json{}) : json{};
  if (!policies.is_array()) {
    return fail(std::string("the authorization file must be an object with an array \"policies\""));
  }
  std::vector<Policy> out;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    auto policy = read_policy(policies[i], "policies[" + std::to_string(i) + "]");
    if (!policy) return fail(policy.error());
    out.push_back(std::move(*policy));
  }
  return Authorization(std::move(out));
}

}  // namespace fencepost::store
