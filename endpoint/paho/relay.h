// What stands between Paho and a broker: Paho speaks plain MQTT to a port of this process, and what
// it says is passed to the broker, through TLS where the broker wants that. So Paho is kept from
// what it does not bear, and nothing of the C library has to be replaced for it: no packet waits
// for an acknowledgement of TCP, a write of Paho's neither fails nor is done in part, the
// connection can be ended as a broken network does, and the guard sees each packet first.
//
//   auto relay = PahoRelay::start(std::move(*stream), loop);
//   connect_paho_to("127.0.0.1", (*relay)->port());
//   ...                                   // until Paho is gone
//   (*relay)->end();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "endpoint/paho/guard.h"
#include "endpoint/poll_loop.h"
#include "endpoint/socket.h"
#include "endpoint/stream.h"

namespace fencepost::endpoint {

// Relays one connection. Thread safe.
class PahoRelay : public std::enable_shared_from_this<PahoRelay> {
 public:
  // Takes one connection at port(), from the first client on this machine. The loop has to live
  // longer than end(). The error says why there is no port or no thread.
  [[nodiscard]] static Result<std::shared_ptr<PahoRelay>, std::string> start(
      std::unique_ptr<Stream> broker, PollLoop& loop);

  [[nodiscard]] std::uint16_t port() const { return port_; }

  // The broker gets what Paho has written until now and the end of the connection immediately; Paho
  // reads the end.
  void cut();
  // Why the connection to the broker has ended: what the guard has refused, or how TLS or TCP
  // failed. Empty: it has not, or the broker just ended it.
  [[nodiscard]] std::string why() const;
  // When Paho has no connection any more: the broker gets what is left, and is given a second to
  // end the connection itself. Once, and nothing happens after it.
  void end();

 private:
  PahoRelay(std::unique_ptr<Stream> broker, Socket listener, std::uint16_t port, PollLoop& loop);
  // Calls it in the loop's thread.
  [[nodiscard]] std::shared_ptr<PollLoop::Handler> ready(void (PahoRelay::*what)());
  void accept_paho();
  void forget_paho();
  void serve_paho();
  void serve_broker();
  void read_paho();
  void write_broker();
  void read_broker();
  void write_paho();
  void end_broker();
  void watch_paho() const;
  void watch_broker() const;

  PollLoop& loop_;
  const Socket listener_;
  const std::uint16_t port_;
  std::uint64_t listener_id_ = 0;
  std::uint64_t broker_id_ = 0;

  mutable std::mutex mutex_;  // of all that follows
  std::unique_ptr<Stream> broker_;
  std::unique_ptr<Stream> paho_{};  // null: it has not come yet
  std::uint64_t paho_id_ = 0;
  PahoGuard guard_{};
  std::string to_broker_{};  // without a limit: a write of Paho's is never partial
  std::size_t written_ = 0;  // bytes of it
  std::string to_paho_{};    // nothing is read while it waits
  std::string why_{};
  bool broker_over_ = false;      // nothing is read from the broker or written to it any more
  bool broker_notified_ = false;  // of Paho's end
  bool paho_over_ = false;        // nothing is read from Paho any more
  bool paho_notified_ = false;    // of the broker's end
  bool ended_ = false;
};

}  // namespace fencepost::endpoint
