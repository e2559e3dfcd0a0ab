#include "endpoint/tls_trouble.h"

#include <memory>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "endpoint/socket.h"

namespace fencepost::endpoint {
namespace {

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Connection = std::unique_ptr<SSL, decltype(&SSL_free)>;

// OpenSSL's last words: "wrong version number"; empties its list.
std::string last_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* words = ERR_reason_error_string(code);
  ERR_clear_error();
  return words == nullptr ? "no reason given" : words;
}

// The files that are named; the complaint about the first that cannot be used.
std::string load_files(SSL_CTX* context, const MqttOptions& broker,
                       const Credentials& credentials) {
  const bool loaded = broker.ca.empty()
                          ? SSL_CTX_set_default_verify_paths(context) == 1
                          : SSL_CTX_load_verify_locations(context, broker.ca.c_str(), nullptr) == 1;
  if (!loaded) return "cannot use the authorities in " + broker.ca.string() + ": " + last_reason();
  const bool own = !credentials.certificate.empty();
  const auto& certificate = own ? credentials.certificate : broker.certificate;
  const auto& key = own ? credentials.key : broker.key;
  if (certificate.empty()) return {};
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return "cannot use our certificate " + certificate.string() + ": " + last_reason();
  }
  const auto& key_file = key.empty() ? certificate : key;
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return "cannot use our key " + key_file.string() + ": " + last_reason();
  }
  return {};
}

// The name or the address that the certificate must be for.
void expect_host(SSL* connection, const std::string& host) {
  X509_VERIFY_PARAM* expected = SSL_get0_param(connection);
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1) return;
  ERR_clear_error();
  SSL_set1_host(connection, host.c_str());
  // SSL_set_tlsext_host_name, without its old-style cast. The name is copied.
  std::string name = host;
  SSL_ctrl(connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
}

std::string explain_failure(SSL* connection, const MqttOptions& broker) {
  const long verified = SSL_get_verify_result(connection);
  const bool wrong_name =
      verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH;
  const std::string words = X509_verify_cert_error_string(verified);
  if (wrong_name) return "its certificate is not for " + broker.host + ": " + words;
  if (verified != X509_V_OK) {
    const std::string authority =
        broker.ca.empty() ? "the authorities of this system" : broker.ca.string();
    return "its certificate is not vouched for by " + authority + ": " + words;
  }
  const int code = ERR_GET_REASON(ERR_peek_last_error());
  if (ERR_peek_last_error() == 0) {
    return "it ended the handshake without a word; to a port without TLS, write mqtt://";
  }
  std::string reason = last_reason();
  switch (code) {
    case SSL_R_WRONG_VERSION_NUMBER:
      return reason + ": that port speaks no TLS, write mqtt://";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return reason + ": it wants a certificate of ours, see tls in the descriptor";
    default:
      return reason;
  }
}

}  // namespace

std::string tls_trouble(const MqttOptions& broker, const Credentials& credentials,
                        std::chrono::milliseconds timeout) {
  const auto socket = connect_tcp(broker.host, broker.port, timeout);
  if (!socket) return {};
  ERR_clear_error();
  const Context context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (context == nullptr) return {};
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (std::string trouble = load_files(context.get(), broker, credentials); !trouble.empty()) {
    return trouble;
  }
  const Connection connection(SSL_new(context.get()), SSL_free);
  expect_host(connection.get(), broker.host);
  // Blocking, for a limited time.
  const timeval limit{.tv_sec = timeout.count() / 1000, .tv_usec = timeout.count() % 1000 * 1000};
  setsockopt(socket->descriptor(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(socket->descriptor(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  fcntl(socket->descriptor(), F_SETFL, fcntl(socket->descriptor(), F_GETFL) & ~O_NONBLOCK);
  SSL_set_fd(connection.get(), socket->descriptor());
  if (SSL_connect(connection.get()) != 1) return explain_failure(connection.get(), broker);
  // TLS 1.3: that a certificate of ours is missing is said when the handshake is over (RFC 8446,
  // 4.4.2.4). A broker that is content says nothing before the CONNECT.
  char byte = 0;
  const int got = SSL_read(connection.get(), &byte, 1);
  const bool refused = got <= 0 && SSL_get_error(connection.get(), got) == SSL_ERROR_SSL;
  std::string trouble = refused ? explain_failure(connection.get(), broker) : std::string();
  ERR_clear_error();
  return trouble;
}

std::string server_files_trouble(const std::filesystem::path& certificate,
                                 const std::filesystem::path& key,
                                 const std::filesystem::path& client_ca) {
  const Context context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (!context) return last_reason();
  // OpenSSL would ask the terminal for the password of a key.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return -1; });
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1) {
    return "cannot use the certificate " + certificate.string() + ": " + last_reason();
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return "cannot use the key " + key.string() + ": " + last_reason() +
           "; expected PEM, without a password, for the certificate " + certificate.string();
  }
  if (!client_ca.empty() &&
      SSL_CTX_load_verify_locations(context.get(), client_ca.c_str(), nullptr) != 1) {
    return "cannot use the authorities in " + client_ca.string() + ": " + last_reason();
  }
  return {};
}

}  // namespace fencepost::endpoint
