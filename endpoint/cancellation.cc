#include "endpoint/cancellation.h"

#include <array>
#include <atomic>
#include <chrono>

#include <sys/eventfd.h>

#include "base/poll_until.h"

namespace fencepost::endpoint {
namespace {

// Null: this copy's own.
std::atomic<Cancellation*> shared{nullptr};

}  // namespace

Cancellation& cancellation() {
  static Cancellation own{.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Cancellation* of_program = shared.load(std::memory_order_acquire);
  return of_program == nullptr ? own : *of_program;
}

void share_cancellation(Cancellation& of_program) {
  shared.store(&of_program, std::memory_order_release);
}

int cancellation_descriptor() { return cancellation().descriptor; }

void end_all_waits() {
  cancellation().ended = true;
  [[maybe_unused]] const int written = eventfd_write(cancellation_descriptor(), 1);
}

bool waits_have_ended() { return cancellation().ended; }

bool wait_for_descriptor(int descriptor, bool to_read, bool to_write, Duration deadline) {
  std::array<pollfd, 2> entries{
      {{.fd = descriptor,
        .events = static_cast<short>((to_read ? POLLIN : 0) | (to_write ? POLLOUT : 0)),
        .revents = 0},
       {.fd = cancellation_descriptor(), .events = POLLIN, .revents = 0}}};
  const int ready = poll_until(entries, std::chrono::steady_clock::time_point(deadline));
  if (ready < 0) return true;  // the read that follows says what is wrong
  return entries[0].revents != 0;
}

void sleep_until_or_end(Duration deadline) {
  (void)wait_for_descriptor(-1, false, false, deadline);
}

}  // namespace fencepost::endpoint
