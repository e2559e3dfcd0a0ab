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
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "endpoint/end_of_waits.h"

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
    std::array<pollfd, 2> entries{
        {{.fd = descriptor, .events = events, .revents = 0},
         {.fd = end_of_waits_descriptor(), .events = POLLIN, .revents = 0}}};
    const int ready = poll(entries.data(), entries.size(), static_cast<int>(left) + 1);
    if (ready > 0) return entries[0].revents != 0;  // else all waits have ended
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
// asks it.
Result<Addresses, std::string> resolve(const std::string& host, std::uint16_t port,
                                       SteadyClock::time_point deadline) {
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
    if (!wait_ready(lookup->done.descriptor(), POLLIN, deadline) ||
        !lookup->is_done.load(std::memory_order_acquire)) {
      return fail(std::string("no answer of the name server in time"));
    }
  }
  if (lookup->failed != 0) return fail(std::string(gai_strerror(lookup->failed)));
  return std::move(lookup->found);
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<Socket, std::string> connect_tcp(const std::string& host, std::uint16_t port,
                                        std::chrono::milliseconds timeout) {
  const SteadyClock::time_point deadline = SteadyClock::now() + timeout;
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
  return connect_to(address, SteadyClock::now() + timeout);
}

Result<std::uint16_t, std::string> free_port_of(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0) {
    return fail(std::string("that is no IP address"));
  }
  const std::unique_ptr<addrinfo, AddressDeleter> addresses(found);
  const Socket socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  auto* generic = reinterpret_cast<sockaddr*>(&bound);  // NOLINT: the sockets API is like this
  if (bind(socket.descriptor(), found->ai_addr, found->ai_addrlen) != 0 ||
      getsockname(socket.descriptor(), generic, &size) != 0) {
    return fail(error_text(errno));
  }
  // Both kinds of address have the port in the same place.
  return ntohs(reinterpret_cast<const sockaddr_in*>(generic)->sin_port);  // NOLINT: as above
}

std::uint16_t free_loopback_port() {
  const auto port = free_port_of("127.0.0.1");
  return port ? *port : std::uint16_t{0};
}

Socket listen_on_free_port(std::uint16_t& port) {
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
