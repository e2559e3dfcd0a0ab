// fencepost stress: concurrent clients, and whether their history is linearizable.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/output.h"
#include "base/text/printable.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "concurrency/histories/stress_report.h"
#include "concurrency/stress/load.h"
#include "concurrency/stress/simulation.h"
#include "concurrency/stress_phase.h"
#include "endpoint/url.h"
#include "report/console.h"
#include "report/progress_line.h"
#include "report/report.h"
#include "report/report_files.h"
#include "suite/run/time_limits.h"
#include "suite/scenario/binding.h"
#include "suite/scenario/library.h"
#include "suite/scenario/yaml_reader.h"
#include "suite/target/conditions_options.h"
#include "suite/target/target.h"

namespace fencepost::cli {
namespace {

using std::chrono::milliseconds;

// How long what was found is made smaller, and how long one run of that may last.
constexpr std::chrono::seconds kShrinkTime{20};
// So its connection has used up all packet ids within 10 s where a store answers 20,000 requests a
// second. More would leave the other clients too little: what only they show would be found less.
constexpr std::size_t kFirstWindow = 8;
// What is added to times may not overflow.
constexpr std::chrono::hours kMaxDuration{366 * 24};
constexpr std::chrono::hours kMaxOnTheWay{1};
constexpr milliseconds kShrinkRun{3'000};
constexpr std::chrono::seconds kDisturbedPatience{5};
constexpr std::size_t kShrinkTries = 5;
// A key that takes more is unknown: what comes after it has to be judged, too.
constexpr history::CheckLimits kLimits{.search = {.steps = 500'000}, .settle_from = 2'000};

// What all runs of one command have in common.
struct Setup {
  const StressOptions& options;
  target::Descriptor descriptor;
  const stress::Mix* mix;
  milliseconds duration;
  std::uint64_t seed;
  std::string history;                        // where it is written
  std::set<std::string, std::less<>> waived;  // rules that do not apply to the store
  milliseconds clock_offset{0};
  milliseconds on_the_way{0};
  std::optional<endpoint::NetworkFaultOptions> disturb{};

  [[nodiscard]] codec::DialectId dialect() const {
    return options.profile == "documented" ? codec::DialectId::kDocumented
                                           : codec::DialectId::kDeployed;
  }
  // A store that may be a deployed one has to keep the rule. (Req: VER-UPDATE-3)
  [[nodiscard]] bool versions_grow() const { return dialect() == codec::DialectId::kDeployed; }
};

bool is_simulated(const Setup& setup) {
  const auto url = endpoint::parse_url(setup.descriptor.url);
  return url && url->scheme == endpoint::Scheme::kInProcess;
}

std::string again(const Setup& setup, const stress::RunSize& size) {
  const StressOptions& options = setup.options;
  const auto url = endpoint::parse_url(setup.descriptor.url);
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
      size, setup.seed);
}

stress::LoadOptions load_options(const Setup& setup, const stress::RunSize& size,
                                 std::uint64_t seed, endpoint::NetworkFaults* network) {
  const StressOptions& options = setup.options;
  const std::string id = random_run_id();
  stress::LoadOptions out;
  out.traffic.script = {
      .mix = size.mix,
      .clients = size.clients,
      .seed = seed,
      .prefix = setup.descriptor.mqtt.capabilities.key_prefix + "/" + id + "/stress/"};
  out.traffic.client_prefix = "fencepost-stress-" + id + "-";
  out.traffic.patience = run::scaled(run::kReplyTimeout, options.timeout_scale);
  out.traffic.rate = options.rate;
  if (size.clients > 1 && size.mix->window == 1) out.traffic.first_window = kFirstWindow;
  out.duration = setup.duration;
  out.bounds.expiry_late =
      std::max(out.bounds.expiry_late, setup.descriptor.expiry_tolerance.value_or(milliseconds{0}));
  out.bounds.expiry_late += setup.on_the_way;
  out.bounds.notification_late += setup.on_the_way;
  out.bounds.versions_grow = setup.versions_grow();
  out.wall_offset_ms = setup.clock_offset.count();
  out.limits = kLimits;
  out.stop_at_violation = !options.keep_going;
  out.traffic.check_reply = concurrency::reply_check({.waived = setup.waived});
  out.acknowledged_within = std::chrono::duration_cast<milliseconds>(
      run::scaled(run::kStandstill, options.timeout_scale));
  out.network = network;
  out.durability = target::durability_of(setup.descriptor);
  if (network == nullptr) return out;
  out.traffic.ends_are_injected = true;
  // What a fault holds, it lets go or loses before a request is given up.
  out.traffic.patience = std::max<stress::Time>(out.traffic.patience, kDisturbedPatience);
  out.bounds.notification_late += endpoint::kLongestStall;
  // The more requests of one key may or may not have been carried out, the longer it takes to
  // decide.
  out.traffic.renew_every = std::chrono::seconds{1};
  return out;
}

// ---- Over connections

std::optional<stress::Shrunk> shrink_live(const Setup& setup, const target::Target& target,
                                          const stress::RunSize& first, const std::string& key) {
  const auto end = std::chrono::steady_clock::now() + kShrinkTime;
  const auto attempt = [&](const stress::RunSize& size,
                           std::size_t number) -> std::optional<std::size_t> {
    stress::LoadOptions options =
        load_options(setup, size, setup.seed + number, target.network.get());
    options.duration = std::min(setup.duration, kShrinkRun);
    options.stop_at_violation = true;
    const auto run = run_load(*target.endpoint, options, stop_flag());
    if (!run || run->judged.violations.empty()) return std::nullopt;
    return run->judged.operations;
  };
  const auto enough = [&] { return std::chrono::steady_clock::now() > end || stop_flag(); };
  return shrink(first, key, attempt, {.tries = kShrinkTries, .enough = enough});
}

Result<histories::StressRun, run::ExitCode> run_live(const Setup& setup,
                                                     const stress::RunSize& size) {
  auto target = target::open_target(setup.descriptor, setup.dialect(), setup.disturb);
  if (!target) {
    print_error(target.error().text);
    return fail(exit_code(target.error()));
  }
  // Not through a proxy: the end of a connection of this would count as one that nobody caused.
  if (!setup.disturb) {
    const auto there =
        run::preflight(*target->endpoint, random_run_id(), setup.options.timeout_scale);
    // A broker that breaks MQTT 5 is what the run finds, with its packets. (Req: ENV-MQTT5-3)
    const bool finds_it = !there && there.error().kind == run::PreflightErrorKind::kWrongBroker;
    if (!there && !finds_it && !stop_flag()) {
      print_error(NotReady{.reason = describe(there.error(), target->endpoint->url()),
                           .hint = there.error().hint});
      return fail(run::ExitCode::kUnreachable);
    }
  }
  stress::LoadOptions options = load_options(setup, size, setup.seed, target->network.get());
  auto writer = stress::HistoryWriter::open(setup.history, options.bounds);
  if (!writer) {
    print_error(writer.error());
    return fail(run::ExitCode::kUsage);
  }
  options.history = writer->get();
  report::ProgressLine line(report::console_options(stdout).live, setup.options.quiet);
  const auto result =
      run_load(*target->endpoint, options, stop_flag(), [&](const stress::LoadProgress& progress) {
        line.show(progress.elapsed, [&] {
          return histories::progress_text(
              static_cast<double>(progress.elapsed.count()) / 1e3, progress.counts,
              {.operations = progress.operations, .decided = progress.decided});
        });
      });
  line.clear();
  if (!result && stop_flag()) {
    print_error("interrupted before all clients were connected");
    return fail(run::ExitCode::kInterrupted);
  }
  if (!result) {
    print_error("cannot connect to " + target->endpoint->url() + ": " + result.error().text);
    return fail(run::ExitCode::kUnreachable);
  }
  histories::StressRun out = histories::run_of(*result);
  out.endpoint = target->endpoint->url();
  out.durability = options.durability;
  const bool shrinks = !out.judged.violations.empty() && !setup.options.no_shrink &&
                       out.lost.empty() && !stop_flag();
  if (shrinks) {
    out.shrunk = shrink_live(setup, *target, size, out.judged.violations.front().key);
  }
  return out;
}

// ---- Simulated

history::Bounds simulated_bounds(const Setup& setup) {
  history::Bounds out = stress::simulated_bounds();
  out.expiry_late += setup.descriptor.expiry_tolerance.value_or(milliseconds{0}) + setup.on_the_way;
  out.versions_grow = setup.versions_grow();
  return out;
}

stress::SimulationOptions simulation_options(const Setup& setup, const stress::RunSize& size,
                                             std::uint64_t seed) {
  return {.mix = size.mix,
          .seed = seed,
          .clients = size.clients,
          .requests = std::numeric_limits<std::uint64_t>::max(),
          .duration = setup.duration,
          .rate = setup.options.rate,
          .stop_at_violation = !setup.options.keep_going,
          .limits = kLimits,
          .bounds = simulated_bounds(setup),
          .check_reply = concurrency::reply_check({.waived = setup.waived})};
}

std::optional<stress::Shrunk> shrink_simulated(const Setup& setup, const stress::RunSize& first,
                                               const std::string& key) {
  const auto end = std::chrono::steady_clock::now() + kShrinkTime;
  const auto enough = [&] { return std::chrono::steady_clock::now() > end || stop_flag(); };
  const auto attempt = [&](const stress::RunSize& size,
                           std::size_t number) -> std::optional<std::size_t> {
    const auto store = target::open_store(setup.descriptor, setup.dialect());
    if (!store) return std::nullopt;
    stress::SimulationOptions options = simulation_options(setup, size, setup.seed + number);
    options.stop_at_violation = true;
    options.duration = std::min(setup.duration, kShrinkRun);
    const auto run =
        simulate(**store, options, nullptr, [&](const stress::SimulatedRun&) { return enough(); });
    if (run.judged.violations.empty()) return std::nullopt;
    return run.judged.operations;
  };
  return shrink(first, key, attempt, {.tries = kShrinkTries, .enough = enough});
}

// The requests that are enough, of a run of that size. Simulated runs of one seed are alike, so
// that single ones can be left out.
std::optional<stress::ShrunkPlan> shrink_requests(const Setup& setup,
                                                  const stress::Shrunk& smallest) {
  constexpr std::size_t kMaxTries = 5'000;
  const auto end = std::chrono::steady_clock::now() + kShrinkTime;
  const auto enough = [&] { return std::chrono::steady_clock::now() > end || stop_flag(); };
  const auto run_with = [&](std::uint64_t seed, const stress::Plan* plan) {
    stress::SimulationOptions options = simulation_options(setup, smallest.size, seed);
    options.stop_at_violation = true;
    options.keep_operations = plan == nullptr;
    options.plan = plan;
    options.duration = std::min(setup.duration, kShrinkRun);
    const auto store = target::open_store(setup.descriptor, setup.dialect());
    FENCEPOST_CHECK(store.has_value());
    return simulate(**store, options, nullptr,
                    [&](const stress::SimulatedRun&) { return enough(); });
  };
  for (std::uint64_t seed = setup.seed; seed <= setup.seed + kShrinkTries && !enough(); ++seed) {
    const stress::SimulatedRun run = run_with(seed, nullptr);
    if (run.judged.violations.empty()) continue;
    stress::Plan plan;
    for (const history::Operation& each : run.operations) {
      if (each.key != run.judged.violations.front().key) continue;
      plan.push_back(each);
      plan.back().timestamp.reset();  // each run has its own
    }
    std::stable_sort(plan.begin(), plan.end(),
                     [](const auto& a, const auto& b) { return a.called < b.called; });
    const auto fails = [&](const stress::Plan& fewer) {
      return !run_with(seed, &fewer).judged.violations.empty();
    };
    if (fails(plan)) return stress::shrink_plan(std::move(plan), fails, kMaxTries, enough);
  }
  return std::nullopt;
}

Result<histories::StressRun, run::ExitCode> run_simulated(const Setup& setup,
                                                          const stress::RunSize& size) {
  const auto store = target::open_store(setup.descriptor, setup.dialect());
  if (!store) {
    print_error(store.error().text);
    return fail(run::ExitCode::kUsage);
  }
  auto writer = stress::HistoryWriter::open(setup.history, simulated_bounds(setup));
  if (!writer) {
    print_error(writer.error());
    return fail(run::ExitCode::kUsage);
  }
  report::ProgressLine line(report::console_options(stdout).live, setup.options.quiet);
  const auto begin = std::chrono::steady_clock::now();
  const auto stopped = [&](const stress::SimulatedRun& run) {
    const auto elapsed =
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
    line.show(elapsed, [&] {
      return histories::progress_text(std::chrono::duration<double>(run.duration).count(),
                                      run.counts, run.judged);
    });
    return stop_flag() || !(*writer)->error().empty();
  };
  const stress::SimulatedRun result =
      simulate(**store, simulation_options(setup, size, setup.seed), writer->get(), stopped);
  line.clear();
  const auto url = endpoint::parse_url(setup.descriptor.url);
  histories::StressRun out = histories::run_of(result);
  out.endpoint = url ? url->display() : "unknown";
  out.error = (*writer)->error();
  out.interrupted = stop_flag();
  const bool shrinks = !out.judged.violations.empty() && !setup.options.no_shrink && !stop_flag();
  if (shrinks) out.shrunk = shrink_simulated(setup, size, out.judged.violations.front().key);
  if (out.shrunk && out.shrunk->failed > 0) out.enough = shrink_requests(setup, *out.shrunk);
  return out;
}

// ---- Both

run::ExitCode report_run(const Setup& setup, const scenario::Library& library,
                         histories::StressRun& run) {
  const bool kept = !setup.options.history.empty() || histories::has_findings(run.judged);
  if (kept) run.history = setup.history;
  const StressOptions& options = setup.options;
  if (!options.reports.piped()) text::print("{}", text::Lines(stress_text(run, library.catalogue)));
  histories::StressRun shown = run;
  shown.history = setup.history;  // the page is made of it in any case
  const auto written = write_stress(options.reports.of("html").empty() ? run : shown,
                                    options.reports, library.catalogue);
  if (!kept) {
    std::error_code ignored;
    std::filesystem::remove(setup.history, ignored);
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
    setup.clock_offset = conditions.clock_offset;
  }
  if (options.on_the_way.empty()) return true;
  const auto time = scenario::parse_duration(options.on_the_way);
  if (!time || *time > kMaxOnTheWay) {
    print_error("--network-delay " + options.on_the_way +
                " must be a duration such as 200ms, at most 1h");
    return false;
  }
  setup.on_the_way = *time;
  return true;
}

// To "all" belongs what the endpoint declares to withstand, and can be done.
void add_kinds_of_broker(Setup& setup) {
  const endpoint::Durability declared = target::durability_of(setup.descriptor);
  const auto url = endpoint::parse_url(setup.descriptor.url);
  const bool ours = url && url->scheme == endpoint::Scheme::kEmbedded;
  for (const endpoint::NetworkFaultKind& kind : endpoint::kNetworkFaults) {
    const bool possible =
        ours ? !kind.of_cluster || url->query.contains("nodes")
             : setup.descriptor.hooks.contains(kind.name) &&
                   (kind.undo.empty() || setup.descriptor.hooks.contains(kind.undo));
    if (kind.of_broker && possible && keeps_through(declared, kind.fault)) {
      setup.disturb->kinds.push_back(kind.fault);
    }
  }
}

// The same of --disturb.
bool take_disturbances(const StressOptions& options, Setup& setup) {
  auto disturbances = read_disturbances(options, setup.seed);
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
  const auto url = endpoint::parse_url(setup.descriptor.url);
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
  Setup setup{
      .options = options,
      .descriptor = std::move(*descriptor),
      .mix = mix,
      .duration = *time,
      .seed = seed,
      .history = options.history.empty() ? unused_name(seed) : options.history,
      .waived = scenario::unsettled(
          library.catalogue,
          scenario::bases_of(codec::profile_named(options.profile).value_or(codec::Profile::kAuto),
                             scenario::Edition::kAuto))};
  if (!take_times(options, setup) || !take_disturbances(options, setup)) {
    return run::ExitCode::kUsage;
  }
  stop_on_signals();
  const std::string started = utc_now();
  const stress::RunSize size{.mix = mix, .clients = options.clients};
  const auto url = endpoint::parse_url(setup.descriptor.url);
  if (!options.reports.piped()) {
    text::print("fencepost stress {}  endpoint {}  {}  seed {}  {}{}\n", report::suite_version(),
                url ? url->display() : "unknown", histories::describe(size), seed, options.duration,
                is_simulated(setup) ? ", simulated" : "");
    print_left_out(setup);
    std::fflush(stdout);
  }
  auto run = is_simulated(setup) ? run_simulated(setup, size) : run_live(setup, size);
  if (!run) {
    if (options.history.empty()) {
      std::error_code ignored;
      std::filesystem::remove(setup.history, ignored);
    }
    return run.error();
  }
  run->mix = mix;
  run->clients = options.clients;
  run->seed = seed;
  run->started = started;
  run->again = again(setup, size);
  return report_run(setup, library, *run);
}

}  // namespace fencepost::cli
