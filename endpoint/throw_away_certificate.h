// A certificate for a test broker, made when it starts and worth nothing afterwards: an authority
// of its own signs it, and the key of that authority is kept nowhere.
//
//   auto made = throw_away_certificate({"localhost", "127.0.0.1", "::1"});
//   write(ca_file, made->authority);   // what clients trust
//   serve(made->certificate, made->key);
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fencepost::endpoint {

// All in PEM.
struct ThrowAwayCertificate {
  std::string authority;
  std::string certificate;
  std::string key;
};

// For these host names and IP addresses, of which there must be one. Legal from an hour ago, for
// clocks that differ, for 30 days. The error is OpenSSL's.
[[nodiscard]] Result<ThrowAwayCertificate, std::string> throw_away_certificate(
    const std::vector<std::string>& hosts);

}  // namespace fencepost::endpoint
