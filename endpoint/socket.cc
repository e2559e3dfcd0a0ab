#include "endpoint/socket.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "endpoint/cancellation.h"
#include "endpoint/connector.h"

namespace fencepost::endpoint {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

struct AddressDeleter {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};

std::string error_text(int code) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is safe
  return std::strerror(code);
}

Result<Socket, std::string> connect_to(const addrinfo& address, Duration deadline) {
  Socket socket(::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.descriptor() < 0) return fail(error_text(errno));
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return fail(error_text(errno));
  if (!wait_for_descriptor(socket.descriptor(), false, true, deadline)) {
    return fail(std::string("timed out"));
  }
  int code = 0;
  socklen_t size = sizeof(code);
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &code, &size);
  if (code != 0) return fail(error_text(code));
  return socket;
}

using Addresses = std::unique_ptr<addrinfo, AddressDeleter>;

struct Lookup {
  std::string host;
  std::string port;
  Socket done{eventfd(0, EFD_CLOEXEC)};  // readable when the rest is there
  std::atomic<bool> is_done{false};      // orders it for the language: an eventfd does not
  int failed = 0;
  Addresses found{};

  void run(int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* list = nullptr;
    failed = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
    found.reset(list);
  }
};

// A name server may say nothing for longer than anybody wants to wait, so that a thread of its own
// sends the query.
Result<Addresses, std::string> resolve(const std::string& host, std::uint16_t port,
                                       Duration deadline) {
  const auto lookup = std::make_shared<Lookup>();
  lookup->host = host;
  lookup->port = std::to_string(port);
  lookup->run(AI_NUMERICHOST);
  if (lookup->failed == EAI_NONAME) {
    try {
      std::thread([lookup] {
        lookup->run(0);
        lookup->is_done.store(true, std::memory_order_release);
        eventfd_write(lookup->done.descriptor(), 1);
      }).detach();
    } catch (const std::system_error&) {
      return fail(std::string("no thread for looking up the name"));
    }
    if (!wait_for_descriptor(lookup->done.descriptor(), true, false, deadline) ||
        !lookup->is_done.load(std::memory_order_acquire)) {
      return fail(std::string("the name server did not answer in time"));
    }
  }
  if (lookup->failed != 0) return fail(std::string(gai_strerror(lookup->failed)));
  return std::move(lookup->found);
}

Result<Listener, std::string> bind_at(const std::string& address, std::uint16_t port, bool shared) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return fail(std::string("it is not an IP address"));
  }
  const Addresses addresses(found);
  Listener out{Socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  const int socket = out.socket.descriptor();
  const int on = shared ? 1 : 0;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  auto* generic = reinterpret_cast<sockaddr*>(&bound);  // NOLINT: the sockets API is like this
  if (bind(socket, found->ai_addr, found->ai_addrlen) != 0 ||
      getsockname(socket, generic, &size) != 0) {
    return fail(error_text(errno));
  }
  // Both kinds of address have the port in the same place.
  out.port = ntohs(reinterpret_cast<const sockaddr_in*>(generic)->sin_port);  // NOLINT: as above
  return out;
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<Socket, std::string> connect_tcp(const std::string& host, std::uint16_t port,
                                        std::chrono::milliseconds timeout) {
  const Duration deadline = steady_now() + timeout;
  auto addresses = resolve(host, port, deadline);
  if (!addresses) return fail(addresses.error());
  std::string last_error = "no address";
  for (const addrinfo* address = addresses->get(); address != nullptr; address = address->ai_next) {
    Result<Socket, std::string> socket = connect_to(*address, deadline);
    if (socket) return socket;
    last_error = socket.error();
  }
  return fail(std::move(last_error));
}

Result<Socket, std::string> connect_unix(const std::string& path,
                                         std::chrono::milliseconds timeout) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path)) return fail(error_text(ENAMETOOLONG));
  path.copy(name.sun_path, path.size());
  addrinfo address{};
  address.ai_family = AF_UNIX;
  address.ai_socktype = SOCK_STREAM;
  address.ai_addr = reinterpret_cast<sockaddr*>(&name);  // NOLINT: the sockets API is like this
  address.ai_addrlen = sizeof(name);
  return connect_to(address, steady_now() + timeout);
}

Result<Listener, std::string> listen_at(const std::string& address, std::uint16_t port, int queue) {
  // What is left of connections does not hold a port that is requested by number.
  auto out = bind_at(address, port, port != 0);
  if (out && listen(out->socket.descriptor(), queue) != 0) return fail(error_text(errno));
  return out;
}

Result<Listener, std::string> reserve_port(const std::string& address) {
  return bind_at(address, 0, true);
}

Socket listen_on_free_port(std::uint16_t& port) {
  auto listener = listen_at(kLoopback, 0, 1);
  if (!listener) return Socket(-1);
  fcntl(listener->socket.descriptor(), F_SETFL, 0);
  port = listener->port;
  return std::move(listener->socket);
}

std::optional<std::string> exchange(const Socket& socket, std::string_view bytes,
                                    std::size_t reply_bytes, std::chrono::milliseconds timeout) {
  const Duration deadline = steady_now() + timeout;
  while (!bytes.empty()) {
    if (!wait_for_descriptor(socket.descriptor(), false, true, deadline)) return std::nullopt;
    const ssize_t sent = send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return std::nullopt;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  std::string reply;
  while (reply.size() < reply_bytes) {
    if (!wait_for_descriptor(socket.descriptor(), true, false, deadline)) return std::nullopt;
    std::array<char, 256> buffer{};
    const std::size_t wanted = std::min(buffer.size(), reply_bytes - reply.size());
    const ssize_t got = recv(socket.descriptor(), buffer.data(), wanted, 0);
    if (got <= 0) return std::nullopt;
    reply.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return reply;
}

}  // namespace fencepost::endpoint
