#include "endpoint/paho_repairs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "endpoint/paho_guard.h"

namespace {

using fencepost::endpoint::PahoGuard;

std::atomic<int> last_descriptor{-1};

// By descriptor: is it a TCP socket that we connected? One that is used again for a file costs that
// file a system call that fails.
constexpr std::size_t kDescriptors = 65'536;
std::array<std::atomic<bool>, kDescriptors> connected{};

template <typename Function>
Function next_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));  // NOLINT: what dlsym gives
}

bool is_in_range(int descriptor) {
  return descriptor >= 0 && static_cast<std::size_t>(descriptor) < kDescriptors;
}

bool is_connected_by_us(int descriptor) {
  return is_in_range(descriptor) &&
         connected[static_cast<std::size_t>(descriptor)].load(std::memory_order_relaxed);
}

// What makes a socket another one than that which had its number before. 0: the kernel does not
// say.
std::uint64_t cookie_of(int descriptor) {
  const int before = errno;
  std::uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) cookie = 0;
  errno = before;
  return cookie;
}

// A connection that Paho made. Its bytes are plain or those within TLS, never both.
struct Guarded {
  explicit Guarded(std::uint64_t of) : cookie(of) {}
  const std::uint64_t cookie;
  std::mutex mutex;  // Paho reads in one thread and writes in others
  PahoGuard guard;
  bool ended = false;
};

std::mutex guards_mutex;
std::array<std::shared_ptr<Guarded>, kDescriptors> guards;
// Anybody but Paho who connects in this thread says so.
thread_local bool is_paho = true;
thread_local std::string refusal;
std::string last_refusal;  // of any thread; under guards_mutex

void watch(int descriptor) {
  if (!is_in_range(descriptor)) return;
  int type = 0;
  socklen_t size = sizeof(type);
  const bool is_stream = getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
                         type == SOCK_STREAM;  // name servers are asked without
  const std::uint64_t cookie = cookie_of(descriptor);
  std::shared_ptr<Guarded> made;
  if (is_paho && is_stream && cookie != 0) made = std::make_shared<Guarded>(cookie);
  const std::lock_guard lock(guards_mutex);
  guards[static_cast<std::size_t>(descriptor)] = std::move(made);
}

// Null: it is not a connection of Paho's.
std::shared_ptr<Guarded> guarded(int descriptor) {
  if (!is_in_range(descriptor)) return nullptr;
  std::shared_ptr<Guarded> found;
  {
    const std::lock_guard lock(guards_mutex);
    found = guards[static_cast<std::size_t>(descriptor)];
  }
  // The number may be another connection's by now.
  return found != nullptr && found->cookie == cookie_of(descriptor) ? found : nullptr;
}

void saw_written(int descriptor, const void* bytes, std::size_t size) {
  if (const auto found = guarded(descriptor)) {
    const std::lock_guard lock(found->mutex);
    found->guard.on_written({static_cast<const char*>(bytes), size});
  }
}

// False: Paho must not have these bytes, and the connection has been ended.
bool may_read(int descriptor, const void* bytes, std::size_t size) {
  const auto found = guarded(descriptor);
  if (found == nullptr) return true;
  const std::lock_guard lock(found->mutex);
  if (found->ended) return false;
  std::string why = found->guard.on_read({static_cast<const char*>(bytes), size});
  if (why.empty()) return true;
  found->ended = true;
  refusal = std::move(why);
  {
    const std::lock_guard all(guards_mutex);
    last_refusal = refusal;
  }
  shutdown(descriptor, SHUT_RDWR);
  return false;
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
    if (is_in_range(descriptor)) {
      connected[static_cast<std::size_t>(descriptor)].store(true, std::memory_order_relaxed);
    }
    watch(descriptor);
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
  if (count <= 0) return count;
  acknowledge_at_once(descriptor);
  // As if the broker had ended the connection, which Paho bears.
  return may_read(descriptor, bytes, static_cast<std::size_t>(count)) ? count : 0;
}

// What Paho reads and writes through TLS.
__attribute__((visibility("default"))) int SSL_read(SSL* tls, void* bytes, int size) {
  static const auto next = next_function<int (*)(SSL*, void*, int)>("SSL_read");
  const int count = next(tls, bytes, size);
  if (count <= 0) return count;
  return may_read(SSL_get_fd(tls), bytes, static_cast<std::size_t>(count)) ? count : 0;
}

__attribute__((visibility("default"))) int SSL_write(SSL* tls, const void* bytes, int size) {
  static const auto next = next_function<int (*)(SSL*, const void*, int)>("SSL_write");
  // Before the broker can answer it. It is called once for these bytes, as write(2) below takes
  // all.
  if (size > 0) saw_written(SSL_get_fd(tls), bytes, static_cast<std::size_t>(size));
  return next(tls, bytes, size);
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
  // Before the broker can answer them. All of it is written in the end, here or by write_rest().
  if (is_connected_by_us(descriptor)) {
    for (int i = 0; i < count_of_parts; ++i) {
      saw_written(descriptor, parts[i].iov_base, parts[i].iov_len);
    }
  }
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

NotPaho::NotPaho() : before_(std::exchange(is_paho, false)) {}
NotPaho::~NotPaho() { is_paho = before_; }

std::string take_refusal() { return std::exchange(refusal, {}); }

std::string take_last_refusal() {
  const std::lock_guard lock(guards_mutex);
  return std::exchange(last_refusal, {});
}

int last_connected_descriptor() { return last_descriptor.load(); }

std::mutex& paho_calls() {
  static std::mutex calls;
  return calls;
}

}  // namespace fencepost::endpoint
