// TLS in OpenSSL's terms: what our side brings to a handshake, and why one failed. Private to
// endpoint/.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <openssl/ssl.h>

#include "base/result.h"
#include "endpoint/mqtt.h"

namespace fencepost::endpoint {

using TlsContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using TlsConnection = std::unique_ptr<SSL, decltype(&SSL_free)>;

// The authorities of `broker`, and the certificate and key of `credentials` or else of `broker`.
// The error names the first file that cannot be used, and why.
[[nodiscard]] Result<TlsContext, std::string> make_tls_context(const MqttOptions& broker,
                                                               const Credentials& credentials);

// The same for each role of a broker, whose files are read once. Thread safe.
class TlsContexts {
 public:
  // Null without TLS; else it lives as long as this object.
  [[nodiscard]] Result<SSL_CTX*, std::string> of(const MqttOptions& broker, const std::string& role,
                                                 const Credentials& credentials);

 private:
  std::mutex mutex_;
  std::map<std::string, TlsContext> contexts_;  // by role
};

// What our side brings to a handshake of its clients: its certificate and key, and the authorities
// of their certificates, without which none is requested.
[[nodiscard]] Result<TlsContext, std::string> make_server_context(
    const std::filesystem::path& certificate, const std::filesystem::path& key,
    const std::filesystem::path& client_ca);

// The certificate must be for this name or address.
void expect_host(SSL* connection, const std::string& host);

// Why a handshake or a first read failed on this thread a moment ago: "its certificate is not for
// 127.0.0.1: IP address mismatch". Never empty. Empties OpenSSL's list of errors.
[[nodiscard]] std::string tls_failure(SSL* connection, const MqttOptions& broker);

// OpenSSL's last words on this thread: "wrong version number"; empties its list of errors.
[[nodiscard]] std::string last_tls_reason();

// A handshake costs both sides milliseconds of processor time. The last of a hundred in parallel
// would wait for all others, and be taken for unanswered: only a few begin while this object lives.
// Waits for a place. Thread safe.
class HandshakePlace {
 public:
  explicit HandshakePlace(bool tls);  // nothing without TLS
  ~HandshakePlace();
  HandshakePlace(const HandshakePlace&) = delete;
  HandshakePlace& operator=(const HandshakePlace&) = delete;

 private:
  bool tls_;
};

}  // namespace fencepost::endpoint
