// Where the broker of `fencepost serve` listens, and who may connect: address, TLS and passwords.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "endpoint/broker_process.h"
#include "endpoint/memory_file.h"

namespace fencepost::cli {

// The files in it live in memory, and have to for as long as the broker does.
class ServeAccess {
 public:
  // Nothing after a complaint. A throw-away certificate is made, and its CA is written.
  [[nodiscard]] static std::optional<ServeAccess> prepare(const ServeOptions& options);

  void add_to(endpoint::BrokerOptions& options) const;

  // mqtt://127.0.0.1:1883, as this machine reaches it.
  [[nodiscard]] std::string url(std::uint16_t port) const;

  // What whoever starts the broker has to know, line by line.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  [[nodiscard]] bool prepare_tls(const ServeOptions& options);
  [[nodiscard]] bool prepare_throw_away(const ServeOptions& options);
  [[nodiscard]] bool prepare_passwords(const ServeOptions& options);

  std::string bind_{};
  std::optional<endpoint::TlsListener> tls_{};
  std::optional<endpoint::PasswordFile> passwords_{};
  std::vector<std::string> users_{};
  std::string certified_{};  // what the throw-away certificate is for, and where its CA is
  std::vector<std::unique_ptr<endpoint::MemoryFile>> files_{};
};

}  // namespace fencepost::cli
