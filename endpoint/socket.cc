#include "endpoint/socket.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fencepost::endpoint {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct AddressDeleter {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};

std::string error_text(int code) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is safe
  return std::strerror(code);
}  // NOLINT(concurrency-mt-unsafe): glibc's is safe

// Waits until the descriptor is ready for `events`; false at the deadline.
bool wait_ready(int descriptor, short events, SteadyClock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now())
            .count();
    if (left < 0) return false;
    pollfd entry{.fd = descriptor, .events = events, .revents = 0};
    const int ready = poll(&entry, 1, static_cast<int>(left) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Result<Socket, std::string> connect_to(const addrinfo& address, SteadyClock::time_point deadline) {
  Socket socket(::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.descriptor() < 0) return fail(error_text(errno));
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return fail(error_text(errno));
  if (!wait_ready(socket.descriptor(), POLLOUT, deadline)) {
    return fail(std::string("no answer in time"));
  }
  int code = 0;
  socklen_t size = sizeof(code);
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &code, &size);
  if (code != 0) return fail(error_text(code));
  return socket;
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<Socket, std::string> connect_tcp(const std::string& host, std::uint16_t port,
                                        std::chrono::milliseconds timeout) {
  const SteadyClock::time_point deadline = SteadyClock::now() + timeout;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) return fail(std::string(gai_strerror(failed)));
  const std::unique_ptr<addrinfo, AddressDeleter> addresses(found);
  std::string last_error = "no address";
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    Result<Socket, std::string> socket = connect_to(*address, deadline);
    if (socket) return socket;
    last_error = socket.error();
  }
  return fail(std::move(last_error));
}

std::uint16_t free_loopback_port() {
  const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);  // NOLINT: the sockets API is like this
  if (bind(socket.descriptor(), generic, size) != 0) return 0;
  if (getsockname(socket.descriptor(), generic, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

std::optional<std::string> exchange(const Socket& socket, std::string_view bytes,
                                    std::size_t reply_bytes, std::chrono::milliseconds timeout) {
  const SteadyClock::time_point deadline = SteadyClock::now() + timeout;
  while (!bytes.empty()) {
    if (!wait_ready(socket.descriptor(), POLLOUT, deadline)) return std::nullopt;
    const ssize_t sent = send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return std::nullopt;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  std::string reply;
  while (reply.size() < reply_bytes) {
    if (!wait_ready(socket.descriptor(), POLLIN, deadline)) return std::nullopt;
    std::array<char, 256> buffer{};
    const std::size_t wanted = std::min(buffer.size(), reply_bytes - reply.size());
    const ssize_t got = recv(socket.descriptor(), buffer.data(), wanted, 0);
    if (got <= 0) return std::nullopt;
    reply.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return reply;
}

}  // namespace fencepost::endpoint
