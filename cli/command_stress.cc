// fencepost stress: concurrent clients, and whether their history is linearizable.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text/output.h"
#include "base/text/printable.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "concurrency/histories/stress_report.h"
#include "concurrency/stress_session.h"
#include "endpoint/url.h"
#include "report/console.h"
#include "report/progress_line.h"
#include "report/report.h"
#include "report/report_files.h"
#include "suite/scenario/binding.h"
#include "suite/scenario/library.h"
#include "suite/scenario/yaml_reader.h"
#include "suite/target/conditions_options.h"
#include "suite/target/target.h"

namespace fencepost::cli {
namespace {

using std::chrono::milliseconds;

// What is added to times may not overflow.
constexpr std::chrono::hours kMaxDuration{366 * 24};
constexpr std::chrono::hours kMaxOnTheWay{1};

// What the options come to.
struct Setup {
  const StressOptions& options;
  concurrency::StressSettings run;
  std::optional<endpoint::NetworkFaultOptions> disturb{};
};

bool is_simulated(const Setup& setup) {
  const auto url = endpoint::parse_url(setup.run.descriptor.url);
  return url && url->scheme == endpoint::Scheme::kInProcess;
}

std::string again(const Setup& setup) {
  const StressOptions& options = setup.options;
  const auto url = endpoint::parse_url(setup.run.descriptor.url);
  return histories::stress_command(
      {.program = options.program,
       .endpoint = !options.endpoint.empty() && url ? url->display() : "",
       .descriptor = options.descriptor,
       .driver = options.driver,
       .profile = options.profile,
       .clock_offset = options.clock_offset,
       .on_the_way = options.on_the_way,
       .timeout_scale = options.timeout_scale,
       .duration = options.duration,
       .rate = options.rate,
       .disturb = options.disturb,
       .disturb_every = options.disturb_every},
      setup.run.size, setup.run.seed);
}

// A broker that breaks MQTT 5 is what the run finds, with its packets. (Req: ENV-MQTT5-3)
bool can_begin(const Result<run::PreflightReport, run::PreflightError>& there) {
  return there || there.error().kind == run::PreflightErrorKind::kWrongBroker || stop_flag();
}

Result<histories::StressRun, NotReady> run_live(const Setup& setup,
                                                const concurrency::StressProgress& progress) {
  auto target = target::open_target(setup.run.descriptor, setup.run.dialect, setup.disturb);
  if (!target) {
    return fail(NotReady{.reason = target.error().text, .code = exit_code(target.error())});
  }
  // Not through a proxy: the end of a connection of this would count as one that nobody caused.
  if (!setup.disturb) {
    const auto there =
        run::preflight(*target->endpoint, random_run_id(), setup.options.timeout_scale);
    if (!can_begin(there)) {
      return fail(NotReady{.reason = describe(there.error(), target->endpoint->url()),
                           .hint = there.error().hint});
    }
  }
  auto run = concurrency::run_over_connections(setup.run, *target, stop_flag(), progress);
  if (!run) return fail(NotReady{.reason = run.error().text, .code = run.error().code});
  return std::move(*run);
}

Result<histories::StressRun, NotReady> run_simulated(const Setup& setup,
                                                     const concurrency::StressProgress& progress) {
  auto run = concurrency::run_simulated(setup.run, stop_flag(), progress);
  if (!run) return fail(NotReady{.reason = run.error().text, .code = run.error().code});
  return std::move(*run);
}

Result<histories::StressRun, NotReady> run_with_progress(const Setup& setup) {
  report::ProgressLine line(report::console_options(stdout).live, setup.options.quiet);
  const auto progress = [&](milliseconds elapsed, double seconds,
                            const stress::TrafficCounts& counts, const stress::Judged& judged) {
    line.show(elapsed, [&] { return histories::progress_text(seconds, counts, judged); });
  };
  auto run = is_simulated(setup) ? run_simulated(setup, progress) : run_live(setup, progress);
  line.clear();
  return run;
}

run::ExitCode report_run(const Setup& setup, const scenario::Library& library,
                         histories::StressRun& run) {
  const bool kept = !setup.options.history.empty() || histories::has_findings(run.judged);
  if (kept) run.history = setup.run.history;
  const StressOptions& options = setup.options;
  if (!options.reports.piped()) text::print("{}", text::Lines(stress_text(run, library.catalogue)));
  histories::StressRun shown = run;
  shown.history = setup.run.history;  // the page is made of it in any case
  const auto written = write_stress(options.reports.of("html").empty() ? run : shown,
                                    options.reports, library.catalogue);
  if (!kept) {
    std::error_code ignored;
    std::filesystem::remove(setup.run.history, ignored);
  }
  return succeeded(written) ? exit_code(run) : run::ExitCode::kInternal;
}

// The default place: existing files in the folder may be a user's, and are kept.
std::string unused_name(std::uint64_t seed) {
  std::string out = fmt::format("stress-{}.jsonl", seed);
  std::error_code ignored;
  for (int number = 2; std::filesystem::exists(std::filesystem::symlink_status(out, ignored));
       ++number) {
    out = fmt::format("stress-{}-{}.jsonl", seed, number);
  }
  return out;
}

// False after an error was printed.
bool take_times(const StressOptions& options, Setup& setup) {
  if (!options.clock_offset.empty()) {
    endpoint::Conditions conditions;
    if (const auto wrong =
            target::set_condition("clock-offset", options.clock_offset, conditions)) {
      print_error("--" + *wrong);
      return false;
    }
    setup.run.clock_offset = conditions.clock_offset;
  }
  if (options.on_the_way.empty()) return true;
  const auto time = scenario::parse_duration(options.on_the_way);
  if (!time || *time > kMaxOnTheWay) {
    print_error("--network-delay " + options.on_the_way +
                " must be a duration such as 200ms, at most 1h");
    return false;
  }
  setup.run.on_the_way = *time;
  return true;
}

// To "all" belongs what the endpoint declares to withstand, and can be done.
void add_kinds_of_broker(Setup& setup) {
  const endpoint::Durability declared = target::durability_of(setup.run.descriptor);
  const auto url = endpoint::parse_url(setup.run.descriptor.url);
  const bool ours = url && url->scheme == endpoint::Scheme::kEmbedded;
  for (const endpoint::NetworkFaultKind& kind : endpoint::kNetworkFaults) {
    const bool possible =
        ours ? !kind.of_cluster || url->query.contains("nodes")
             : setup.run.descriptor.hooks.contains(kind.name) &&
                   (kind.undo.empty() || setup.run.descriptor.hooks.contains(kind.undo));
    if (kind.of_broker && possible && keeps_through(declared, kind.fault)) {
      setup.disturb->kinds.push_back(kind.fault);
    }
  }
}

// The same of --disturb.
bool take_disturbances(const StressOptions& options, Setup& setup) {
  auto disturbances = read_disturbances(options, setup.run.seed);
  if (!disturbances) return false;
  if (kinds_of(*disturbances).empty()) return true;
  if (is_simulated(setup)) {
    print_error("--disturb needs connections: inproc: has none");
    return false;
  }
  setup.disturb = std::move(*disturbances);
  if (options.disturb == "all") add_kinds_of_broker(setup);
  return true;
}

// Says what --disturb cannot do to this endpoint.
void print_left_out(const Setup& setup) {
  const auto url = endpoint::parse_url(setup.run.descriptor.url);
  if (!setup.disturb || !url || url->scheme != endpoint::Scheme::kMqtts) return;
  std::string names;
  const std::vector<endpoint::NetworkFault> asked_for = kinds_of(*setup.disturb);
  for (const endpoint::NetworkFaultKind& kind : endpoint::kNetworkFaults) {
    const bool is_asked_for =
        std::find(asked_for.begin(), asked_for.end(), kind.fault) != asked_for.end();
    if (kind.needs_packets && is_asked_for) {
      names += (names.empty() ? "" : ", ") + std::string(kind.name);
    }
  }
  if (!names.empty()) text::print("not available with TLS: {}\n", names);
}

}  // namespace

run::ExitCode stress(const StressOptions& options) {
  const auto time = scenario::parse_duration(options.duration);
  if (!time || time->count() == 0 || *time > kMaxDuration) {
    print_error("--duration " + options.duration +
                " must be a duration such as 10s or 5m, at most 8784h");
    return run::ExitCode::kUsage;
  }
  if (!succeeded(report::check_writable(options.reports))) return run::ExitCode::kUsage;
  const stress::Mix* mix = stress::find_mix(options.workload);
  auto descriptor = read_descriptor({.url = options.endpoint, .descriptor = options.descriptor});
  if (!descriptor || mix == nullptr) return run::ExitCode::kUsage;
  if (!options.driver.empty()) descriptor->mqtt.driver = *endpoint::driver_named(options.driver);
  const std::uint64_t seed = options.seed.value_or(std::random_device()());
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = scenario::load_library({}, errors);
  Setup setup{.options = options, .run = {.descriptor = std::move(*descriptor)}};
  setup.run.size = {.mix = mix, .clients = options.clients};
  setup.run.seed = seed;
  setup.run.run_id = random_run_id();
  setup.run.duration = *time;
  if (options.profile == "documented") setup.run.dialect = codec::DialectId::kDocumented;
  setup.run.waived = scenario::unsettled(
      library.catalogue,
      scenario::bases_of(codec::profile_named(options.profile).value_or(codec::Profile::kAuto),
                         scenario::Edition::kAuto));
  setup.run.rate = options.rate;
  setup.run.timeout_scale = options.timeout_scale;
  setup.run.stop_at_violation = !options.keep_going;
  if (options.no_shrink) setup.run.shrink_time = milliseconds{0};
  setup.run.history = options.history.empty() ? unused_name(seed) : options.history;
  if (!take_times(options, setup) || !take_disturbances(options, setup)) {
    return run::ExitCode::kUsage;
  }
  stop_on_signals();
  const std::string started = utc_now();
  const auto url = endpoint::parse_url(setup.run.descriptor.url);
  if (!options.reports.piped()) {
    text::print("fencepost stress {}  endpoint {}  {}  seed {}  {}{}\n", report::suite_version(),
                url ? url->display() : "unknown", histories::describe(setup.run.size), seed,
                options.duration, is_simulated(setup) ? ", simulated" : "");
    print_left_out(setup);
    std::fflush(stdout);
  }
  auto run = run_with_progress(setup);
  if (!run) {
    print_error(run.error());
    if (options.history.empty()) {
      std::error_code ignored;
      std::filesystem::remove(setup.run.history, ignored);
    }
    return run.error().code;
  }
  run->mix = mix;
  run->clients = options.clients;
  run->seed = seed;
  run->started = started;
  run->again = again(setup);
  return report_run(setup, library, *run);
}

}  // namespace fencepost::cli
