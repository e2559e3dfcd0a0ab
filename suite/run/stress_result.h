// What many concurrent clients showed about the store, in addition to the cases of a run: data
// alone. `fencepost certify` makes it, see concurrency/stress/load.h.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fencepost::run {

// One of the few requests that contradict each other.
struct StressOperation {
  std::uint32_t client = 0;
  std::chrono::microseconds called{0};                  // since the first of them was called
  std::optional<std::chrono::microseconds> returned{};  // nothing: no reply came
  std::string request{};                                // "SET \"a\" NX"
  std::string reply{};                                  // "ok  version 1:0:n"
};

struct StressFinding {
  std::string requirement{};
  bool fails = true;  // else it is a warning
  std::string key{};  // escaped
  std::string text{};
  std::vector<StressOperation> operations{};
};

struct StressResult {
  std::string workload{};
  std::uint32_t clients = 0;
  std::uint64_t seed = 0;
  bool simulated = false;                 // in simulated time
  std::chrono::microseconds duration{0};  // of the load
  std::uint64_t requests = 0;
  std::uint64_t replies = 0;
  std::uint64_t refused = 0;  // of the replies
  std::uint64_t notifications = 0;
  std::size_t keys_ok = 0;
  std::size_t keys_unknown = 0;  // that could not be decided
  std::vector<StressFinding> findings{};
  std::string error{};  // why it did not begin, or ended early; empty when nothing was wrong
  // Requests of which nothing is known, and why: then the phase proves nothing. Empty: there are
  // none.
  std::string undecided{};
  std::string command{};  // that repeats this load

  [[nodiscard]] bool fails() const {
    return std::any_of(findings.begin(), findings.end(),
                       [](const StressFinding& each) { return each.fails; });
  }
};

}  // namespace fencepost::run
