// For tests that compute for long: ci/test without --full sets the variable, and they do a part of
// their work there.
#pragma once

#include <cstdlib>

namespace fencepost {

// `of_gate` in ci/test without --full, else `all`. Reads the environment: not while another thread
// changes it.
template <typename T>
[[nodiscard]] T all_or_in_gate(T all, T of_gate) {
  return std::getenv("FENCEPOST_GATE") == nullptr ? all : of_gate;  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace fencepost
