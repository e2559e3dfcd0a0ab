#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/difference_report.h"
#include "conformance/judge/judge.h"
#include "conformance/report/console.h"
#include "conformance/report/progress_line.h"
#include "conformance/scenario/library.h"
#include "conformance/scenario/yaml_reader.h"
#include "conformance/search/explore.h"
#include "conformance/search/live_fuzz.h"
#include "conformance/target/target.h"
#include "workload/trace_text.h"

namespace fencepost::conformance {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostJobs = 32;
constexpr double kReplyTimeout = 3.0;  // seconds

double seconds(milliseconds time) { return static_cast<double>(time.count()) / 1000.0; }

std::string describe(const ExploreProgress& progress) {
  const double took = std::max(seconds(progress.elapsed), 0.001);
  return fmt::format(
      "{:.0f} s  {} workloads  {} operations ({:.0f}/s)  {} undecidable{}{}",
      seconds(progress.elapsed), progress.examples, progress.requests,
      static_cast<double>(progress.requests) / took, progress.undecidable,
      progress.cut_short == 0
          ? ""
          : fmt::format("  {} cut short by a connection that ended", progress.cut_short),
      progress.doing.empty() ? "" : "  " + progress.doing);
}

// Everything that a run needs to know.
struct Run {
  const ExploreCommandOptions& options;
  DifferenceReport report;
  ExploreOptions explore;
  LiveFuzzOptions confirm;  // how the scenario of a counter-example is run
};

void print(const Counterexample& found, const Run& run) {
  const Rejection& rejection = found.rejection;
  const Requirement* rule = run.report.catalogue.find(rejection.judgement.requirement);
  fmt::print("\nREJECTED  {}: {}\n", rejection.judgement.requirement,
             rule == nullptr ? "" : rule->text);
  fmt::print("  because   {}\n", rejection.judgement.because);
  fmt::print("  at        operation {} of {}\n", rejection.operation + 1, found.trace.size());
  fmt::print("  sent      {}\n", escape(rejection.request.payload, 200));
  if (rejection.reply) fmt::print("  got       {}\n", describe_reply(rejection.reply->payload));
  fmt::print(
      "  found     after {:.1f} s, workload {} of seed {}; {} operations, shrunk from {} "
      "with {} runs\n",
      seconds(found.found_after), found.example, run.explore.seed, found.trace.size(),
      found.operations_at_first, found.shrink_runs);
  fmt::print("  fails     {} times of {}\n  workload\n", found.failed, found.runs);
  for (const workload::Operation& operation : found.trace) {
    fmt::print("    {}\n", workload::to_text(operation));
  }
  std::fflush(stdout);
}

// The counter-example as a scenario that fails by itself, saved. False after a complaint.
bool save_scenario(const Counterexample& found, endpoint::Endpoint& endpoint, Run& run) {
  std::optional<Difference> difference;
  // What made the oracle reject the smallest may be what scenarios leave out because it is open.
  for (const workload::Trace* trace : {&found.trace, &found.first}) {
    LiveOptions live = run.confirm.live;
    live.max_operations = trace->size() + 1;
    const LivePlan plan = plan_live(*trace, live);
    if (difference || plan.requests() == 0) continue;
    run.confirm.suite.settings.run_id = random_run_id();
    difference = look_into(endpoint, run.report.catalogue, run.confirm, plan, stop_flag());
  }
  if (!difference) {
    fmt::print(
        "  not saved: as a scenario it passes; `--seed {} --max-examples {}` finds it "
        "again\n",
        run.explore.seed, found.example);
    return true;
  }
  difference->found_after = found.found_after;
  const bool saved = save(*difference, run.report);
  ConsoleOptions settings = console_options(stdout);
  settings.trace = run.options.trace;
  Console console(stdout, settings);
  print(*difference, console, run.report);
  return saved;
}

ExitCode report(const ExploreResult& result, endpoint::Endpoint& endpoint, Run& run) {
  bool saved = true;
  if (result.found) {
    print(*result.found, run);
    saved = save_scenario(*result.found, endpoint, run);
  }
  fmt::print("\n{}\n", describe(result.progress));
  for (const auto& [point, outcome] : result.observed) fmt::print("  {}: {}\n", point, outcome);
  if (!saved) return ExitCode::kInternal;
  if (result.found && result.found->failed > 0) {
    fmt::print("the store breaks a rule\n");
    return ExitCode::kFailed;
  }
  if (result.lost) {
    complain("the endpoint was lost during the run: " + result.lost->text);
    return ExitCode::kUnreachable;
  }
  if (result.interrupted) {
    fmt::print("interrupted\n");
    return ExitCode::kInterrupted;
  }
  if (result.found) {
    fmt::print("seen once, and not again: nothing is proved\n");
    return ExitCode::kInconclusive;
  }
  if (result.progress.requests == 0) return ExitCode::kInconclusive;
  fmt::print("no rule is broken\n");
  return ExitCode::kConformant;
}

ExitCode run_on(endpoint::Endpoint& endpoint, const Descriptor& descriptor, Run& run) {
  SuiteOptions& suite = run.confirm.suite;
  const auto ready = prepare(endpoint, descriptor, run.options.jobs, suite);
  if (!ready) {
    complain(ready.error().reason);
    if (!ready.error().hint.empty()) fmt::print(stderr, "           {}\n", ready.error().hint);
    return ready.error().code;
  }
  const endpoint::Capabilities& offers = endpoint.capabilities();
  run.report.context.endpoint = endpoint.url();
  run.confirm.live = live_options(ready->round_trip_p50, 0);
  JudgedRunOptions& judged = run.explore.judged;
  judged.oracle.clock = suite.settings.clock_bounds;
  judged.oracle.limited = !offers.thrown_away && offers.transport;
  judged.timeout = std::chrono::duration_cast<endpoint::Duration>(
      std::chrono::duration<double>(kReplyTimeout * run.options.timeout_scale));
  if (offers.transport) judged.short_expiry = run.confirm.live.short_expiry;
  run.explore.jobs = std::min(suite.jobs, kMostJobs);
  fmt::print("fencepost explore {}  endpoint {}  {} at once  seed {}  time {}\n", suite_version(),
             endpoint.url(), run.explore.jobs, run.explore.seed, run.options.max_time);
  std::fflush(stdout);
  ProgressLine line(console_options(stdout).live, run.options.quiet);
  const ExploreResult result =
      explore(endpoint, run.explore, stop_flag(), [&](const ExploreProgress& progress) {
        line.show(progress.elapsed, [&] { return describe(progress); });
      });
  line.clear();
  return report(result, endpoint, run);
}

}  // namespace

ExitCode explore(const ExploreCommandOptions& options) {
  const auto time = parse_duration(options.max_time);
  if (!time || time->count() == 0) {
    complain("--max-time " + options.max_time + " must be a duration such as 90s or 5m");
    return ExitCode::kUsage;
  }
  const auto descriptor = read_descriptor({options.endpoint, options.descriptor});
  if (!descriptor) return ExitCode::kUsage;
  const auto profile = options.profile.empty()
                           ? std::optional(descriptor->profile.value_or(codec::Profile::kAuto))
                           : codec::profile_named(options.profile);
  if (!profile) {
    complain("--profile " + options.profile + " is not one of auto, documented, deployed");
    return ExitCode::kUsage;
  }
  const auto library = open_library({});
  if (!library) return ExitCode::kUsage;
  std::random_device device;
  const std::uint64_t seed = options.seed.value_or(device());
  Run run{.options = options,
          .report = {.found_by = "explore",
                     .folder = options.save,
                     .catalogue = library->catalogue,
                     .context = {.endpoint = {},
                                 .profile = *profile,
                                 .seed = seed,
                                 .command = {},
                                 .started = utc_now()},
                     .reproduce = {.program = options.program,
                                   .endpoint = options.endpoint,
                                   .descriptor = options.descriptor}},
          .explore = {.run_id = random_run_id(),
                      .seed = seed,
                      .max_examples = options.max_examples,
                      .max_time = *time,
                      .max_operations = options.max_operations},
          .confirm = {.seed = seed}};
  run.confirm.suite.settings = {.profile = *profile,
                                .run_id = random_run_id(),
                                .seed = seed,
                                .timeout_scale = options.timeout_scale};
  stop_on_signals();
  const auto target = open_judged_by(*profile, *descriptor);
  if (!target) return exit_code(target.error());
  return run_on(*target->endpoint, *descriptor, run);
}

}  // namespace fencepost::conformance
