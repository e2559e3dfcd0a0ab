// Random conforming variants against the cases: each decides the unspecified points of the protocol
// in its own way, and none may fail a case. A case that fails one is shown with the fewest
// decisions that make it fail.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codec/dialect.h"
#include "endpoint/endpoint.h"
#include "reference_store/variants/choices.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"
#include "suite/scenario/scenario.h"

namespace fencepost::selftest {

// Opens a store that decides like this. The error is for people.
using OpenRight = std::function<Result<std::unique_ptr<endpoint::Endpoint>, std::string>(
    const store::Decisions& decisions, codec::DialectId dialect)>;

struct ConformingStoresOptions {
  std::size_t stores = 40;  // in each profile
  std::uint64_t seed = 1;   // of the first; the next ones follow
  std::vector<codec::Profile> profiles{codec::Profile::kAuto, codec::Profile::kDeployed,
                                       codec::Profile::kDocumented};
  std::size_t jobs = 1;  // stores in parallel
};

// A case that fails conforming stores for one reason: a false positive.
struct FalseAlarm {
  const scenario::Case* test_case = nullptr;
  codec::Profile profile = codec::Profile::kAuto;
  store::Decisions decisions;  // the fewest that make it fail
  std::size_t stores = 0;
  std::uint64_t seed = 0;  // of the first of these stores
  run::CaseResult result;  // with no other decision than these
};

struct RightProfile {
  codec::Profile profile = codec::Profile::kAuto;
  std::size_t stores = 0;
  std::size_t failed_stores = 0;
  std::size_t inconclusive = 0;  // cases, over all stores
  std::vector<FalseAlarm> alarms{};
  std::vector<std::string> errors{};  // of stores that could not be run
};

struct ConformingStoresResult {
  std::vector<RightProfile> profiles;
  bool interrupted = false;

  // No store failed, and each was run.
  [[nodiscard]] bool proved() const;
};

[[nodiscard]] ConformingStoresResult run_conforming_stores(
    const std::vector<scenario::Case>& cases, const scenario::Catalogue& catalogue,
    const OpenRight& open, const ConformingStoresOptions& options, const std::atomic<bool>& stop,
    const std::function<void(std::size_t done, std::size_t total)>& progress);

// Lines for people, each ended.
[[nodiscard]] std::string conforming_stores_text(const ConformingStoresResult& result);

}  // namespace fencepost::selftest
