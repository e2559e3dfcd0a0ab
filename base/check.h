// FENCEPOST_CHECK(condition): a statement about our own code that must hold, regardless of the
// input. On in every build type. A failed check prints the condition and its place to standard
// error and aborts: it is a defect of Fencepost.
#pragma once

namespace fencepost {

// Prints "file:line: check failed: condition" and aborts. Thread safe.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace fencepost

#define FENCEPOST_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::fencepost::check_failed(#condition, __FILE__, __LINE__))
