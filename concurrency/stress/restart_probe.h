// Does a store still have, after its broker was ended and started again, what it acknowledged
// before?
//
//   RestartProbe probe(session, "client-probe", "prefix/probe");
//   probe.write(wall_ms);
//   restart();
//   probe.read();
//   print(probe.kept(), probe.lost());
//
// Blocking; of one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "codec/command.h"
#include "endpoint/endpoint.h"

namespace fencepost::stress {

class RestartProbe {
 public:
  // The session must outlive this.
  RestartProbe(endpoint::Session& session, std::string client_id, std::string key)
      : session_(session), client_id_(std::move(client_id)), key_(std::move(key)) {}

  // Writes a new value. What is not acknowledged counts for nothing.
  void write(std::uint64_t wall_ms);
  // Reads it, within 10 s, and deletes it; without an answer nothing is counted.
  void read();

  [[nodiscard]] std::size_t kept() const { return kept_; }
  [[nodiscard]] std::size_t lost() const { return lost_; }

 private:
  // The payload of the response on a new connection; nothing when there was none.
  [[nodiscard]] std::optional<std::string> ask(const codec::Command& command,
                                               std::uint64_t wall_ms) const;

  endpoint::Session& session_;
  std::string client_id_;
  std::string key_;
  std::string written_{};  // acknowledged; empty: nothing is
  std::uint64_t written_at_ = 0;
  std::size_t writes_ = 0;
  std::size_t kept_ = 0;
  std::size_t lost_ = 0;
};

}  // namespace fencepost::stress
