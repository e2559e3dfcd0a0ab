#include "cli/certify_stress.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/command_support.h"
#include "conformance/histories/checked_history.h"
#include "conformance/run/time_limits.h"
#include "conformance/scenario/binding.h"
#include "conformance/scenario/yaml_reader.h"
#include "conformance/target/target.h"
#include "conformance/text/printable.h"
#include "endpoint/url.h"
#include "stress/load.h"
#include "stress/simulation.h"

namespace fencepost::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortStress{2'000};
constexpr std::uint32_t kStressClients = 16;
// In simulated time, which costs nothing but the processor's: of each second.
constexpr std::uint64_t kSimulatedRequestsOfASecond = 10'000;
// A certificate does not wait for what is hard to decide: such a key is unknown.
constexpr history::CheckLimits kStressLimits{.search = {.steps = 200'000}, .settle_from = 2'000};
// Keys and bytes that the workload of everything takes.
constexpr std::size_t kKeysOfEverything = 5'000;
constexpr std::uint32_t kBytesOfEverything = 8'192;

bool is_whole_run(const CertifyOptions& options) {
  const run::Selection& selection = options.selection;
  return selection.run.empty() && selection.tags.empty() && selection.requirements.empty() &&
         selection.skip.empty() && options.last_failed.empty() && options.scenarios.empty();
}

// One key does where many, or large values, have no room.
const stress::Mix& workload_for(const endpoint::Capabilities& offered) {
  const bool few_keys =
      offered.quota && !offered.has_isolated_broker && *offered.quota < kKeysOfEverything;
  const bool small = offered.max_packet_size && *offered.max_packet_size < kBytesOfEverything;
  return *stress::find_mix(few_keys || small ? "hot-key" : "everything");
}

// What is on the way for long comes late.
milliseconds on_the_way(const CertifyStress& stress) {
  return 4 * std::chrono::ceil<milliseconds>(stress.preflight.round_trip_p99);
}

// The run of `stress` that does the same.
std::string stress_command(const CertifyStress& stress, const stress::Mix& mix, bool simulated) {
  const CertifyOptions& options = stress.options;
  std::string out = text::shell_word(options.program) + " stress";
  if (!options.endpoint.empty()) {
    out += " --endpoint " + text::shell_word(endpoint::redacted(options.endpoint));
  }
  if (!options.descriptor.empty()) out += " --descriptor " + text::shell_word(options.descriptor);
  if (!options.driver.empty()) out += " --driver " + options.driver;
  // What was in force, whoever said so.
  const run::RunSettings& settings = stress.suite.settings;
  if (settings.profile != codec::Profile::kAuto) {
    out += fmt::format(" --profile {}", name(settings.profile));
  }
  if (!simulated) {
    if (settings.clock_offset_ms != 0) {
      out += fmt::format(" --clock-offset {}ms", settings.clock_offset_ms);
    }
    if (on_the_way(stress) > milliseconds{0}) {
      out += fmt::format(" --on-the-way {}ms", on_the_way(stress).count());
    }
    if (settings.timeout_scale != 1.0) {
      out += fmt::format(" --timeout-scale {}", settings.timeout_scale);
    }
  }
  return out + fmt::format(" --workload {} --clients {} --seed {} --duration {}ms", mix.name,
                           kStressClients, stress.suite.settings.seed, stress.time.count());
}

void take_counts(const stress::TrafficCounts& counts, const stress::Judged& judged,
                 run::StressResult& out) {
  out.requests = counts.requests;
  out.replies = counts.replies;
  out.refused = counts.refused;
  out.notifications = counts.notifications;
  out.keys_ok = judged.keys_ok;
  out.keys_unknown = judged.unknown_keys;
}

run::StressFinding finding_of(const history::KeyVerdict& key,
                              const std::vector<history::Operation>& operations) {
  run::StressFinding out{.requirement = key.verdict.requirement,
                         .key = escape(key.key, key.key.size()),
                         .text = key.verdict.text};
  std::vector<const history::Operation*> shown;
  for (const history::Index number : key.verdict.operations) {
    if (number < operations.size()) shown.push_back(&operations[number]);
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const auto* a, const auto* b) { return a->called < b->called; });
  for (const history::Operation* operation : shown) {
    const auto since_first = [&](history::Time time) {
      return std::chrono::duration_cast<std::chrono::microseconds>(time - shown.front()->called);
    };
    run::StressOperation added{.client = operation->client,
                               .called = since_first(operation->called),
                               .request = histories::request_text(*operation),
                               .reply = histories::reply_text(*operation)};
    if (operation->returned != history::kNever) added.returned = since_first(operation->returned);
    out.operations.push_back(std::move(added));
  }
  return out;
}

void take_findings(const stress::Judged& judged, const std::vector<history::Operation>& operations,
                   run::StressResult& out) {
  for (const history::KeyVerdict& key : judged.violations) {
    out.findings.push_back(finding_of(key, operations));
  }
}

void stress_simulated(const CertifyStress& stress, const stress::Mix& mix, run::StressResult& out) {
  const bool documented = stress.suite.settings.profile == codec::Profile::kDocumented;
  const auto store = target::open_store(
      stress.descriptor, documented ? codec::DialectId::kDocumented : codec::DialectId::kDeployed);
  if (!store) {
    out.trouble = store.error().text;
    return;
  }
  history::Bounds bounds = stress::simulated_bounds();
  bounds.expiry_late += stress.suite.settings.expiry_tolerance;
  const stress::SimulatedRun run =
      stress::simulate(**store,
                       {.mix = &mix,
                        .seed = out.seed,
                        .clients = out.clients,
                        .requests = kSimulatedRequestsOfASecond *
                                    static_cast<std::uint64_t>(stress.time.count()) / 1'000,
                        .duration = stress.time,
                        .limits = kStressLimits,
                        .bounds = bounds},
                       nullptr, [](const stress::SimulatedRun&) { return stop_flag().load(); });
  take_counts(run.counts, run.judged, out);
  take_findings(run.judged, run.operations, out);
  out.simulated = true;
  out.duration = std::chrono::duration_cast<std::chrono::microseconds>(run.duration);
}

void stress_live(const CertifyStress& stress, const stress::Mix& mix, endpoint::Endpoint& endpoint,
                 run::StressResult& out) {
  const run::RunSettings& settings = stress.suite.settings;
  stress::LoadOptions options;
  options.traffic.script = {.mix = &mix,
                            .clients = out.clients,
                            .seed = out.seed,
                            .prefix = settings.key_prefix + "/" + settings.run_id + "/stress/"};
  options.traffic.client_prefix = "fencepost-stress-" + settings.run_id + "-";
  options.traffic.patience = run::scaled(run::kReplyTimeout, settings.timeout_scale);
  options.duration = stress.time;
  options.bounds.expiry_late =
      std::max(options.bounds.expiry_late, settings.expiry_tolerance) + on_the_way(stress);
  options.bounds.notification_late += on_the_way(stress);
  options.limits = kStressLimits;
  options.keep_operations = true;
  options.wall_offset_ms = settings.clock_offset_ms;
  const auto run = run_load(endpoint, options, stop_flag());
  if (!run) {
    out.trouble = "cannot connect: " + run.error().text;
    return;
  }
  take_counts(run->progress.counts, run->judged, out);
  take_findings(run->judged, run->operations, out);
  out.duration = std::chrono::duration_cast<std::chrono::microseconds>(run->asking);
  if (!run->lost.empty()) out.trouble = "all connections ended: " + run->lost;
}

}  // namespace

std::optional<milliseconds> time_of_stress(const CertifyOptions& options) {
  const std::string& wanted = options.stress;
  if (wanted == "none" || options.selection.shard > 1) return milliseconds{0};
  if (wanted.empty()) return is_whole_run(options) ? kShortStress : milliseconds{0};
  if (wanted == "short") return kShortStress;
  const auto time = scenario::parse_duration(wanted);
  if (time && time->count() > 0) return *time;
  complain("--stress " + wanted + " must be none, short or a duration such as 10s");
  return std::nullopt;
}

run::StressResult stress_at_once(const CertifyStress& stress, endpoint::Endpoint& endpoint) {
  const endpoint::Capabilities& offered =
      stress.suite.offered ? *stress.suite.offered : endpoint.capabilities();
  const stress::Mix& mix = workload_for(offered);
  const bool simulated = !endpoint.capabilities().transport;
  run::StressResult out{.workload = std::string(mix.name),
                        .clients = kStressClients,
                        .seed = stress.suite.settings.seed,
                        .command = stress_command(stress, mix, simulated)};
  if (simulated) {
    stress_simulated(stress, mix, out);
  } else {
    stress_live(stress, mix, endpoint, out);
  }
  if (out.requests == 0 && out.trouble.empty()) out.trouble = "the run was ended";
  return out;
}

void settle(run::StressResult& stress, const scenario::Catalogue& catalogue, bool strict,
            const run::SuiteResult& result) {
  for (run::StressFinding& found : stress.findings) {
    const scenario::Requirement* rule = catalogue.find(found.requirement);
    if (rule == nullptr) continue;
    const bool owed = rule->level == scenario::Level::kMust ||
                      (strict && rule->level == scenario::Level::kShould);
    found.fails = owed && !rule->open && binds(*rule, result.basis);
    if (found.fails && result.summary.expected_failures > 0) {
      found.fails = false;
      found.text += " (a warning: the baseline knows failures of this store)";
    }
  }
}

}  // namespace fencepost::cli
