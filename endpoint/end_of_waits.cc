#include "endpoint/end_of_waits.h"

#include <atomic>
#include <chrono>
#include <ctime>

#include <poll.h>
#include <sys/eventfd.h>

namespace fencepost::endpoint {
namespace {

// Null: this copy's own.
std::atomic<EndOfWaits*> shared{nullptr};

}  // namespace

EndOfWaits& end_of_waits() {
  static EndOfWaits own{.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  EndOfWaits* of_program = shared.load(std::memory_order_acquire);
  return of_program == nullptr ? own : *of_program;
}

void share_end_of_waits(EndOfWaits& of_program) {
  shared.store(&of_program, std::memory_order_release);
}

int end_of_waits_descriptor() { return end_of_waits().descriptor; }

void end_all_waits() {
  end_of_waits().ended = true;
  [[maybe_unused]] const int written = eventfd_write(end_of_waits_descriptor(), 1);
}

bool waits_have_ended() { return end_of_waits().ended; }

void sleep_until_or_end(Duration deadline) {
  using std::chrono::steady_clock;
  while (!waits_have_ended()) {
    const Duration now =
        std::chrono::duration_cast<Duration>(steady_clock::now().time_since_epoch());
    if (now >= deadline) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(deadline - now);
    const timespec limit{.tv_sec = seconds.count(),
                         .tv_nsec = (deadline - now - seconds).count() * 1'000};
    pollfd entry{.fd = end_of_waits_descriptor(), .events = POLLIN, .revents = 0};
    (void)ppoll(&entry, 1, &limit, nullptr);
  }
}

}  // namespace fencepost::endpoint
