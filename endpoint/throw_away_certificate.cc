#include "endpoint/throw_away_certificate.h"

#include <array>
#include <cstdint>
#include <memory>

#include <arpa/inet.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/check.h"

namespace fencepost::endpoint {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Memory = std::unique_ptr<BIO, decltype(&BIO_free)>;

constexpr long kSecondsBefore = 60L * 60;
constexpr long kSecondsAfter = 30L * 24 * 60 * 60;

std::string last_words() {
  const char* words = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return words == nullptr ? "no reason given" : words;
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool set_name(X509* certificate, const std::string& name) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(name.c_str());  // NOLINT: its API
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, bytes,
                                    -1, -1, 0) == 1;
}

// Without extensions and without a signature; null when that fails.
Certificate begin(const std::string& name, EVP_PKEY* key) {
  Certificate out(X509_new(), &X509_free);
  std::uint32_t serial = 0;
  std::array<unsigned char, sizeof(serial)> random{};
  if (!out || RAND_bytes(random.data(), random.size()) != 1) return {nullptr, &X509_free};
  for (const unsigned char byte : random) serial = serial << 8U | byte;
  constexpr long kVersion3 = 2;
  const bool made = X509_set_version(out.get(), kVersion3) == 1 &&
                    ASN1_INTEGER_set_uint64(X509_get_serialNumber(out.get()), serial) == 1 &&
                    X509_gmtime_adj(X509_getm_notBefore(out.get()), -kSecondsBefore) != nullptr &&
                    X509_gmtime_adj(X509_getm_notAfter(out.get()), kSecondsAfter) != nullptr &&
                    X509_set_pubkey(out.get(), key) == 1 && set_name(out.get(), name);
  return made ? std::move(out) : Certificate(nullptr, &X509_free);
}

// "DNS:localhost,IP:127.0.0.1"
std::string alternative_names(const std::vector<std::string>& hosts) {
  std::string out;
  for (const std::string& host : hosts) {
    in6_addr address{};
    const bool is_address = inet_pton(AF_INET, host.c_str(), &address) == 1 ||
                            inet_pton(AF_INET6, host.c_str(), &address) == 1;
    out += (out.empty() ? "" : ",") + std::string(is_address ? "IP:" : "DNS:") + host;
  }
  return out;
}

Certificate make_authority(EVP_PKEY* key) {
  Certificate out = begin("fencepost throw-away authority", key);
  const bool made =
      out && X509_set_issuer_name(out.get(), X509_get_subject_name(out.get())) == 1 &&
      add_extension(out.get(), out.get(), NID_basic_constraints, "critical,CA:TRUE") &&
      add_extension(out.get(), out.get(), NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(out.get(), out.get(), NID_subject_key_identifier, "hash") &&
      X509_sign(out.get(), key, EVP_sha256()) != 0;
  return made ? std::move(out) : Certificate(nullptr, &X509_free);
}

struct Issuer {
  X509* certificate;
  EVP_PKEY* key;
};

Certificate make_certificate(EVP_PKEY* key, const std::vector<std::string>& hosts, Issuer by) {
  Certificate out = begin("fencepost serve", key);
  const bool made =
      out && X509_set_issuer_name(out.get(), X509_get_subject_name(by.certificate)) == 1 &&
      add_extension(out.get(), by.certificate, NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(out.get(), by.certificate, NID_key_usage, "critical,digitalSignature") &&
      add_extension(out.get(), by.certificate, NID_ext_key_usage, "serverAuth") &&
      add_extension(out.get(), by.certificate, NID_authority_key_identifier, "keyid") &&
      add_extension(out.get(), by.certificate, NID_subject_alt_name, alternative_names(hosts)) &&
      X509_sign(out.get(), by.key, EVP_sha256()) != 0;
  return made ? std::move(out) : Certificate(nullptr, &X509_free);
}

std::string text_of(const Memory& memory) {
  const char* data = nullptr;
  const auto size = BIO_ctrl(memory.get(), BIO_CTRL_INFO, 0, static_cast<void*>(&data));
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string pem(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()), &BIO_free);
  return PEM_write_bio_X509(memory.get(), certificate) == 1 ? text_of(memory) : "";
}

std::string pem(EVP_PKEY* key) {
  const Memory memory(BIO_new(BIO_s_mem()), &BIO_free);
  const int done =
      PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return done == 1 ? text_of(memory) : "";
}

}  // namespace

Result<ThrowAwayCertificate, std::string> throw_away_certificate(
    const std::vector<std::string>& hosts) {
  FENCEPOST_CHECK(!hosts.empty());
  const Key authority_key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), &EVP_PKEY_free);
  const Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), &EVP_PKEY_free);
  if (!authority_key || !key) return fail(last_words());
  const Certificate authority = make_authority(authority_key.get());
  if (!authority) return fail(last_words());
  const Certificate certificate =
      make_certificate(key.get(), hosts, {authority.get(), authority_key.get()});
  if (!certificate) return fail(last_words());
  ThrowAwayCertificate out{.authority = pem(authority.get()),
                           .certificate = pem(certificate.get()),
                           .key = pem(key.get())};
  if (out.authority.empty() || out.certificate.empty() || out.key.empty()) {
    return fail(last_words());
  }
  return out;
}

}  // namespace fencepost::endpoint
