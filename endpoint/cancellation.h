// Cancellation: a program that has to stop must not wait for silent endpoints.
//
//   end_all_waits();  // a client's receive(), connect(), ... return as if their time were up
//
// What was waited for then proves nothing: see waits_have_ended(). Thread safe.
#pragma once

#include <atomic>

#include "endpoint/endpoint.h"

namespace fencepost::endpoint {

// For the rest of this process's life.
void end_all_waits();
[[nodiscard]] bool waits_have_ended();

// Becomes readable at cancellation, for poll().
[[nodiscard]] int cancellation_descriptor();

// What this program and a module that it has loaded have in common. In the module its own is
// replaced by that of the program, before anything waits.
struct Cancellation {
  std::atomic<bool> ended{false};
  int descriptor = -1;
};
[[nodiscard]] Cancellation& cancellation();
void share_cancellation(Cancellation& of_program);

// Waits until the descriptor can be read (or written, too), or `deadline` on the clock of sessions.
// False at the deadline, and at cancellation.
[[nodiscard]] bool wait_for_descriptor(int descriptor, bool to_read, bool to_write,
                                       Duration deadline);
// Returns at `deadline`, or at cancellation.
void sleep_until_or_end(Duration deadline);

}  // namespace fencepost::endpoint
