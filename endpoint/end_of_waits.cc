#include "endpoint/end_of_waits.h"

#include <array>
#include <atomic>
#include <chrono>

#include <sys/eventfd.h>

#include "base/poll_until.h"

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

bool wait_for_descriptor(int descriptor, bool to_read, bool to_write, Duration deadline) {
  std::array<pollfd, 2> entries{
      {{.fd = descriptor,
        .events = static_cast<short>((to_read ? POLLIN : 0) | (to_write ? POLLOUT : 0)),
        .revents = 0},
       {.fd = end_of_waits_descriptor(), .events = POLLIN, .revents = 0}}};
  const int ready = poll_until(entries, std::chrono::steady_clock::time_point(deadline));
  if (ready < 0) return true;  // the read that follows says what is wrong
  return entries[0].revents != 0;
}

void sleep_until_or_end(Duration deadline) {
  (void)wait_for_descriptor(-1, false, false, deadline);
}

}  // namespace fencepost::endpoint
