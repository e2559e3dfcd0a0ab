#include "endpoint/tcp_nodelay.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>

#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
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

// Linux forgets the option with the next packet that is sent: it is set after each read.
void acknowledge_at_once(int descriptor) {
  if (descriptor < 0 || static_cast<std::size_t>(descriptor) >= kDescriptors ||
      !connected[static_cast<std::size_t>(descriptor)].load(std::memory_order_relaxed)) {
    return;
  }
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

}  // extern "C"

namespace fencepost::endpoint {

void enable_tcp_nodelay() {}

int last_connected_descriptor() { return last_descriptor.load(); }

}  // namespace fencepost::endpoint
