// What becomes of a counter-example of `explore`: what people see of it, and the file that fails
// again.
#pragma once

#include <cstdint>
#include <string>

#include "cli/commands.h"
#include "conformance/report/report.h"
#include "conformance/run/suite.h"
#include "conformance/scenario/requirement.h"
#include "conformance/search/explore.h"
#include "endpoint/endpoint.h"

namespace fencepost::cli {

// Everything that a run of `explore` needs to know.
struct ExploreRun {
  const ExploreOptions& options;
  const scenario::Library& library;
  report::ReportContext context;
  search::ExploreOptions explore;
  run::SuiteOptions suite;  // how the scenario of a counter-example is run
};

// Rule, bytes, workload and packets: the last ones, or, with `all_packets`, all.
void print_rejection(const search::JudgedRun& run, const workload::Trace& trace, bool all_packets,
                     const scenario::Catalogue& catalogue);

// The same of a counter-example, how it was found, and the command that finds it again.
void print(const search::Counterexample& found, const ExploreRun& run);

// Saves it as a scenario that fails at this endpoint and passes at the reference store, or, where
// there is none, as the workload; says where, and with which command it runs again. False after a
// complaint.
[[nodiscard]] bool save(const search::Counterexample& found, endpoint::Endpoint& endpoint,
                        const ExploreRun& run);

}  // namespace fencepost::cli
