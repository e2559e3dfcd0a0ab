#include "endpoint/password_line.h"

#include <array>
#include <span>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/check.h"

namespace fencepost::endpoint {
namespace {

// What mosquitto_passwd of version 2 writes.
constexpr int kIterations = 101;
constexpr std::size_t kSaltBytes = 12;
constexpr std::size_t kHashBytes = 64;

std::string base64(std::span<const unsigned char> bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),  // NOLINT: its API
                                   bytes.data(), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

}  // namespace

std::optional<std::string> password_line(const std::string& user, const std::string& password) {
  if (user.empty() || user.find_first_of(":\r\n") != std::string::npos) return std::nullopt;
  std::array<unsigned char, kSaltBytes> salt{};
  FENCEPOST_CHECK(RAND_bytes(salt.data(), kSaltBytes) == 1);
  std::array<unsigned char, kHashBytes> hash{};
  FENCEPOST_CHECK(PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), salt.data(),
                                    kSaltBytes, kIterations, EVP_sha512(), kHashBytes,
                                    hash.data()) == 1);
  return user + ":$7$" + std::to_string(kIterations) + "$" + base64(salt) + "$" + base64(hash) +
         "\n";
}

}  // namespace fencepost::endpoint
