#include "endpoint/tls.h"

#include <cstdlib>
#include <filesystem>
#include <semaphore>
#include <system_error>

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

namespace fencepost::endpoint {
namespace {

constexpr std::ptrdiff_t kMaxHandshakes = 8;

std::counting_semaphore<kMaxHandshakes>& places() {
  static std::counting_semaphore<kMaxHandshakes> places(kMaxHandshakes);
  return places;
}

// OpenSSL knows where the distribution that it was built for keeps the certificates that it trusts.
// A program that runs on all of them looks where the others do, too.
bool load_trusted(SSL_CTX* context) {
  if (SSL_CTX_set_default_verify_paths(context) != 1) return false;
  std::error_code ignored;
  if (std::filesystem::exists(X509_get_default_cert_dir(), ignored)) return true;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody writes the environment
  if (std::getenv(X509_get_default_cert_file_env()) != nullptr) return true;
  for (const char* bundle :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (!std::filesystem::exists(bundle, ignored)) continue;
    return SSL_CTX_load_verify_locations(context, bundle, nullptr) == 1;
  }
  return true;
}

// The files that are named; the error about the first that cannot be used.
std::string load_files(SSL_CTX* context, const MqttOptions& broker,
                       const Credentials& credentials) {
  const bool loaded = broker.ca.empty()
                          ? load_trusted(context)
                          : SSL_CTX_load_verify_locations(context, broker.ca.c_str(), nullptr) == 1;
  if (!loaded)
    return "cannot use the CA certificates in " + broker.ca.string() + ": " + last_tls_reason();
  const bool own = !credentials.certificate.empty();
  const auto& certificate = own ? credentials.certificate : broker.certificate;
  const auto& key = own ? credentials.key : broker.key;
  if (certificate.empty()) return {};
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return "cannot use the client certificate " + certificate.string() + ": " + last_tls_reason();
  }
  const auto& key_file = key.empty() ? certificate : key;
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return "cannot use the client key " + key_file.string() + ": " + last_tls_reason();
  }
  return {};
}

// What could not be written waits, and its bytes may have moved, and become more, meanwhile.
void write_in_parts(SSL_CTX* context) {
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

}  // namespace

std::string last_tls_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* words = ERR_reason_error_string(code);
  ERR_clear_error();
  return words == nullptr ? "no reason given" : words;
}

Result<TlsContext, std::string> make_tls_context(const MqttOptions& broker,
                                                 const Credentials& credentials) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (context == nullptr) return fail(last_tls_reason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);  // RFC 8996
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  write_in_parts(context.get());
  if (std::string error = load_files(context.get(), broker, credentials); !error.empty()) {
    return fail(std::move(error));
  }
  return context;
}

Result<SSL_CTX*, std::string> TlsContexts::of(const MqttOptions& broker, const std::string& role,
                                              const Credentials& credentials) {
  if (!broker.tls) return nullptr;
  const std::lock_guard lock(mutex_);
  if (const auto found = contexts_.find(role); found != contexts_.end()) {
    return found->second.get();
  }
  auto made = make_tls_context(broker, credentials);
  if (!made) return fail(made.error());
  return contexts_.emplace(role, std::move(*made)).first->second.get();
}

Result<TlsContext, std::string> make_server_context(const std::filesystem::path& certificate,
                                                    const std::filesystem::path& key,
                                                    const std::filesystem::path& client_ca) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) return fail(last_tls_reason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);  // RFC 8996
  const bool own = SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) == 1 &&
                   SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) == 1;
  if (!own) return fail("cannot use the certificate and its key: " + last_tls_reason());
  write_in_parts(context.get());
  if (client_ca.empty()) return context;
  if (SSL_CTX_load_verify_locations(context.get(), client_ca.c_str(), nullptr) != 1) {
    return fail("cannot use the CA certificates in " + client_ca.string() + ": " +
                last_tls_reason());
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return context;
}

void expect_host(SSL* connection, const std::string& host) {
  X509_VERIFY_PARAM* expected = SSL_get0_param(connection);
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1) return;
  ERR_clear_error();
  SSL_set1_host(connection, host.c_str());
  // SSL_set_tlsext_host_name, without its old-style cast. The name is copied.
  std::string name = host;
  SSL_ctrl(connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
}

std::string tls_failure(SSL* connection, const MqttOptions& broker) {
  const long verified = SSL_get_verify_result(connection);
  const bool wrong_name =
      verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH;
  const std::string words = X509_verify_cert_error_string(verified);
  if (wrong_name) return "its certificate is not for " + broker.host + ": " + words;
  if (verified != X509_V_OK) {
    const std::string authority = broker.ca.empty() ? "the CAs of this system" : broker.ca.string();
    return "its certificate is not signed by a trusted CA (" + authority + "): " + words;
  }
  const int code = ERR_GET_REASON(ERR_peek_last_error());
  if (ERR_peek_last_error() == 0) {
    return "it closed the connection during the handshake; if the port does not use TLS, write "
           "mqtt://";
  }
  std::string reason = last_tls_reason();
  switch (code) {
    case SSL_R_WRONG_VERSION_NUMBER:
      return reason + ": the port does not use TLS; write mqtt://";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return reason + ": it requires a client certificate; give one under tls in the descriptor";
    default:
      return reason;
  }
}

HandshakePlace::HandshakePlace(bool tls) : tls_(tls) {
  if (tls_) places().acquire();
}

HandshakePlace::~HandshakePlace() {
  if (tls_) places().release();
}

}  // namespace fencepost::endpoint
