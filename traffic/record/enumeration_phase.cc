#include "traffic/record/enumeration_phase.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "traffic/search/explore_report.h"
#include "traffic/search/judged_runs.h"
#include "workload/enumeration.h"

namespace fencepost::record {
namespace {

using std::chrono::milliseconds;

// Of each is kept what it receives until its end; more of them would be connecting, not working.
constexpr std::size_t kMaxJobs = 1024;
// A workload has two clients, and others that end or are kept for the next; the broker has as many.
constexpr std::size_t kFilesOfAJob = 4;
constexpr std::size_t kFilesOfTheRest = 200;
constexpr milliseconds kAsLongAsItTakes{std::chrono::hours{24 * 365}};

run::PhaseFinding finding_of(const search::Counterexample& found, const EnumerationPhase& phase) {
  return {.requirement = found.rejection().judgement.requirement,
          .text = found.rejection().judgement.because,
          .packets = rejection_lines(found.run),
          .command = command_text(phase.call, "explore") +
                     fmt::format(" --exhaustive {} --example {}", phase.depth, found.example)};
}

// Why the phase ended early, or proves nothing, and what was found.
void conclude(search::ExploreResult result, const EnumerationPhase& phase,
              run::EnumerationResult& out) {
  // A part is no doubt where a part was asked for: how far it came is said.
  if (phase.time) result.progress.of = std::min(result.progress.of, result.progress.examples);
  const search::Conclusion end = search::conclude(result);
  switch (end.code) {
    case run::ExitCode::kUnreachable:
      out.error = "the endpoint was lost: " + result.lost->text;
      break;
    case run::ExitCode::kInterrupted:
      out.error = end.text;
      break;
    case run::ExitCode::kInconclusive:
      out.undecided = end.text;
      break;
    default:
      break;
  }
  for (const search::Counterexample& found : result.found) {
    if (found.failed > 0) {
      out.findings.push_back(finding_of(found, phase));
    } else {
      const run::PhaseFinding once = finding_of(found, phase);
      out.undecided += fmt::format(" ({}: {}; {})", once.requirement, once.text, once.command);
    }
  }
}

}  // namespace

void fit_to(const endpoint::Endpoint& endpoint, const scenario::Catalogue& catalogue,
            const run::SuiteOptions& suite, endpoint::Duration round_trip, std::size_t jobs,
            search::ExploreOptions& explore) {
  explore.judged = search::judged_runs({.catalogue = catalogue,
                                        .settings = suite.settings,
                                        .offers = endpoint.capabilities(),
                                        .round_trip = round_trip,
                                        .timeout_scale = suite.settings.timeout_scale});
  // Brokers of our own have room for more: workloads wait for expiries, some for little else.
  const bool ours = endpoint.url().starts_with("embedded") && suite.running < suite.jobs;
  explore.jobs = ours && jobs == 0 ? kMaxJobs : std::min(suite.jobs, kMaxJobs);
  if (jobs == 0) {
    const std::size_t files = std::max(raise_open_files(), kFilesOfTheRest) - kFilesOfTheRest;
    explore.jobs = std::clamp(files / kFilesOfAJob, std::size_t{1}, explore.jobs);
  }
  explore.running = std::min(suite.running, explore.jobs);
}

run::EnumerationResult run_enumeration(
    const EnumerationPhase& phase, endpoint::Endpoint& endpoint, const std::atomic<bool>& stop,
    const std::function<void(const search::ExploreProgress&)>& progress) {
  const workload::Enumeration all(phase.depth);
  search::ExploreOptions options{.run_id = phase.run_id,
                                 .seed = phase.suite.settings.seed,
                                 .max_time = phase.time.value_or(kAsLongAsItTakes),
                                 .all = &all,
                                 .fresh_connections = phase.suite.fresh_connections};
  fit_to(endpoint, phase.library.catalogue, phase.suite, phase.round_trip, 0, options);
  options.ignores = [&phase](const judge::Judgement& judgement) {
    return phase.known.contains(judgement.requirement);
  };
  search::ExploreResult result;
  if (phase.not_run_because.empty()) result = search::explore(endpoint, options, stop, progress);
  run::EnumerationResult out{.depth = phase.depth,
                             .bound = all.bound(),
                             .workloads = result.progress.examples,
                             .of = all.size(),
                             .requests = result.progress.requests,
                             .undecidable = result.progress.undecidable,
                             .open = result.open,
                             .duration = result.progress.elapsed,
                             .command = command_text(phase.call, "explore") +
                                        fmt::format(" --exhaustive {}", phase.depth)};
  if (phase.not_run_because.empty()) {
    conclude(std::move(result), phase, out);
  } else {
    out.error = phase.not_run_because;
  }
  return out;
}

}  // namespace fencepost::record
