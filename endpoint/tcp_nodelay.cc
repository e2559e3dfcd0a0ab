#include "endpoint/tcp_nodelay.h"

#include <atomic>

#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace {

std::atomic<int> last_descriptor{-1};

using ConnectFunction = int (*)(int, const sockaddr*, socklen_t);

ConnectFunction system_connect() {
  static const auto function =
      reinterpret_cast<ConnectFunction>(dlsym(RTLD_NEXT, "connect"));  // NOLINT: what dlsym gives
  return function;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int connect(int descriptor,
                                                              const sockaddr* address,
                                                              socklen_t size) {
  if (address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6)) {
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    last_descriptor.store(descriptor);
  }
  return system_connect()(descriptor, address, size);
}

namespace fencepost::endpoint {

void enable_tcp_nodelay() {}

int last_connected_descriptor() { return last_descriptor.load(); }

}  // namespace fencepost::endpoint
