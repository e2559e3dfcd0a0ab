// The end of all waits: a program that is told to end must not wait for endpoints that say nothing.
//
//   end_all_waits();  // a client's receive(), connect(), ... return as if their time were up
//
// What was waited for then proves nothing: see waits_have_ended(). Thread safe.
#pragma once

#include "endpoint/endpoint.h"

namespace fencepost::endpoint {

// For the rest of this process's life.
void end_all_waits();
[[nodiscard]] bool waits_have_ended();

// Becomes readable with the end of all waits, for poll().
[[nodiscard]] int end_of_waits_descriptor();

// Returns at `deadline`, on the clock of sessions, or at the end of all waits.
void sleep_until_or_end(Duration deadline);

}  // namespace fencepost::endpoint
