// Faults that show only with concurrent requests of several clients: simulated stress runs, whose
// histories are checked, have to catch each, and none of the conforming variants.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codec/dialect.h"
#include "reference_store/faults/fault.h"

namespace fencepost::selftest {

struct OverlapsOptions {
  std::vector<std::string> only{};  // globs of fault ids or names; empty: all
  std::uint64_t seed = 1;           // of the first run; the next ones follow
  std::size_t runs = 20;            // of a fault, until one catches it
  std::size_t conforming_runs = 5;  // of each conforming store
  std::uint64_t requests = 3'000;   // of a run
  std::size_t jobs = 1;             // stores in parallel
};

// What simulated runs say of one store.
struct OverlapResult {
  const store::Fault* fault = nullptr;  // null: the correct store
  codec::DialectId dialect = codec::DialectId::kDeployed;
  std::size_t runs = 0;
  // These describe the run that found a violation.
  std::string requirement{};        // empty: none did
  std::size_t operations = 0;       // that were over by then
  std::size_t counter_example = 0;  // operations that the violation names
  std::size_t unknown = 0;          // keys, over all runs

  [[nodiscard]] bool is_right() const {
    return fault == nullptr || fault->kind == store::FaultKind::kBenign;
  }
  // A fault is found; in a conforming store nothing is, and everything is decided.
  [[nodiscard]] bool as_it_should_be() const {
    return is_right() ? requirement.empty() && unknown == 0 : !requirement.empty();
  }
};

// The correct store and those of the catalogue that need histories, each in one
// dialect. `stop` ends it early.
[[nodiscard]] std::vector<OverlapResult> run_overlaps(const OverlapsOptions& options,
                                                      const std::atomic<bool>& stop);

}  // namespace fencepost::selftest
