// A scenario that does what a workload of `explore` does, and expects what the reference store
// answers: a store that answers otherwise fails it.
//
//   if (const auto made = workload_scenario(trace, {})) load(made->text());
//
// Pure: the reference store runs in this process on its own clock. Thread safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "codec/dialect.h"
#include "traffic/record/capture_scenario.h"
#include "workload/operation.h"

namespace fencepost::record {

struct WorkloadScenarioOptions {
  codec::DialectId dialect = codec::DialectId::kDeployed;
  CaptureOptions capture{};
  // As of search::JudgedRunOptions: what makes the workload suitable for a live store.
  std::optional<std::chrono::milliseconds> short_expiry{};
};

// Nothing where the answer of the store is unspecified: another conforming store might fail it.
// Nothing, either, where no case comes of it.
[[nodiscard]] std::optional<CaptureScenario> workload_scenario(
    const workload::Trace& trace, const WorkloadScenarioOptions& options);

}  // namespace fencepost::record
