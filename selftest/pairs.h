// Two faults in one store: a report has to name both. Random pairs of faults against the cases; one
// that the other hides altogether is counted apart.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codec/dialect.h"
#include "endpoint/endpoint.h"
#include "reference_store/faults/fault.h"
#include "suite/scenario/requirement.h"
#include "suite/scenario/scenario.h"

namespace fencepost::selftest {

// Opens a store with these faults. The error is for people.
using OpenFaults = std::function<Result<std::unique_ptr<endpoint::Endpoint>, std::string>(
    const std::vector<const store::Fault*>& faults, codec::DialectId dialect, std::uint64_t seed)>;

// Both have to be named by one of this many root causes.
inline constexpr std::size_t kFirstDifferences = 3;

struct PairsOptions {
  std::size_t pairs = 200;
  std::uint64_t seed = 1;  // of the choice, and of all that is random in the stores
  std::size_t jobs = 1;    // stores in parallel
};

struct PairResult {
  std::array<const store::Fault*, 2> faults{};
  codec::DialectId dialect = codec::DialectId::kDeployed;
  std::string error{};               // why it could not be run; empty when it was
  std::vector<std::string> rules{};  // of the root causes, in the order of the report
  std::array<bool, 2> named{};       // among the first: by a rule that this fault breaks
  // The fault that no case sees: each gives the pair the same verdict as the other fault alone.
  const store::Fault* hidden = nullptr;

  [[nodiscard]] bool both() const { return named[0] && named[1]; }
};

struct PairsResult {
  std::vector<PairResult> pairs;
  bool interrupted = false;

  [[nodiscard]] std::size_t named() const;
  [[nodiscard]] std::size_t hidden() const;
};

// Pairs of faults that can be in one store, that no transport or race is needed for, and that break
// no rule in common: one root cause would be right for those. Each is met in one dialect. The same
// seed makes the same pairs.
[[nodiscard]] PairsResult run_pairs(const std::vector<scenario::Case>& cases,
                                    const scenario::Catalogue& catalogue, const OpenFaults& open,
                                    const PairsOptions& options, const std::atomic<bool>& stop,
                                    const std::function<void(std::size_t, std::size_t)>& progress);

// Lines for people, each ended.
[[nodiscard]] std::string pairs_text(const PairsResult& result);

}  // namespace fencepost::selftest
