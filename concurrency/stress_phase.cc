#include "concurrency/stress_phase.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/text/text_wrap.h"
#include "concurrency/histories/checked_history.h"
#include "concurrency/histories/stress_report.h"
#include "concurrency/stress/history_writer.h"
#include "concurrency/stress/simulation.h"
#include "suite/judge/mismatch.h"
#include "suite/judge/oracle_response.h"
#include "suite/run/time_limits.h"
#include "suite/scenario/binding.h"
#include "suite/scenario/yaml_reader.h"
#include "suite/target/target.h"

namespace fencepost::concurrency {
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
// How long the check takes whether the endpoint is still there.
constexpr std::chrono::seconds kPatience{5};

// One key is enough where many keys, or large values, have no room.
const stress::Mix& workload_for(const endpoint::Capabilities& offered) {
  const bool few_keys =
      offered.quota && !offered.has_isolated_broker && *offered.quota < kKeysOfEverything;
  const bool small = offered.max_packet_size && *offered.max_packet_size < kBytesOfEverything;
  return *stress::find_mix(few_keys || small ? "hot-key" : "everything");
}

// How late a store may seem because of the network.
milliseconds path_allowance(const StressPhase& phase) {
  return 4 * std::chrono::ceil<milliseconds>(phase.round_trip_p99);
}

// The command that repeats the run, with the settings in force, wherever they came from.
std::string command_of(const StressPhase& phase, const stress::Mix& mix, bool simulated) {
  std::string out = phase.command;
  const run::RunSettings& settings = phase.suite.settings;
  if (settings.profile != codec::Profile::kAuto) {
    out += fmt::format(" --profile {}", name(settings.profile));
  }
  if (!simulated) {
    if (settings.clock_offset_ms != 0) {
      out += fmt::format(" --clock-offset {}ms", settings.clock_offset_ms);
    }
    if (path_allowance(phase) > milliseconds{0}) {
      out += fmt::format(" --network-delay {}ms", path_allowance(phase).count());
    }
    if (settings.timeout_scale != 1.0) {
      out += fmt::format(" --timeout-scale {}", settings.timeout_scale);
    }
  }
  return out + fmt::format(" --workload {} --clients {} --seed {} --duration {}ms", mix.name,
                           kStressClients, settings.seed, phase.duration.count());
}

run::PhaseFinding finding_of(const history::KeyVerdict& key) {
  run::PhaseFinding out{.requirement = key.verdict.requirement,
                        .key = escape(key.key, key.key.size()),
                        .text = key.verdict.text};
  std::vector<history::Operation> shown = key.verdict.shown;
  std::stable_sort(shown.begin(), shown.end(),
                   [](const auto& a, const auto& b) { return a.called < b.called; });
  for (const history::Operation& operation : shown) {
    const auto since_first = [&](history::Time time) {
      return std::chrono::duration_cast<std::chrono::microseconds>(time - shown.front().called);
    };
    run::PhaseOperation added{.client = operation.client,
                              .called = since_first(operation.called),
                              .request = histories::request_text(operation),
                              .reply = histories::reply_text(operation)};
    if (operation.returned != history::kNever) added.returned = since_first(operation.returned);
    out.operations.push_back(std::move(added));
  }
  return out;
}

// Adds a reason why the result is undecided.
void doubt(run::StressResult& result, const std::string& why) {
  result.undecided += (result.undecided.empty() ? "" : "; ") + why;
}

// The result of both kinds of runs.
void take(const histories::StressRun& run, run::StressResult& out) {
  out.simulated = run.simulated;
  out.duration =
      std::chrono::round<std::chrono::microseconds>(std::chrono::duration<double>(run.seconds));
  out.requests = run.counts.requests;
  out.replies = run.counts.replies;
  out.refused = run.counts.refused;
  out.notifications = run.counts.notifications;
  out.keys_ok = run.judged.keys_ok;
  out.keys_unknown = run.judged.unknown_keys;
  std::vector<history::KeyVerdict> violations = run.judged.violations;
  for (const stress::DeliveryFinding& each : run.deliveries) violations.push_back(verdict_of(each));
  out.findings = findings_of(violations);
  if (const std::string doubts = describe(run.doubts); !doubts.empty()) {
    out.undecided = doubts;
  }
  if (!run.lost.empty()) out.error = "all connections ended: " + run.lost;
}

// Null when the history is not kept.
std::unique_ptr<stress::HistoryWriter> writer_for(const StressPhase& phase,
                                                  const history::Bounds& bounds) {
  if (!phase.keep) return nullptr;
  auto out = stress::HistoryWriter::open("", bounds, phase.keep);
  FENCEPOST_CHECK(out.has_value());  // there is no file that could not be written
  return std::move(*out);
}

void run_simulated(const StressPhase& phase, const stress::Mix& mix, const std::atomic<bool>& stop,
                   run::StressResult& out) {
  const bool documented = phase.suite.settings.profile == codec::Profile::kDocumented;
  const auto store = target::open_store(
      phase.descriptor, documented ? codec::DialectId::kDocumented : codec::DialectId::kDeployed);
  if (!store) {
    out.error = store.error().text;
    return;
  }
  history::Bounds bounds = stress::simulated_bounds();
  bounds.expiry_late += phase.suite.settings.expiry_tolerance;
  bounds.versions_grow = phase.versions_grow;
  const auto writer = writer_for(phase, bounds);
  const stress::SimulatedRun run =
      stress::simulate(**store,
                       {.mix = &mix,
                        .seed = out.seed,
                        .clients = out.clients,
                        .requests = kSimulatedRequestsOfASecond *
                                    static_cast<std::uint64_t>(phase.duration.count()) / 1'000,
                        .duration = phase.duration,
                        .stop_at_violation = phase.stop_at_violation,
                        .limits = kStressLimits,
                        .bounds = bounds,
                        .check_reply = reply_check({.waived = phase.waived})},
                       writer.get(), [&](const stress::SimulatedRun&) { return stop.load(); });
  take(histories::run_of(run), out);
}

void run_live(const StressPhase& phase, const stress::Mix& mix, endpoint::Endpoint& endpoint,
              const std::atomic<bool>& stop, run::StressResult& out) {
  stress::LoadOptions options = load_options(phase, mix);
  const auto writer = writer_for(phase, options.bounds);
  options.history = writer.get();
  const auto run = run_load(endpoint, options, stop);
  if (!run) {
    out.error = "cannot connect: " + run.error().text;
    return;
  }
  take(histories::run_of(*run), out);
}

}  // namespace

Result<milliseconds, std::string> stress_duration(const std::string& option, bool all_cases,
                                                  std::size_t shard) {
  constexpr milliseconds kNone{0};
  if (option == "none" || shard > 1) return kNone;
  if (option.empty()) return all_cases ? kShortStress : kNone;
  if (option == "short") return kShortStress;
  const auto time = scenario::parse_duration(option);
  if (time && *time > kNone) return *time;
  return fail("--stress " + option + ": expected none, short or a duration such as 10s");
}

stress::LoadOptions load_options(const StressPhase& phase, const stress::Mix& workload) {
  const run::RunSettings& settings = phase.suite.settings;
  stress::LoadOptions out;
  out.traffic.script = {.mix = &workload,
                        .clients = kStressClients,
                        .seed = settings.seed,
                        .prefix = settings.key_prefix + "/" + settings.run_id + "/stress/"};
  out.traffic.client_prefix = "fencepost-stress-" + settings.run_id + "-";
  out.traffic.patience = run::scaled(run::kReplyTimeout, settings.timeout_scale);
  out.traffic.check_reply = reply_check({.waived = phase.waived});
  out.acknowledged_within = std::chrono::duration_cast<milliseconds>(
      run::scaled(run::kStandstill, settings.timeout_scale));
  out.duration = phase.duration;
  out.bounds.expiry_late =
      std::max(out.bounds.expiry_late, settings.expiry_tolerance) + path_allowance(phase);
  out.bounds.notification_late += path_allowance(phase);
  out.bounds.versions_grow = phase.versions_grow;
  out.limits = kStressLimits;
  out.stop_at_violation = phase.stop_at_violation;
  out.wall_offset_ms = settings.clock_offset_ms;
  return out;
}

decltype(stress::TrafficOptions::check_reply) reply_check(judge::OracleBasis basis) {
  return [basis = std::move(basis)](
             const codec::Message& request,
             const codec::Message& reply) -> std::optional<stress::ReplyProblem> {
    judge::Exchange exchange(request, {}, 0);
    exchange.reply.emplace(reply);
    judge::Answered answered;
    if (const auto wrong = judge::check_envelope(exchange, basis, answered)) {
      return stress::ReplyProblem{wrong->requirement, wrong->because};
    }
    // A response to a SET or to a GET that found the key has a version. Req: VER-SET-1, VER-GET-1
    const bool owed =
        (exchange.verb == codec::Verb::kSet && answered.reply.kind == codec::ReplyKind::kOk) ||
        answered.reply.kind == codec::ReplyKind::kValue;
    if (!owed || answered.has_version || !exchange.verb) return std::nullopt;
    const std::string_view rule = judge::rule_of({.kind = judge::Mismatch::kVersionMissing,
                                                  .verb = *exchange.verb,
                                                  .reply = answered.reply.kind});
    if (rule.empty() || !basis.binds(rule)) return std::nullopt;
    return stress::ReplyProblem{std::string(rule), "the response has no version"};
  };
}

// A run that continues finds the same violation again and again: one for each rule is enough.
std::vector<run::PhaseFinding> findings_of(const std::vector<history::KeyVerdict>& violations) {
  std::vector<run::PhaseFinding> out;
  std::set<std::string> seen;
  for (const history::KeyVerdict& key : violations) {
    if (seen.insert(key.verdict.requirement).second) out.push_back(finding_of(key));
  }
  return out;
}

run::StressResult run_stress_phase(const StressPhase& phase, endpoint::Endpoint& endpoint,
                                   const std::atomic<bool>& stop) {
  const stress::Mix& mix =
      workload_for(phase.suite.offered ? *phase.suite.offered : endpoint.capabilities());
  const bool simulated = !endpoint.capabilities().transport;
  run::StressResult out{.workload = std::string(mix.name),
                        .clients = kStressClients,
                        .seed = phase.suite.settings.seed,
                        .command = command_of(phase, mix, simulated)};
  if (simulated) {
    run_simulated(phase, mix, stop, out);
  } else {
    run_live(phase, mix, endpoint, stop, out);
  }
  if (out.requests == 0 && out.error.empty()) out.error = "the run was ended";
  return out;
}

run::StressResult judged_again(const histories::CheckedHistory& checked, run::StressResult then) {
  run::StressResult out = std::move(then);
  const std::vector<run::PhaseFinding> found_then = std::exchange(out.findings, {});
  out.requests = checked.operations;
  out.replies = checked.operations - checked.without_reply;
  out.refused = checked.refused;
  out.notifications = checked.notifications;
  out.keys_ok = checked.count(history::Answer::kOk);
  out.keys_unknown = checked.count(history::Answer::kUnknown);
  std::vector<history::KeyVerdict> violations;
  std::copy_if(checked.keys.begin(), checked.keys.end(), std::back_inserter(violations),
               [](const history::KeyVerdict& each) {
                 return each.verdict.answer == history::Answer::kViolation;
               });
  for (const history::Verdict& each : checked.whole) {
    if (each.answer == history::Answer::kViolation) {
      violations.push_back({.key = {}, .verdict = each});
    } else {
      doubt(out, each.text);
    }
  }
  out.findings = findings_of(violations);
  const auto is_in = [](const std::vector<run::PhaseFinding>& all, const run::PhaseFinding& one) {
    return std::any_of(all.begin(), all.end(), [&](const run::PhaseFinding& each) {
      return each.requirement == one.requirement;
    });
  };
  // The run has stopped at its first, which comes first. The others stay: what a file says was
  // found takes nothing away from what it shows.
  std::stable_partition(out.findings.begin(), out.findings.end(),
                        [&](const run::PhaseFinding& each) { return is_in(found_then, each); });
  for (const run::PhaseFinding& each : found_then) {
    if (!is_in(out.findings, each)) {
      doubt(out, fmt::format("the run reported {}: {}; its history does not show that",
                             each.requirement, each.text));
    }
  }
  // Nor does it show whether a reply was owed. Simulated clients lose messages on purpose.
  // Req: ENV-RESPONSE-1
  if (!out.simulated && found_then.empty() && checked.without_reply > 0) {
    doubt(out, fmt::format("{} without a response; the history does not show whether one was due",
                           text::counted(checked.without_reply, "request")));
  }
  return out;
}

std::string end_stress_phase(endpoint::Endpoint& endpoint, bool interrupted,
                             run::SuiteResult& result) {
  if (interrupted) {
    result.interrupted = true;
    return "interrupted";
  }
  if (!result.stress || result.stress->error.empty() || result.stress->requests == 0) return {};
  const auto there = endpoint.check_reachable(kPatience);
  if (there) return {};
  result.endpoint_lost = true;
  result.lost_message = there.error().text;
  return "the endpoint was lost during the concurrent checks: " + result.lost_message;
}

}  // namespace fencepost::concurrency
