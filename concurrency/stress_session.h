// What `fencepost stress` runs: concurrent clients against one endpoint for a given time, and,
// where their history breaks a rule, smaller runs that show it, too. The stress phase of a
// certification is one such run: stress_phase.h.
//
//   const auto run = run_simulated(settings, stop, {});
//   if (run && run->shrunk) use(run->shrunk->size);
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "codec/dialect.h"
#include "concurrency/histories/stress_report.h"
#include "concurrency/stress/load.h"
#include "concurrency/stress/shrink.h"
#include "concurrency/stress/simulation.h"
#include "suite/run/exit_code.h"
#include "suite/target/descriptor.h"
#include "suite/target/target.h"

namespace fencepost::concurrency {

struct StressSettings {
  target::Descriptor descriptor{};
  stress::RunSize size{};
  std::uint64_t seed = 1;
  std::string run_id{};  // of this run, in keys and client ids; smaller runs add to it
  std::chrono::milliseconds duration{10'000};
  // Of a store in process; versions need not grow where it is the documented one. (VER-UPDATE-3)
  codec::DialectId dialect = codec::DialectId::kDeployed;
  std::set<std::string, std::less<>> waived{};  // rules that do not apply to the store
  std::chrono::milliseconds clock_offset{0};    // of the store's clock to ours
  std::chrono::milliseconds on_the_way{0};      // what the network adds to the times of a store
  double rate = 0;                              // requests per second; 0: as TrafficOptions has it
  double timeout_scale = 1.0;
  bool stop_at_violation = true;
  // How long smaller runs are looked for; zero: not at all.
  std::chrono::milliseconds shrink_time{20'000};
  std::string history{};  // a file, which is replaced
};

// Why there is no run.
struct StressError {
  std::string text;
  run::ExitCode code = run::ExitCode::kUnreachable;
};

// Called now and then, from the caller's thread.
using StressProgress =
    std::function<void(std::chrono::milliseconds elapsed, double seconds,
                       const stress::TrafficCounts& counts, const stress::Judged& judged)>;

// Over the connections of `target`, through its faults where it has some. kUnreachable: not all
// clients could be connected; kInterrupted: and `stop` is the reason; kUsage: the history cannot be
// written. `stop`, which any thread may set, ends the run early: what was answered is judged.
[[nodiscard]] Result<histories::StressRun, StressError> run_over_connections(
    const StressSettings& settings, const target::Target& target, const std::atomic<bool>& stop,
    const StressProgress& progress);

// Against the store in process that the descriptor names, in simulated time: the same settings
// always give the same run, but for `shrunk`, which has a time limit. kUsage: there is no such
// store, or the history cannot be written.
[[nodiscard]] Result<histories::StressRun, StressError> run_simulated(
    const StressSettings& settings, const std::atomic<bool>& stop, const StressProgress& progress);

// What the clients of that run do over connections; `faults`: those that are injected, or null.
// Pure.
[[nodiscard]] stress::LoadOptions load_options(const StressSettings& settings,
                                               endpoint::NetworkFaults* faults);

}  // namespace fencepost::concurrency
