// Forwards TCP connections to a broker, and shows the bytes to a watcher: bytes pass
// unchanged in both directions, except PUBACKs where these have to be late, and faults of the
// network that are injected.
//
//   auto tap = Tap::start({.address = "127.0.0.1", .port = 0, .to_port = 1883}, watcher);
//   if (tap) connect_to("127.0.0.1", (*tap)->port());
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "endpoint/fault_schedule.h"
#include "endpoint/late_pubacks.h"
#include "endpoint/socket.h"

namespace fencepost::endpoint {

// Called from the tap's thread, with a number for each connection.
class TapWatcher {
 public:
  virtual ~TapWatcher() = default;
  virtual void on_opened(std::uint64_t connection) = 0;
  // Before the broker has them.
  virtual void on_sent(std::uint64_t connection, std::string_view bytes) = 0;
  // Before the client has them.
  virtual void on_delivered(std::uint64_t connection, std::string_view bytes) = 0;
  virtual void on_closed(std::uint64_t connection) = 0;
  // It ends in its TLS handshake, and why: "tlsv1 alert unknown ca".
  virtual void on_no_handshake(std::uint64_t connection, std::string_view why) = 0;
};

// Which faults of the network are injected, and when. Called from the tap's thread.
class TapFaults {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  virtual ~TapFaults() = default;
  // No packets are looked for where TLS hides them.
  [[nodiscard]] virtual bool has_packets() const = 0;
  // False: none are at the moment, and those that wait for a packet are given up.
  [[nodiscard]] virtual bool is_on() const = 0;
  // The next one, when its time has come.
  [[nodiscard]] virtual std::optional<Strike> due(Moment now) = 0;
  // When to ask again.
  [[nodiscard]] virtual Moment next_due(Moment now) const = 0;
  virtual void on_effect(std::uint64_t connection, NetworkFault fault, Moment now) = 0;
  // A connection that no fault has ended, and that its client has not ended first.
  virtual void on_ended_itself() = 0;
};

struct TapOptions {
  std::string address = "127.0.0.1";  // of this machine
  std::uint16_t port = 0;             // 0: one that is free
  std::string to_address = "127.0.0.1";
  std::uint16_t to_port = 0;
  const std::atomic<std::uint16_t>* to_changing_port = nullptr;  // instead, for each connection
  std::string to_socket{};  // in the file system, instead of a port; empty: a port
  // The certificate for TLS between clients and the tap; behind it nothing is encrypted. Empty: no
  // TLS.
  std::filesystem::path certificate{};
  std::filesystem::path key{};
  std::filesystem::path client_ca{};  // clients need a certificate of these; empty: they need none
  PubackError pubacks{};              // what happens to those of the broker
  TapFaults* faults = nullptr;        // null: none; else it has to live longer
};

class Tap {
 public:
  // Clients can connect when it returns. The watcher has to live longer. The error says why the
  // port cannot be listened at, or the certificate not be used.
  [[nodiscard]] static Result<std::unique_ptr<Tap>, std::string> start(const TapOptions& options,
                                                                       TapWatcher& watcher);

  // Ends all connections, and tells the watcher of each: first of all that its client has sent
  // until then. At most 5 s for clients that continue sending.
  ~Tap();
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  struct Tls;
  Tap(TapOptions options, TapWatcher& watcher, Socket listener, std::uint16_t port);
  void run();

  TapOptions options_;
  TapWatcher& watcher_;
  Socket listener_;
  Socket wake_;               // an eventfd
  std::unique_ptr<Tls> tls_;  // null: there is none
  std::uint16_t port_;
  std::thread thread_;
};

}  // namespace fencepost::endpoint
