// Endpoint URLs: `embedded`, `inproc:`, `mqtt://[user[:password]@]host[:port]`, `mqtts://...`, each
// with optional
// `?name=value&name=value`. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fencepost::endpoint {

enum class Scheme { kEmbedded, kInProcess, kMqtt, kMqtts };

struct Url {
  Scheme scheme = Scheme::kEmbedded;
  std::string user{};
  std::string password{};
  std::string host{};
  std::uint16_t port = 0;  // kMqtt: 1883 unless given; kMqtts: 8883 unless given
  std::map<std::string, std::string> query{};

  // The URL without its password; options stand in the order of their names.
  [[nodiscard]] std::string display() const;
};

// The error says what is wrong and what was expected. %XX in user and password are decoded.
[[nodiscard]] Result<Url, std::string> parse_url(std::string_view text);

// The text as people may see it, be it a URL or an attempt at one: of a legal URL the password is
// replaced by ***, of anything else all that could be a user name or a password.
[[nodiscard]] std::string redacted(std::string_view text);

// A legal URL without its password, but with its user; any other text as it is.
[[nodiscard]] std::string without_password(std::string_view url);

// A legal URL that has a user and no password, with this one, encoded; any other text as it is.
[[nodiscard]] std::string with_password(std::string_view url, std::string_view password);

// The password of a URL as it stands there and as it is decoded, each once; empty when there is
// none.
[[nodiscard]] std::vector<std::string> passwords_in(std::string_view url);

}  // namespace fencepost::endpoint
