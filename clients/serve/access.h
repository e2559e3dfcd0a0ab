// Where the broker of `serve` listens, and who may connect: address, TLS and passwords.
//
//   const auto access = Access::prepare({.tls = "ca.pem", .users = {"me"}, ...});
//   if (!access) return complain(access.error());
//   access->add_to(broker_options);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "endpoint/broker_process.h"
#include "endpoint/memory_file.h"

namespace fencepost::serve {

struct AccessOptions {
  std::string bind = "127.0.0.1";
  std::string tls{};                     // receives the CA of a throw-away certificate
  std::vector<std::string> tls_hosts{};  // which that certificate is for, too
  std::string certificate{};             // files: TLS with one's own
  std::string key{};
  std::string client_ca{};                    // a file: mutual TLS
  std::vector<std::string> users{};           // who may connect; empty: everybody
  std::vector<std::string> password_files{};  // of each user
};

// The files in it live in memory, and have to for as long as the broker does. Not thread safe.
class Access {
 public:
  // A throw-away certificate is made, and its CA is written. The error says which option cannot be
  // meant, and has nothing of a password.
  [[nodiscard]] static Result<Access, std::string> prepare(const AccessOptions& options);

  void add_to(endpoint::BrokerOptions& options) const;

  // mqtt://127.0.0.1:1883, as this machine reaches it.
  [[nodiscard]] std::string url(std::uint16_t port) const;

  // What the user who starts the broker has to know, line by line.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  using Done = Result<void, std::string>;
  [[nodiscard]] Done prepare_tls(const AccessOptions& options);
  [[nodiscard]] Done prepare_throw_away(const AccessOptions& options);
  [[nodiscard]] Done prepare_passwords(const AccessOptions& options);

  std::string bind_{};
  std::optional<endpoint::TlsListener> tls_{};
  std::optional<endpoint::PasswordFile> passwords_{};
  std::vector<std::string> users_{};
  std::string certified_{};  // what the throw-away certificate is for, and where its CA is
  std::vector<std::unique_ptr<endpoint::MemoryFile>> files_{};
};

}  // namespace fencepost::serve
