// What `fencepost stress` says of a run: a screen, JSON (docs/stress.schema.json), JUnit and a
// page.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "concurrency/histories/checked_history.h"
#include "concurrency/stress/load.h"
#include "concurrency/stress/online_checker.h"
#include "concurrency/stress/shrink.h"
#include "concurrency/stress/simulation.h"
#include "concurrency/stress/traffic.h"
#include "report/report_files.h"
#include "suite/run/exit_code.h"
#include "suite/scenario/requirement.h"

namespace fencepost::histories {

// A run that is over, over connections or simulated.
struct StressRun {
  std::string endpoint{};  // without password
  const stress::Mix* mix = nullptr;
  std::uint32_t clients = 0;
  std::uint64_t seed = 0;
  std::string started{};  // ISO 8601, UTC
  bool simulated = false;
  std::string again{};    // the command that provokes it again
  std::string history{};  // a file; empty: it was not kept
  stress::Judged judged{};
  std::vector<stress::DeliveryFinding> deliveries{};
  stress::DeliveryDoubts doubts{};
  stress::TrafficCounts counts{};
  double seconds = 0;  // of requests; simulated ones where it was
  double judging = 0;  // seconds of processor time
  std::size_t reconnected = 0;
  std::map<endpoint::NetworkFault, std::size_t> injected{};       // how many of each kind
  endpoint::Durability durability = endpoint::Durability::kNone;  // that the endpoint declares
  std::size_t kept = 0;  // of the ends of its broker, with a value of before
  std::size_t not_kept = 0;
  std::string lost{};   // why the endpoint is gone
  std::string error{};  // why the history could not be written
  bool interrupted = false;
  std::optional<stress::Shrunk> shrunk{};
  std::optional<stress::ShrunkPlan> enough{};  // of simulated runs
};

// What a run has come to; the rest is known to who has called for it.
[[nodiscard]] StressRun run_of(const stress::LoadResult& result);
[[nodiscard]] StressRun run_of(const stress::SimulatedRun& result);

// kFailed, kInternal where the history could not be written, kUnreachable where nothing was
// answered or the endpoint is gone, kInterrupted, kInconclusive where keys are unknown, all was
// refused, or requests are without a response for an unknown reason.
[[nodiscard]] run::ExitCode exit_code(const StressRun& run);

// "16 clients  workload everything": as the first line and reports have it.
[[nodiscard]] std::string describe(const stress::RunSize& size);

// "1.5 s  300 requests (199/s)  250 judged, 40 not yet": while it runs.
[[nodiscard]] std::string progress_text(double seconds, const stress::TrafficCounts& counts,
                                        const stress::Judged& judged);

// How `stress` was called, as far as the next run has to be called so, too. Empty, and 1 and 0:
// nothing was said.
struct StressCall {
  std::string program = "fencepost";
  std::string endpoint{};  // without password
  std::string descriptor{};
  std::string driver{};
  std::string profile{};
  std::string clock_offset{};
  std::string on_the_way{};
  double timeout_scale = 1.0;
  std::string duration{};
  double rate = 0;
  std::string disturb = "none";
  std::string disturb_every = "250ms";
};
// The command that does it again, each word as a shell takes it.
[[nodiscard]] std::string stress_command(const StressCall& call, const stress::RunSize& size,
                                         std::uint64_t seed);

// Is anything not ok? Then the history is kept.
[[nodiscard]] bool has_findings(const stress::Judged& judged);

// For the screen.
[[nodiscard]] std::string stress_text(const StressRun& run, const scenario::Catalogue& catalogue);

[[nodiscard]] std::string to_json(const StressRun& run);

// Writes the files `json`, `junit` and `html`, where they have a name; the page is made of
// `run.history`. The error says which could not be written: the others are.
[[nodiscard]] Result<void, std::string> write_stress(const StressRun& run,
                                                     const report::ReportFiles& files,
                                                     const scenario::Catalogue& catalogue);

}  // namespace fencepost::histories
