#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>

#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/difference_report.h"
#include "conformance/replay/replay.h"
#include "conformance/report/console.h"
#include "conformance/report/progress_line.h"
#include "conformance/report/report.h"
#include "conformance/run/signature.h"
#include "conformance/scenario/library.h"
#include "conformance/scenario/recorded.h"
#include "conformance/scenario/yaml_reader.h"
#include "conformance/search/live_fuzz.h"
#include "conformance/target/target.h"
#include "endpoint/rate_limit.h"
#include "endpoint/url.h"

namespace fencepost::cli {
namespace {

using std::chrono::milliseconds;

// So many requests a second for each trace that runs beside others.
constexpr double kRateOfOneTrace = 50;

double seconds(milliseconds time) { return static_cast<double>(time.count()) / 1000.0; }

std::string describe(const search::LiveFuzzProgress& progress) {
  const double took = std::max(seconds(progress.elapsed), 0.001);
  return fmt::format(
      "{:.0f} s  {} traces  {} requests ({:.0f}/s)  model: {} edges, {} pairs of outcomes, {} "
      "traces kept of {} tried  {} inconclusive  {} differences{}",
      seconds(progress.elapsed), progress.cases, progress.requests,
      static_cast<double>(progress.requests) / took, progress.search.edges, progress.search.pairs,
      progress.search.novel, progress.search.tried, progress.inconclusive, progress.differences,
      progress.doing.empty() ? "" : "  " + progress.doing);
}

// Everything that a run needs to know.
struct Run {
  const FuzzLiveOptions& options;
  DifferenceReport report;
  search::LiveFuzzOptions fuzz;
};

run::ExitCode report(search::LiveFuzzResult& result, Run& run) {
  report::ConsoleOptions settings = report::console_options(stdout);
  settings.trace = run.options.trace;
  report::Console console(stdout, settings);
  bool saved = true;
  for (search::Difference& difference : result.differences) {
    saved = save(difference, run.report) && saved;
    print(difference, console, run.report);
  }
  fmt::print("\n{}\n", describe(result.progress));
  if (result.endpoint_lost) {
    complain("the endpoint was lost during the run: " + result.lost_message);
  } else if (result.interrupted) {
    fmt::print("interrupted\n");
  }
  const run::ExitCode code = exit_code(result);
  if (code == run::ExitCode::kConformant) fmt::print("no difference\n");
  if (code == run::ExitCode::kInconclusive) fmt::print("no difference for sure\n");
  if (code == run::ExitCode::kFailed) fmt::print("the store differs from the model\n");
  return saved ? code : run::ExitCode::kInternal;
}

run::ExitCode run_on(endpoint::Endpoint& endpoint, const target::Descriptor& descriptor, Run& run) {
  run::SuiteOptions& suite = run.fuzz.suite;
  const auto ready = prepare(endpoint, descriptor, run.options.jobs, suite);
  if (!ready) {
    complain(ready.error().reason);
    if (!ready.error().hint.empty()) fmt::print(stderr, "           {}\n", ready.error().hint);
    return ready.error().code;
  }
  run.report.context.endpoint = endpoint.url();
  run.fuzz.live = live_options(ready->round_trip_p50, run.options.rate);
  run.fuzz.live.max_operations = run.options.max_steps;
  std::unique_ptr<endpoint::Endpoint> limited;
  if (run.options.rate > 0) {
    limited = limit_rate(endpoint, run.options.rate);
    const auto most = static_cast<std::size_t>(run.options.rate / kRateOfOneTrace) + 1;
    suite.jobs = std::min(suite.jobs, most);
    suite.at_work = std::min(suite.at_work, most);
  }
  fmt::print("fencepost fuzz-live {}  endpoint {}  profile {}  {} at once  seed {}  time {}\n",
             report::suite_version(), endpoint.url(), name(run.report.context.profile), suite.jobs,
             run.report.context.seed, run.options.time);
  std::fflush(stdout);
  report::ProgressLine line(report::console_options(stdout).live, run.options.quiet);
  search::LiveFuzzResult result =
      run_live_fuzz(limited ? *limited : endpoint, run.report.catalogue, run.fuzz, stop_flag(),
                    [&](const search::LiveFuzzProgress& progress) {
                      line.show(progress.elapsed, [&] { return describe(progress); });
                    });
  line.clear();
  return report(result, run);
}

}  // namespace

run::ExitCode fuzz_live(const FuzzLiveOptions& options) {
  const auto time = scenario::parse_duration(options.time);
  if (!time || time->count() == 0) {
    complain("--time " + options.time + " must be a duration such as 90s or 5m");
    return run::ExitCode::kUsage;
  }
  const auto descriptor = read_descriptor({options.endpoint, options.descriptor});
  if (!descriptor) return run::ExitCode::kUsage;
  const auto profile = options.profile.empty()
                           ? std::optional(descriptor->profile.value_or(codec::Profile::kAuto))
                           : codec::profile_named(options.profile);
  if (!profile) {
    complain("--profile " + options.profile + " is not one of auto, documented, deployed");
    return run::ExitCode::kUsage;
  }
  const auto library = open_library({});
  if (!library) return run::ExitCode::kUsage;
  std::random_device device;
  const std::uint64_t seed = options.seed.value_or(device());
  Run run{.options = options,
          .report = {.found_by = "fuzz-live",
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
          .fuzz = {.seed = seed, .time = *time, .stop_after = options.stop_after}};
  run.fuzz.suite.settings = {.profile = *profile,
                             .run_id = random_run_id(),
                             .seed = seed,
                             .timeout_scale = options.timeout_scale};
  stop_on_signals();
  const auto target = open_judged_by(*profile, *descriptor);
  if (!target) return exit_code(target.error());
  return run_on(*target->endpoint, *descriptor, run);
}

}  // namespace fencepost::cli
