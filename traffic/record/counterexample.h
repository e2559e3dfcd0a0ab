// What becomes of a counter-example of `explore`: what people see of it, and the file that fails
// again.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "endpoint/endpoint.h"
#include "report/report.h"
#include "suite/run/suite.h"
#include "suite/scenario/library.h"
#include "traffic/search/explore.h"

namespace fencepost::record {

// How `explore` was called, as far as it decides which store is tested, and how it is judged.
// Empty: nothing was said.
struct ExploreCall {
  std::string program = "fencepost";
  std::string endpoint{};  // without password
  std::string descriptor{};
  std::string profile{};
  std::string edition{};
  std::string driver{};
  double timeout_scale = 1.0;
  std::vector<std::string> ignore{};
  std::string disturb = "none";
  std::string disturb_every = "250ms";
};
// The same for another command of the program, each word as a shell takes it.
[[nodiscard]] std::string command_text(const ExploreCall& call, const std::string& command);

// Everything that a run of `explore` needs to know.
struct ExploreRun {
  ExploreCall call;
  const scenario::Library& library;
  report::ReportContext context;
  search::ExploreOptions explore;
  run::SuiteOptions suite;   // how the scenario of a counter-example is run
  std::string save{};        // a folder
  bool all_packets = false;  // are shown
};

// What was sent and received last, whole, and the last packets. Lines.
[[nodiscard]] std::vector<std::string> rejection_lines(const search::JudgedRun& run);

// Rule, bytes, workload and packets: the last ones, or, with `all_packets`, all. Lines.
[[nodiscard]] std::string rejection_text(const search::JudgedRun& run, const workload::Trace& trace,
                                         bool all_packets, const scenario::Catalogue& catalogue);

// The command that runs some of the same workloads: `which` is an option, "--example 17".
[[nodiscard]] std::string search_command(const ExploreRun& run, const std::string& which);

// The same of a counter-example, how it was found, and the command that finds it again.
[[nodiscard]] std::string counterexample_text(const search::Counterexample& found,
                                              const ExploreRun& run);

// Where the scenario of a counter-example is tried.
struct Trials {
  endpoint::Endpoint& endpoint;
  std::function<std::string()> new_run_id{};  // of each, so that its keys are its own
  const std::atomic<bool>& stop;
};
// Saves it as a scenario that fails at this endpoint and passes at the reference store, or, where
// there is none, as the workload: where, and with which command it runs again, in lines. The error
// says why it cannot be written.
[[nodiscard]] Result<std::string, std::string> save(const search::Counterexample& found,
                                                    const ExploreRun& run, const Trials& trials);

}  // namespace fencepost::record
