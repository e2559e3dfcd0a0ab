// Bytes to and from a broker, or from a client, plain or through TLS, that never wait. Private to
// endpoint/.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "endpoint/mqtt.h"
#include "endpoint/socket.h"
#include "endpoint/tls.h"

namespace fencepost::endpoint {

struct Moved {
  std::size_t bytes = 0;
  bool ended = false;   // nothing more can be moved in this direction
  std::string error{};  // why, where the peer did not simply end it
};

// Used by one thread at a time; not a descriptor that others may close.
class Stream {
 public:
  // TCP without delay, then, where there is a context, the handshake. Takes at most `timeout` and
  // a moment. The error is for people: "cannot connect to host:port: Connection refused".
  [[nodiscard]] static Result<std::unique_ptr<Stream>, std::string> connect(
      const MqttOptions& broker, SSL_CTX* context, Duration timeout);

  // A connection that stands. With a context it is the server's side of TLS, whose handshake is
  // part of the first reads.
  [[nodiscard]] static std::unique_ptr<Stream> accepted(Socket socket, SSL_CTX* context);

  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // What there is, at most `size` bytes; 0 and not ended: nothing yet. The peer's TCP learns that
  // it has come.
  [[nodiscard]] Moved read(char* into, std::size_t size);
  // The same, but it learns that from the next write() or acknowledge().
  [[nodiscard]] Moved read_before_answer(char* into, std::size_t size);
  void acknowledge();
  // As much as fits at the moment.
  [[nodiscard]] Moved write(std::string_view bytes);
  // After a read or a write that moved nothing: must the socket be writable to continue?
  [[nodiscard]] bool waits_to_write() const { return waits_to_write_; }

  // Its handshake is not over.
  [[nodiscard]] bool is_in_handshake() const;

  [[nodiscard]] bool is_plain() const { return tls_ == nullptr; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // The peer reads the end; what it sends can still be read.
  void end_writing();
  // When this object is gone, the peer gets a reset instead of the end, and loses what it has not
  // got yet.
  void reset();
  // Both sides read the end immediately.
  void cut();

 private:
  // `broker`: null: it is a client that is at the other end.
  Stream(Socket socket, const MqttOptions* broker, SSL_CTX* context);
  void use_socket();
  [[nodiscard]] std::string failure();
  [[nodiscard]] std::string handshake(Duration deadline);
  [[nodiscard]] Moved moved_by_tls(int result, std::size_t bytes);

  const MqttOptions* broker_;
  Socket socket_;
  int descriptor_;     // for OpenSSL, which is given its address
  TlsConnection tls_;  // null: plain
  bool waits_to_write_ = false;
  bool unacknowledged_ = false;
};

}  // namespace fencepost::endpoint
