// What `fencepost stress` says of a run: a screen, JSON (docs/stress.schema.json), JUnit and a
// page.
#pragma once

#include <optional>
#include <string>

#include "cli/commands.h"
#include "conformance/histories/checked_history.h"
#include "conformance/scenario/requirement.h"
#include "stress/referee.h"
#include "stress/shrink.h"
#include "stress/traffic.h"

namespace fencepost::cli {

// A run that is over, over connections or simulated.
struct StressRun {
  std::string endpoint{};  // without password
  const stress::Mix* mix = nullptr;
  std::uint32_t clients = 0;
  std::uint64_t seed = 0;
  bool simulated = false;
  std::string again{};    // the command that provokes it again
  std::string history{};  // a file; empty: it was not kept
  stress::Judged judged{};
  stress::TrafficCounts counts{};
  double seconds = 0;  // of asking; simulated ones where it was
  double judging = 0;  // seconds of processor time
  std::size_t reconnected = 0;
  std::string lost{};     // why the endpoint is gone
  std::string trouble{};  // why the history could not be written
  bool interrupted = false;
  std::optional<stress::Shrunk> shrunk{};
  std::optional<stress::ShrunkPlan> enough{};  // of simulated runs
};

[[nodiscard]] run::ExitCode exit_code(const StressRun& run);

// "violation SET-NX-2": what two judgements of a key are compared by.
[[nodiscard]] std::string stress_verdict_text(const history::KeyVerdict& key);

// "16 clients  workload everything": as the first line and reports have it.
[[nodiscard]] std::string describe(const stress::RunSize& size);

void print_stress(const StressRun& run, const histories::CheckedHistory& findings,
                  const scenario::Catalogue& catalogue);

// Writes the files that the options name. The error says which could not be written.
[[nodiscard]] Result<void, std::string> write_stress(const StressRun& run,
                                                     const histories::CheckedHistory& findings,
                                                     const StressOptions& options,
                                                     const scenario::Catalogue& catalogue);

}  // namespace fencepost::cli
