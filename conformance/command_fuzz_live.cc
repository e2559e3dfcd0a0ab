#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>

#include <fmt/format.h>

#include "base/bytes.h"
#include "conformance/command_support.h"
#include "conformance/commands.h"
#include "conformance/console.h"
#include "conformance/library.h"
#include "conformance/live_fuzz.h"
#include "conformance/printable.h"
#include "conformance/recorded.h"
#include "conformance/replay.h"
#include "conformance/report.h"
#include "conformance/signature.h"
#include "conformance/target.h"
#include "conformance/yaml_reader.h"
#include "endpoint/rate_limit.h"
#include "endpoint/url.h"

namespace fencepost::conformance {
namespace {

using std::chrono::milliseconds;

// At a lower rate, what expires soon is gone before its requests have had their turn.
constexpr double kRateOfShortExpiry = 50;
// So many requests a second for each trace that runs beside others.
constexpr double kRateOfOneTrace = 50;
constexpr milliseconds kShortestExpiry{300};
// Requests that rely on a key that expires soon, and their way.
constexpr int kRoundTripsOfExpiry = 30;

double seconds(milliseconds time) { return static_cast<double>(time.count()) / 1000.0; }

std::string describe(const LiveFuzzProgress& progress) {
  const double took = std::max(seconds(progress.elapsed), 0.001);
  return fmt::format(
      "{:.0f} s  {} traces  {} requests ({:.0f}/s)  model: {} edges, {} pairs of outcomes, {} "
      "traces kept of {} tried  {} inconclusive  {} differences{}",
      seconds(progress.elapsed), progress.cases, progress.requests,
      static_cast<double>(progress.requests) / took, progress.search.edges, progress.search.pairs,
      progress.search.novel, progress.search.tried, progress.inconclusive, progress.differences,
      progress.doing.empty() ? "" : "  " + progress.doing);
}

// One line that is written again each second on a terminal, a line each half minute elsewhere.
class ProgressLine {
 public:
  ProgressLine(bool live, bool quiet)
      : live_(live), quiet_(quiet), due_(live ? milliseconds{0} : kInterval) {}

  void show(const LiveFuzzProgress& progress) {
    if (quiet_ || progress.elapsed < due_) return;
    due_ = progress.elapsed + (live_ ? milliseconds{1'000} : kInterval);
    fmt::print("{}  {}{}", live_ ? "\r\033[K" : "", describe(progress), live_ ? "" : "\n");
    std::fflush(stdout);
  }
  void clear() const {
    if (live_ && !quiet_) fmt::print("\r\033[K");
  }

 private:
  static constexpr milliseconds kInterval{30'000};
  bool live_;
  bool quiet_;
  milliseconds due_;
};

LiveOptions live_options(const FuzzLiveOptions& options, const PreflightReport& seen) {
  LiveOptions out;
  out.max_operations = options.max_steps;
  const auto way = std::chrono::ceil<milliseconds>(seen.round_trip_p50 * kRoundTripsOfExpiry);
  out.short_expiry = std::max(kShortestExpiry, (way + milliseconds{99}) / 100 * 100);
  if (options.rate > 0 && options.rate < kRateOfShortExpiry) out.short_expiry.reset();
  return out;
}

// The command that runs a saved scenario again.
std::string command_line(const FuzzLiveOptions& options, const std::string& profile,
                         const std::string& file) {
  std::string out = options.program + " certify";
  if (!options.endpoint.empty()) {
    out += " --endpoint " + shell_word(endpoint::redacted(options.endpoint));
  }
  if (!options.descriptor.empty()) out += " --descriptor " + shell_word(options.descriptor);
  if (profile != "auto") out += " --profile " + profile;
  return out + " --scenarios " + shell_word(file);
}

// "ft" of FT-LOWER-1
std::string area_of(const std::string& requirement) {
  std::string out = requirement.substr(0, requirement.find('-'));
  for (char& c : out) c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string title_of(const Difference& difference, const Catalogue& catalogue) {
  std::string out;
  for (const LiveStep& step : difference.plan.steps) {
    out += (out.empty() ? "" : ", ") + name_of(step);
  }
  const Requirement* rule = catalogue.find(difference.result.requirement);
  return fmt::format("{}: {}", out, rule == nullptr ? difference.result.requirement : rule->text);
}

// Everything that a run needs to know.
struct Run {
  const FuzzLiveOptions& options;
  const Catalogue& catalogue;
  ReportContext context;
  LiveFuzzOptions fuzz;
};

// Gives the difference its name and saves it. False after a complaint.
bool save(Difference& difference, Run& run) {
  const std::string text = scenario_text(difference.plan, {.id = "x", .title = "x"});
  const std::string id = fmt::format("fuzz-live.{}.{:08x}", area_of(difference.result.requirement),
                                     stable_hash(text) & 0xffffffffU);
  const std::filesystem::path folder =
      std::filesystem::path(run.options.save) / (difference.seen_once() ? "seen-once" : "");
  const std::string file = (folder / (id + ".yaml")).lexically_normal().string();
  const CaseResult& result = difference.result;
  Recorded recorded{.by = "fuzz-live",
                    .when = run.context.started,
                    .endpoint = run.context.endpoint,
                    .seed = run.context.seed};
  std::string note = fmt::format("It failed {} times of {}.", difference.failed, difference.runs);
  if (difference.seen_once()) {
    // What was never seen again is nothing that could be fixed.
    note = fmt::format("Seen once, and not in {} further runs: {}", difference.runs,
                       recorded_words(signature(result)));
  } else {
    recorded = with_failure(std::move(recorded), result);
  }
  write_as(difference,
           {.id = id,
            .title = one_line(printable(title_of(difference, run.catalogue))),
            .note = note,
            .recorded = std::move(recorded)},
           file, run.catalogue);
  run.context.command = command_line(run.options, std::string(name(run.context.profile)), file);
  std::error_code trouble;
  std::filesystem::create_directories(folder, trouble);
  const auto written = write_file(file, difference.text);
  if (!written) complain(written.error());
  return written.has_value();
}

void print(const Difference& difference, Console& console, const Run& run) {
  console.failure(difference.result, run.catalogue, run.context);
  const ScenarioSize size = size_of(difference.plan);
  fmt::print("  found     after {:.1f} s; {} steps{}, shrunk from {} in {:.1f} s with {} runs\n",
             seconds(difference.found_after), size.steps,
             size.starts_with_version ? " (one makes the version that tokens relate to)" : "",
             difference.steps_at_first, seconds(difference.shrunk_in), difference.shrink_runs);
  if (difference.seen_once()) {
    fmt::print("  seen once, and not in {} further runs: nothing is proved\n", difference.runs);
  } else {
    fmt::print("  fails     {} times of {}\n", difference.failed, difference.runs);
  }
  fmt::print("  saved     {}\n{}", difference.test_case->position.file, difference.text);
  std::fflush(stdout);
}

ExitCode report(LiveFuzzResult& result, Run& run) {
  ConsoleOptions settings = console_options(stdout);
  settings.trace = run.options.trace;
  Console console(stdout, settings);
  bool saved = true;
  for (Difference& difference : result.differences) {
    saved = save(difference, run) && saved;
    print(difference, console, run);
  }
  fmt::print("\n{}\n", describe(result.progress));
  if (result.endpoint_lost) {
    complain("the endpoint was lost during the run: " + result.lost_message);
  } else if (result.interrupted) {
    fmt::print("interrupted\n");
  }
  const ExitCode code = exit_code(result);
  if (code == ExitCode::kConformant) fmt::print("no difference\n");
  if (code == ExitCode::kInconclusive) fmt::print("no difference for sure\n");
  if (code == ExitCode::kFailed) fmt::print("the store differs from the model\n");
  return saved ? code : ExitCode::kInternal;
}

ExitCode run_on(endpoint::Endpoint& endpoint, const Descriptor& descriptor, Run& run) {
  SuiteOptions& suite = run.fuzz.suite;
  const auto ready = prepare(endpoint, descriptor, run.options.jobs, suite);
  if (!ready) {
    complain(ready.error().reason);
    if (!ready.error().hint.empty()) fmt::print(stderr, "           {}\n", ready.error().hint);
    return ready.error().code;
  }
  run.context.endpoint = endpoint.url();
  run.fuzz.live = live_options(run.options, *ready);
  std::unique_ptr<endpoint::Endpoint> limited;
  if (run.options.rate > 0) {
    limited = limit_rate(endpoint, run.options.rate);
    const auto most = static_cast<std::size_t>(run.options.rate / kRateOfOneTrace) + 1;
    suite.jobs = std::min(suite.jobs, most);
    suite.at_work = std::min(suite.at_work, most);
  }
  fmt::print("fencepost fuzz-live {}  endpoint {}  profile {}  {} at once  seed {}  time {}\n",
             suite_version(), endpoint.url(), name(run.context.profile), suite.jobs,
             run.context.seed, run.options.time);
  std::fflush(stdout);
  ProgressLine line(console_options(stdout).live, run.options.quiet);
  LiveFuzzResult result =
      run_live_fuzz(limited ? *limited : endpoint, run.catalogue, run.fuzz, stop_flag(),
                    [&](const LiveFuzzProgress& progress) { line.show(progress); });
  line.clear();
  return report(result, run);
}

}  // namespace

ExitCode fuzz_live(const FuzzLiveOptions& options) {
  const auto time = parse_duration(options.time);
  if (!time || time->count() == 0) {
    complain("--time " + options.time + " must be a duration such as 90s or 5m");
    return ExitCode::kUsage;
  }
  const auto descriptor = read_descriptor({options.endpoint, options.descriptor});
  if (!descriptor) return ExitCode::kUsage;
  const auto profile = options.profile.empty()
                           ? std::optional(descriptor->profile.value_or(Profile::kAuto))
                           : profile_named(options.profile);
  if (!profile) {
    complain("--profile " + options.profile + " is not one of auto, documented, deployed");
    return ExitCode::kUsage;
  }
  const auto library = open_library({});
  if (!library) return ExitCode::kUsage;
  std::random_device device;
  const std::uint64_t seed = options.seed.value_or(device());
  Run run{.options = options,
          .catalogue = library->catalogue,
          .context = {.endpoint = {},
                      .profile = *profile,
                      .seed = seed,
                      .command = {},
                      .started = utc_now()},
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

}  // namespace fencepost::conformance
