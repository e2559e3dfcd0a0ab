// The clock of deadlines that a condition variable waits for. The steady one: with the wall clock,
// a wait of a second takes an hour when somebody sets the clock back by an hour.
#pragma once

#include <chrono>

namespace fencepost::endpoint {

#ifdef __SANITIZE_THREAD__
// ThreadSanitizer of GCC 12 does not know the call that libstdc++ makes for the steady clock.
using WaitClock = std::chrono::system_clock;
#else
using WaitClock = std::chrono::steady_clock;
#endif

}  // namespace fencepost::endpoint
