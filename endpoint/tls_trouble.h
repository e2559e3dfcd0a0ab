// Why a TLS connection cannot be made, in OpenSSL's words: the MQTT client has one text for all.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "endpoint/mqtt.h"

namespace fencepost::endpoint {

// Tries a handshake of its own, with the files of `broker` and `credentials`, and ends it again.
// Says what is wrong, e.g. "its certificate is not for 127.0.0.1: IP address mismatch"; empty when
// nothing is, or nobody listens. Takes at most `timeout` and a moment. From any thread.
[[nodiscard]] std::string tls_trouble(const MqttOptions& broker, const Credentials& credentials,
                                      std::chrono::milliseconds timeout);

// The same of the files of a server: PEM, the key without a password and for that certificate.
// `client_ca` may be empty.
[[nodiscard]] std::string server_files_trouble(const std::filesystem::path& certificate,
                                               const std::filesystem::path& key,
                                               const std::filesystem::path& client_ca);

}  // namespace fencepost::endpoint
