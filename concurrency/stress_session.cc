#include "concurrency/stress_session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "concurrency/stress/history_writer.h"
#include "concurrency/stress_phase.h"
#include "endpoint/url.h"
#include "suite/run/time_limits.h"

namespace fencepost::concurrency {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// So its connection has used up all packet ids within 10 s where a store answers 20,000 requests a
// second. More would leave the other clients too little: what only they show would be found less.
constexpr std::size_t kFirstWindow = 8;
constexpr milliseconds kShrinkRun{3'000};  // one smaller run
constexpr std::size_t kShrinkTries = 5;
constexpr std::size_t kMaxPlans = 5'000;
constexpr std::chrono::seconds kDisturbedPatience{5};
// A key that takes more is unknown: what comes after it has to be judged, too.
constexpr history::CheckLimits kLimits{.search = {.steps = 500'000}, .settle_from = 2'000};

// A store that may be a deployed one has to keep the rule. (Req: VER-UPDATE-3)
bool versions_grow(const StressSettings& settings) {
  return settings.dialect == codec::DialectId::kDeployed;
}

// The same with another size and seed, for as long as smaller runs last.
StressSettings smaller(const StressSettings& settings, const stress::RunSize& size,
                       std::size_t number) {
  StressSettings out = settings;
  out.size = size;
  out.seed = settings.seed + number;
  out.run_id = fmt::format("{}-{}", settings.run_id, number);
  out.duration = std::min(settings.duration, kShrinkRun);
  out.stop_at_violation = true;
  return out;
}

// Is the time for smaller runs over?
std::function<bool()> enough_of(const StressSettings& settings, const std::atomic<bool>& stop) {
  const auto end = steady_clock::now() + settings.shrink_time;
  return [end, &stop] { return steady_clock::now() > end || stop; };
}

bool shrinks(const StressSettings& settings, const histories::StressRun& run,
             const std::atomic<bool>& stop) {
  return !run.judged.violations.empty() && settings.shrink_time.count() > 0 && run.lost.empty() &&
         !stop;
}

// What a smaller run came to, as shrink() takes it.
std::optional<std::size_t> attempt_of(const stress::Judged& judged) {
  if (judged.violations.empty()) return std::nullopt;
  return judged.operations;
}

// ---- Over connections

stress::Shrunk shrink_live(const StressSettings& settings, const target::Target& target,
                           const std::string& key, const std::atomic<bool>& stop) {
  const auto attempt = [&](const stress::RunSize& size,
                           std::size_t number) -> std::optional<std::size_t> {
    const auto run =
        run_load(*target.endpoint,
                 load_options(smaller(settings, size, number), target.network.get()), stop);
    return run ? attempt_of(run->judged) : std::nullopt;
  };
  return shrink(settings.size, key, attempt,
                {.tries = kShrinkTries, .enough = enough_of(settings, stop)});
}

// ---- Simulated

history::Bounds simulated_bounds(const StressSettings& settings) {
  history::Bounds out = stress::simulated_bounds();
  out.expiry_late +=
      settings.descriptor.expiry_tolerance.value_or(milliseconds{0}) + settings.on_the_way;
  out.versions_grow = versions_grow(settings);
  return out;
}

stress::SimulationOptions simulation_options(const StressSettings& settings) {
  return {.mix = settings.size.mix,
          .seed = settings.seed,
          .clients = settings.size.clients,
          .requests = std::numeric_limits<std::uint64_t>::max(),
          .duration = settings.duration,
          .rate = settings.rate,
          .stop_at_violation = settings.stop_at_violation,
          .limits = kLimits,
          .bounds = simulated_bounds(settings),
          .check_reply = reply_check({.waived = settings.waived})};
}

// A run of its own store, until `enough`.
stress::SimulatedRun simulate_smaller(const StressSettings& settings,
                                      const stress::SimulationOptions& options,
                                      const std::function<bool()>& enough) {
  const auto store = target::open_store(settings.descriptor, settings.dialect);
  FENCEPOST_CHECK(store.has_value());  // as it was for the first run
  return simulate(**store, options, nullptr, [&](const stress::SimulatedRun&) { return enough(); });
}

stress::Shrunk shrink_simulated(const StressSettings& settings, const std::string& key,
                                const std::function<bool()>& enough) {
  const auto attempt = [&](const stress::RunSize& size, std::size_t number) {
    const StressSettings fewer = smaller(settings, size, number);
    return attempt_of(simulate_smaller(fewer, simulation_options(fewer), enough).judged);
  };
  return shrink(settings.size, key, attempt, {.tries = kShrinkTries, .enough = enough});
}

// The requests that are enough, of a run of that size. Simulated runs of one seed are alike, so
// that single ones can be left out.
std::optional<stress::ShrunkPlan> shrink_requests(const StressSettings& settings,
                                                  const stress::RunSize& size,
                                                  const std::function<bool()>& enough) {
  const auto run_with = [&](std::size_t number, const stress::Plan* plan) {
    const StressSettings fewer = smaller(settings, size, number);
    stress::SimulationOptions options = simulation_options(fewer);
    options.keep_operations = plan == nullptr;
    options.plan = plan;
    return simulate_smaller(fewer, options, enough);
  };
  for (std::size_t number = 0; number <= kShrinkTries && !enough(); ++number) {
    const stress::SimulatedRun run = run_with(number, nullptr);
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
      return !run_with(number, &fewer).judged.violations.empty();
    };
    if (fails(plan)) return stress::shrink_plan(std::move(plan), fails, kMaxPlans, enough);
  }
  return std::nullopt;
}

}  // namespace

stress::LoadOptions load_options(const StressSettings& settings, endpoint::NetworkFaults* faults) {
  stress::LoadOptions out;
  out.traffic.script = {.mix = settings.size.mix,
                        .clients = settings.size.clients,
                        .seed = settings.seed,
                        .prefix = settings.descriptor.mqtt.capabilities.key_prefix + "/" +
                                  settings.run_id + "/stress/"};
  out.traffic.client_prefix = "fencepost-stress-" + settings.run_id + "-";
  out.traffic.patience = run::scaled(run::kReplyTimeout, settings.timeout_scale);
  out.traffic.rate = settings.rate;
  if (settings.size.clients > 1 && settings.size.mix->window == 1) {
    out.traffic.first_window = kFirstWindow;
  }
  out.duration = settings.duration;
  out.bounds.expiry_late = std::max(out.bounds.expiry_late,
                                    settings.descriptor.expiry_tolerance.value_or(milliseconds{0}));
  out.bounds.expiry_late += settings.on_the_way;
  out.bounds.notification_late += settings.on_the_way;
  out.bounds.versions_grow = versions_grow(settings);
  out.wall_offset_ms = settings.clock_offset.count();
  out.limits = kLimits;
  out.stop_at_violation = settings.stop_at_violation;
  out.traffic.check_reply = reply_check({.waived = settings.waived});
  out.acknowledged_within = std::chrono::duration_cast<milliseconds>(
      run::scaled(run::kStandstill, settings.timeout_scale));
  out.network = faults;
  out.durability = target::durability_of(settings.descriptor);
  if (faults == nullptr) return out;
  out.traffic.ends_are_injected = true;
  // What a fault holds, it lets go or loses before a request is given up.
  out.traffic.patience = std::max<stress::Time>(out.traffic.patience, kDisturbedPatience);
  out.bounds.notification_late += endpoint::kLongestStall;
  // The more requests of one key may or may not have been carried out, the longer it takes to
  // decide.
  out.traffic.renew_every = std::chrono::seconds{1};
  return out;
}

Result<histories::StressRun, StressError> run_over_connections(const StressSettings& settings,
                                                               const target::Target& target,
                                                               const std::atomic<bool>& stop,
                                                               const StressProgress& progress) {
  stress::LoadOptions options = load_options(settings, target.network.get());
  auto writer = stress::HistoryWriter::open(settings.history, options.bounds);
  if (!writer) return fail(StressError{writer.error(), run::ExitCode::kUsage});
  options.history = writer->get();
  const auto said = [&](const stress::LoadProgress& now) {
    if (!progress) return;
    progress(now.elapsed, static_cast<double>(now.elapsed.count()) / 1e3, now.counts,
             {.operations = now.operations, .decided = now.decided});
  };
  const auto result = run_load(*target.endpoint, options, stop, said);
  if (!result && stop) {
    return fail(
        StressError{"interrupted before all clients were connected", run::ExitCode::kInterrupted});
  }
  if (!result) {
    return fail(
        StressError{"cannot connect to " + target.endpoint->url() + ": " + result.error().text});
  }
  histories::StressRun out = histories::run_of(*result);
  out.endpoint = target.endpoint->url();
  out.durability = options.durability;
  if (shrinks(settings, out, stop)) {
    out.shrunk = shrink_live(settings, target, out.judged.violations.front().key, stop);
  }
  return out;
}

Result<histories::StressRun, StressError> run_simulated(const StressSettings& settings,
                                                        const std::atomic<bool>& stop,
                                                        const StressProgress& progress) {
  const auto store = target::open_store(settings.descriptor, settings.dialect);
  if (!store) return fail(StressError{store.error().text, run::ExitCode::kUsage});
  auto writer = stress::HistoryWriter::open(settings.history, simulated_bounds(settings));
  if (!writer) return fail(StressError{writer.error(), run::ExitCode::kUsage});
  const auto begin = steady_clock::now();
  const auto stopped = [&](const stress::SimulatedRun& run) {
    if (progress) {
      progress(std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin),
               std::chrono::duration<double>(run.duration).count(), run.counts, run.judged);
    }
    return stop || !(*writer)->error().empty();
  };
  const stress::SimulatedRun result =
      simulate(**store, simulation_options(settings), writer->get(), stopped);
  const auto url = endpoint::parse_url(settings.descriptor.url);
  histories::StressRun out = histories::run_of(result);
  out.endpoint = url ? url->display() : "unknown";
  out.error = (*writer)->error();
  out.interrupted = stop;
  if (!shrinks(settings, out, stop)) return out;
  out.shrunk =
      shrink_simulated(settings, out.judged.violations.front().key, enough_of(settings, stop));
  if (out.shrunk->failed > 0) {
    out.enough = shrink_requests(settings, out.shrunk->size, enough_of(settings, stop));
  }
  return out;
}

}  // namespace fencepost::concurrency
