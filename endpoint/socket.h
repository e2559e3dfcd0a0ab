// The little that the suite needs of plain TCP: is somebody listening, and where is a free port.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fencepost::endpoint {

// A file descriptor that closes itself.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&&) = delete;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Connects within `timeout`. The error says why not, e.g. "Connection refused".
[[nodiscard]] Result<Socket, std::string> connect_tcp(const std::string& host, std::uint16_t port,
                                                      std::chrono::milliseconds timeout);

// The same of a socket in the file system.
[[nodiscard]] Result<Socket, std::string> connect_unix(const std::string& path,
                                                       std::chrono::milliseconds timeout);

struct Listener {
  Socket socket;  // its calls do not wait
  std::uint16_t port = 0;
};

// Listens at this IP address of this machine; port 0: at one that is free. At most `queue`
// connections wait to be accepted. The error says why not.
[[nodiscard]] Result<Listener, std::string> listen_at(const std::string& address,
                                                      std::uint16_t port, int queue);

// A port of this IP address of this machine, which the kernel gives to nobody else while the socket
// lives. It does not listen; a program that sets SO_REUSEADDR can, mosquitto among them. The error
// says why there is none.
[[nodiscard]] Result<Listener, std::string> reserve_port(const std::string& address);

// A loopback socket that listens, with a queue of one, whose accept() waits; its port goes into
// `port`, which stays as it is where there is none.
[[nodiscard]] Socket listen_on_free_port(std::uint16_t& port);

// Writes all bytes, then reads exactly `reply_bytes`. Nothing when the peer closes or stays silent
// for `timeout`.
[[nodiscard]] std::optional<std::string> exchange(const Socket& socket, std::string_view bytes,
                                                  std::size_t reply_bytes,
                                                  std::chrono::milliseconds timeout);

}  // namespace fencepost::endpoint
