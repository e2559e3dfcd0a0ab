// Why files of a server cannot be used for TLS, in OpenSSL's words.
#pragma once

#include <filesystem>
#include <string>

namespace fencepost::endpoint {

// Empty: they can. PEM, the key without a password and for that certificate. `client_ca` may be
// empty.
[[nodiscard]] std::string server_files_error(const std::filesystem::path& certificate,
                                             const std::filesystem::path& key,
                                             const std::filesystem::path& client_ca);

}  // namespace fencepost::endpoint
