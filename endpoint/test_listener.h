// What brokers of a few lines, in tests, listen on.
#pragma once

#include <cstdint>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "endpoint/socket.h"

namespace fencepost::endpoint {

// A loopback socket that listens, with a queue of one; its port goes into `port`, which stays as it
// is where there is none.
inline Socket listen_on_free_port(std::uint16_t& port) {
  Socket out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);  // NOLINT: the sockets API is like this
  if (bind(out.descriptor(), generic, size) != 0 || listen(out.descriptor(), 1) != 0) return out;
  getsockname(out.descriptor(), generic, &size);
  port = ntohs(address.sin_port);
  return out;
}

}  // namespace fencepost::endpoint
