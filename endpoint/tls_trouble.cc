#include "endpoint/tls_trouble.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <openssl/err.h>

#include "endpoint/socket.h"
#include "endpoint/tls.h"

namespace fencepost::endpoint {

std::string tls_trouble(const MqttOptions& broker, const Credentials& credentials,
                        std::chrono::milliseconds timeout) {
  const auto socket = connect_tcp(broker.host, broker.port, timeout);
  if (!socket) return {};
  const auto context = make_tls_context(broker, credentials);
  if (!context) return context.error();
  const TlsConnection connection(SSL_new(context->get()), SSL_free);
  expect_host(connection.get(), broker.host);
  // Blocking, for a limited time.
  const timeval limit{.tv_sec = timeout.count() / 1000, .tv_usec = timeout.count() % 1000 * 1000};
  setsockopt(socket->descriptor(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(socket->descriptor(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  fcntl(socket->descriptor(), F_SETFL, fcntl(socket->descriptor(), F_GETFL) & ~O_NONBLOCK);
  SSL_set_fd(connection.get(), socket->descriptor());
  if (SSL_connect(connection.get()) != 1) return tls_failure(connection.get(), broker);
  // TLS 1.3: that a certificate of ours is missing is said when the handshake is over (RFC 8446,
  // 4.4.2.4). A broker that is content says nothing before the CONNECT.
  char byte = 0;
  const int got = SSL_read(connection.get(), &byte, 1);
  const bool refused = got <= 0 && SSL_get_error(connection.get(), got) == SSL_ERROR_SSL;
  std::string trouble = refused ? tls_failure(connection.get(), broker) : std::string();
  ERR_clear_error();
  return trouble;
}

std::string server_files_trouble(const std::filesystem::path& certificate,
                                 const std::filesystem::path& key,
                                 const std::filesystem::path& client_ca) {
  const TlsContext context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (!context) return last_tls_reason();
  // OpenSSL would ask the terminal for the password of a key.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return -1; });
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1) {
    return "cannot use the certificate " + certificate.string() + ": " + last_tls_reason();
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return "cannot use the key " + key.string() + ": " + last_tls_reason() +
           "; expected PEM, without a password, for the certificate " + certificate.string();
  }
  if (!client_ca.empty() &&
      SSL_CTX_load_verify_locations(context.get(), client_ca.c_str(), nullptr) != 1) {
    return "cannot use the authorities in " + client_ca.string() + ": " + last_tls_reason();
  }
  return {};
}

}  // namespace fencepost::endpoint
