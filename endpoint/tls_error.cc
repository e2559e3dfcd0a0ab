#include "endpoint/tls_error.h"

#include <openssl/ssl.h>

#include "endpoint/tls.h"

namespace fencepost::endpoint {

std::string server_files_error(const std::filesystem::path& certificate,
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
    return "cannot use the CA certificates in " + client_ca.string() + ": " + last_tls_reason();
  }
  return {};
}

}  // namespace fencepost::endpoint
