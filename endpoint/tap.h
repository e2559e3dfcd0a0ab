// Passes TCP connections on to a broker, and shows what passes to somebody: bytes go on as they
// are, in both directions, whatever they mean; but for PUBACKs where these have to be late.
//
//   auto tap = Tap::start({.address = "127.0.0.1", .port = 0, .to_port = 1883}, watcher);
//   if (tap) connect_to("127.0.0.1", (*tap)->port());
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
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
};

struct TapOptions {
  std::string address = "127.0.0.1";  // of this machine
  std::uint16_t port = 0;             // 0: one that is free
  std::string to_address = "127.0.0.1";
  std::uint16_t to_port = 0;
  PubackTrouble pubacks{};  // what happens to those of the broker
};

class Tap {
 public:
  // Clients can connect when it returns. The watcher has to live longer. The error says why the
  // port cannot be listened at.
  [[nodiscard]] static Result<std::unique_ptr<Tap>, std::string> start(const TapOptions& options,
                                                                       TapWatcher& watcher);

  // Ends all connections, and tells the watcher of each.
  ~Tap();
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  Tap(TapOptions options, TapWatcher& watcher, Socket listener, std::uint16_t port);
  void run();

  TapOptions options_;
  TapWatcher& watcher_;
  Socket listener_;
  Socket wake_;  // an eventfd
  std::uint16_t port_;
  std::thread thread_;
};

}  // namespace fencepost::endpoint
