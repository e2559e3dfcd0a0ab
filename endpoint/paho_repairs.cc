#include "endpoint/paho_repairs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>

#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

std::atomic<int> last_descriptor{-1};

// By descriptor: is it a TCP socket that we connected? One that is used again for a file costs that
// file a system call that fails.
constexpr std::size_t kDescriptors = 65'536;
std::array<std::atomic<bool>, kDescriptors> connected{};

template <typename Function>
Function next_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));  // NOLINT: what dlsym gives
}

bool is_connected_by_us(int descriptor) {
  return descriptor >= 0 && static_cast<std::size_t>(descriptor) < kDescriptors &&
         connected[static_cast<std::size_t>(descriptor)].load(std::memory_order_relaxed);
}

// The number of a descriptor may be a file's or a pipe's by now, whose failures are not ours to
// hide.
bool is_tcp_socket(int descriptor) {
  const int before = errno;
  int domain = 0;
  socklen_t size = sizeof(domain);
  const bool known = getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0;
  errno = before;
  return known && (domain == AF_INET || domain == AF_INET6);
}

// Did a write fail with `error` because the connection has ended? When Paho fails to write a
// PUBLISH of QoS 1, it frees topic and payload with the command, and again with the message that it
// keeps for a retry: what is allocated in between is freed under somebody's hands. A write that
// seems to have worked loses nothing: the packet is lost either way, and the read that follows
// tells Paho that the connection has ended.
bool connection_ended(int descriptor, int error) {
  switch (error) {
    case EPIPE:
    case ECONNRESET:
    case ECONNABORTED:
    case ENOTCONN:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
      return is_connected_by_us(descriptor) && is_tcp_socket(descriptor);
    default:
      return false;
  }
}

// How long a peer may take nothing before it counts as gone.
constexpr std::chrono::milliseconds kMaxStandstill{30'000};

// Can the socket take more? False when it could not for that long.
bool wait_until_writable(int descriptor) {
  pollfd state{.fd = descriptor, .events = POLLOUT, .revents = 0};
  const auto end = std::chrono::steady_clock::now() + kMaxStandstill;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    const int ready = poll(&state, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// Writes what is left of `bytes` to a TCP socket of Paho's that took only a part, or nothing for
// now. Paho notes such a write as pending and goes on with it from its receiving thread, where it
// searches the list of clients without the lock under which others take clients off it: with a
// lossy network, where the buffers of sockets are full now and then, one run in ten crashed. So no
// write is ever partial. A peer that takes nothing for too long is disconnected; the read that
// follows tells Paho.
void write_rest(int descriptor, const char* bytes, std::size_t size) {
  static const auto next = next_function<ssize_t (*)(int, const void*, std::size_t)>("write");
  while (size > 0) {
    const ssize_t count = next(descriptor, bytes, size);
    if (count >= 0) {
      bytes += count;
      size -= static_cast<std::size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    const bool is_full = errno == EAGAIN || errno == EWOULDBLOCK;
    if (!is_full || !wait_until_writable(descriptor)) {
      shutdown(descriptor, SHUT_RDWR);
      return;
    }
  }
}

// Has a write that gave `count` left bytes of `size` over that Paho must not know of?
bool leaves_a_rest(int descriptor, ssize_t count, std::size_t size) {
  if (count < 0 ? errno != EAGAIN && errno != EWOULDBLOCK
                : static_cast<std::size_t>(count) == size) {
    return false;
  }
  return is_connected_by_us(descriptor) && is_tcp_socket(descriptor);
}

// Linux forgets the option with the next packet that is sent: it is set after each read.
void acknowledge_at_once(int descriptor) {
  if (!is_connected_by_us(descriptor)) return;
  const int before = errno;
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
  errno = before;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int connect(int descriptor, const sockaddr* address,
                                                   socklen_t size) {
  static const auto next = next_function<int (*)(int, const sockaddr*, socklen_t)>("connect");
  if (address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6)) {
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    last_descriptor.store(descriptor);
    if (descriptor >= 0 && static_cast<std::size_t>(descriptor) < kDescriptors) {
      connected[static_cast<std::size_t>(descriptor)].store(true, std::memory_order_relaxed);
    }
  }
  return next(descriptor, address, size);
}

// OpenSSL reads with this one, Paho with recv().
__attribute__((visibility("default"))) ssize_t read(int descriptor, void* bytes, size_t size) {
  static const auto next = next_function<ssize_t (*)(int, void*, size_t)>("read");
  const ssize_t count = next(descriptor, bytes, size);
  if (count > 0) acknowledge_at_once(descriptor);
  return count;
}

__attribute__((visibility("default"))) ssize_t recv(int descriptor, void* bytes, size_t size,
                                                    int flags) {
  static const auto next = next_function<ssize_t (*)(int, void*, size_t, int)>("recv");
  const ssize_t count = next(descriptor, bytes, size, flags);
  if (count > 0) acknowledge_at_once(descriptor);
  return count;
}

// OpenSSL writes with this one, Paho with writev().
__attribute__((visibility("default"))) ssize_t write(int descriptor, const void* bytes,
                                                     size_t size) {
  static const auto next = next_function<ssize_t (*)(int, const void*, size_t)>("write");
  const ssize_t count = next(descriptor, bytes, size);
  if (count < 0 && connection_ended(descriptor, errno)) return static_cast<ssize_t>(size);
  if (!leaves_a_rest(descriptor, count, size)) return count;
  const std::size_t done = count < 0 ? 0 : static_cast<std::size_t>(count);
  write_rest(descriptor, static_cast<const char*>(bytes) + done, size - done);
  return static_cast<ssize_t>(size);
}

__attribute__((visibility("default"))) ssize_t writev(int descriptor, const iovec* parts,
                                                      int count_of_parts) {
  static const auto next = next_function<ssize_t (*)(int, const iovec*, int)>("writev");
  const ssize_t count = next(descriptor, parts, count_of_parts);
  std::size_t size = 0;
  for (int i = 0; i < count_of_parts; ++i) size += parts[i].iov_len;
  if (count < 0 && connection_ended(descriptor, errno)) return static_cast<ssize_t>(size);
  if (!leaves_a_rest(descriptor, count, size)) return count;
  std::size_t done = count < 0 ? 0 : static_cast<std::size_t>(count);
  for (int i = 0; i < count_of_parts; ++i) {
    const std::size_t skipped = std::min(done, parts[i].iov_len);
    done -= skipped;
    write_rest(descriptor, static_cast<const char*>(parts[i].iov_base) + skipped,
               parts[i].iov_len - skipped);
  }
  return static_cast<ssize_t>(size);
}

}  // extern "C"

namespace fencepost::endpoint {

void install_paho_repairs() {}

int last_connected_descriptor() { return last_descriptor.load(); }

std::mutex& paho_calls() {
  static std::mutex calls;
  return calls;
}

}  // namespace fencepost::endpoint
