// What the phases of a run that follow its cases showed about the store: concurrent clients
// (concurrency/stress_phase.h), and all short workloads (traffic/record/enumeration_phase.h). Data
// alone.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fencepost::run {

// One of the few concurrent requests that contradict each other.
struct PhaseOperation {
  std::uint32_t client = 0;
  std::chrono::microseconds called{0};                  // since the first of them was called
  std::optional<std::chrono::microseconds> returned{};  // nothing: no reply came
  std::string request{};                                // "SET \"a\" NX"
  std::string reply{};                                  // "ok  version 1:0:n"
};

struct PhaseFinding {
  std::string requirement{};
  bool fails = true;  // else it is a warning
  std::string key{};  // escaped; empty: it is not of one key
  std::string text{};
  std::vector<PhaseOperation> operations{};  // of concurrent clients
  std::vector<std::string> packets{};        // of a workload: a line for each
  std::string command{};                     // that repeats this alone; empty: that of the phase
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
  std::vector<PhaseFinding> findings{};
  std::string error{};  // why it did not begin, or ended early; empty when nothing was wrong
  // Requests of which nothing is known, and why: then the phase proves nothing. Empty: there are
  // none.
  std::string undecided{};
  std::string command{};  // that repeats this load
};

// All workloads of a depth (workload/enumeration.h), or as many as there was time for.
struct EnumerationResult {
  std::size_t depth = 0;
  std::vector<std::string> bound{};  // what is enumerated: a line for each part
  std::size_t workloads = 0;         // that were run
  std::size_t of = 0;
  std::uint64_t requests = 0;
  std::uint64_t undecidable = 0;              // responses that no rule decides
  std::map<std::string, std::size_t> open{};  // because of these, in how many workloads
  std::chrono::microseconds duration{0};
  std::vector<PhaseFinding> findings{};
  std::string error{};      // why it did not begin, or ended early; empty when nothing was wrong
  std::string undecided{};  // why it proves nothing; empty: it does
  std::string command{};    // that repeats this phase
};

// Does one of these break a rule that applies to the store?
[[nodiscard]] inline bool fails(const std::vector<PhaseFinding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const PhaseFinding& each) { return each.fails; });
}

}  // namespace fencepost::run
