#include "concurrency/histories/stress_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/text/command_line.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "concurrency/histories/history_check.h"
#include "concurrency/histories/history_input.h"
#include "concurrency/histories/timeline.h"
#include "report/report.h"
#include "report/report_files.h"

namespace fencepost::histories {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMaxFindings = 3;  // on the screen
// For one connection, in each direction; then they are used again. (MQTT 5, 2.2.1)
constexpr std::uint64_t kPacketIds = 65'535;

double per_second(const StressRun& run) {
  return run.seconds > 0 ? static_cast<double>(run.counts.replies) / run.seconds : 0;
}

std::string judge_again(const StressRun& run) {
  return "fencepost check " + text::shell_word(run.history);
}

// Which requests have no response, and why; empty when all have one.
std::string without_reply(const stress::TrafficCounts& counts) {
  std::string out;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  add(counts.timed_out, "timed out");
  add(counts.lost, "lost with the connection");
  add(counts.not_taken, "not taken by the broker");
  add(counts.meaningless, "answered with something that is not a response");
  return out;
}

std::string conclusion(const StressRun& run) {
  if (is_not_linearizable(run.judged.violations)) {
    return "not linearizable, the store breaks a rule";
  }
  if (!run.judged.violations.empty() || !run.deliveries.empty()) return "the store breaks a rule";
  if (!run.error.empty()) return run.error;
  if (!run.lost.empty()) return "the endpoint was lost: " + run.lost;
  if (run.counts.replies == 0) return "no request was answered: is there a state store?";
  if (run.interrupted) return "interrupted; no rule was broken until then";
  if (run.judged.unknown_keys > 0) {
    return fmt::format("no rule is broken, but {} could not be decided",
                       text::counted(run.judged.unknown_keys, "key"));
  }
  if (run.counts.replies == run.counts.refused) return "every request was refused";
  if (run.doubts.all() > 0) return "not decided: " + describe(run.doubts);
  return "linearizable, no rule is broken";
}

// "  disturbances  132: reset 20, half-open 18; 97 reconnections"
std::string disturbances_text(const StressRun& run) {
  std::size_t all = 0;
  std::string kinds;
  for (const auto& [fault, times] : run.injected) {
    all += times;
    kinds +=
        fmt::format("{}{} {}", kinds.empty() ? "" : ", ", endpoint::kind_of(fault).name, times);
  }
  return fmt::format("  disturbances  {}: {}; {}\n", all, kinds,
                     text::counted(run.reconnected, "reconnection"));
}

// "  durability    kill; a value from before was there 3 times, and lost 0 times". The first is
// what the endpoint declares.
std::string durability_text(const StressRun& run) {
  return fmt::format(
      "  durability    {}; after the broker had ended, a value from before was there {}, and gone "
      "{}\n",
      run.durability == endpoint::Durability::kNone ? "not declared" : name(run.durability),
      text::counted(run.kept, "time"), text::counted(run.not_kept, "time"));
}

ordered_json delivery_json(const stress::DeliveryFinding& found) {
  ordered_json out{
      {"requirement", found.requirement}, {"text", found.text}, {"times", found.times}};
  if (!found.operation) return out;
  out["request"] = request_text(*found.operation);
  out["client"] = found.operation->client;
  return out;
}

// What JUnit reports in addition to the keys, so that it agrees with the exit code.
std::vector<history::Verdict> verdicts_on_the_whole(const StressRun& run) {
  std::vector<history::Verdict> out;
  for (const stress::DeliveryFinding& each : run.deliveries) {
    out.push_back(verdict_of(each).verdict);
  }
  const run::ExitCode code = exit_code(run);
  const bool is_reported = code == run::ExitCode::kConformant || code == run::ExitCode::kFailed ||
                           run.judged.unknown_keys > 0;
  if (!is_reported) out.push_back({.answer = history::Answer::kUnknown, .text = conclusion(run)});
  return out;
}

// The findings, as for a history that was read from a file.
CheckedHistory findings_of(const StressRun& run) {
  CheckedHistory out{.file = run.endpoint,
                     .operations = run.judged.operations,
                     .notifications = run.counts.notifications,
                     .seconds = run.judging};
  for (std::uint32_t client = 0; client < run.clients; ++client) out.clients.insert(client);
  out.keys = run.judged.violations;
  out.keys.insert(out.keys.end(), run.judged.unknown.begin(), run.judged.unknown.end());
  return out;
}

Result<std::string, std::string> page_of(const StressRun& run,
                                         const scenario::Catalogue& catalogue) {
  const CheckedHistory findings = findings_of(run);
  Timeline timeline(findings.keys, findings.operations);
  const auto read =
      read_events(run.history, [&](const history::Event& event) { timeline.add(event); });
  if (!read) return fail(read.error());
  std::vector<std::pair<std::string, std::string>> facts = {
      {"workload", std::string(run.mix->name)},
      {"clients", std::to_string(run.clients)},
      {"seed", std::to_string(run.seed)},
      {"seconds", fmt::format("{:.1f}{}", run.seconds, run.simulated ? ", simulated" : "")},
      {"requests", fmt::format("{} ({:.0f}/s)", run.counts.requests, per_second(run))},
      {"Fencepost", std::string(report::suite_version())}};
  return timeline.html({.source = run.endpoint,
                        .facts = std::move(facts),
                        .commands = {{"Check again", judge_again(run)}, {"Reproduce", run.again}},
                        .whole = verdicts_on_the_whole(run),
                        .more_ok = run.judged.keys_ok},
                       catalogue);
}

std::string junit_of(const StressRun& run, const scenario::Catalogue& catalogue) {
  // One test stands for all keys that are ok: only their number is known.
  CheckedHistory all = findings_of(run);
  if (run.judged.keys_ok > 0) {
    all.keys.push_back({.key = text::counted(run.judged.keys_ok, "key"),
                        .operations = run.judged.decided,
                        .verdict = {.answer = history::Answer::kOk}});
  }
  all.whole = verdicts_on_the_whole(run);
  return junit({all}, catalogue, run.started);
}

// The result of smaller runs.
std::string shrunk_text(const StressRun& run) {
  std::string out;
  if (run.shrunk && run.shrunk->failed > 0) {
    out += fmt::format("\n  smallest  {}: {} of {} break a rule, after {}\n",
                       describe(run.shrunk->size), run.shrunk->failed,
                       text::counted(run.shrunk->runs, "new run"),
                       text::counted(run.shrunk->operations, "operation"));
  } else if (run.shrunk) {
    out += "\n  seen once: ";
    out += run.shrunk->runs == 0
               ? "no time was left to try again\n"
               : fmt::format("not reproduced in {}\n", text::counted(run.shrunk->runs, "more run"));
  }
  if (!run.enough) return out;
  constexpr std::size_t kMaxRequests = 12;
  const stress::Plan& plan = run.enough->plan;
  out += fmt::format("\n  enough    {} of {} for one key, found in {}:\n", plan.size(),
                     text::counted(run.enough->asked, "request"),
                     text::counted(run.enough->tries, "run"));
  for (std::size_t i = 0; i < std::min(plan.size(), kMaxRequests); ++i) {
    out += fmt::format("            client {:<4} {}\n", plan[i].client, request_text(plan[i]));
  }
  if (plan.size() > kMaxRequests) {
    out += fmt::format("            and {} more; --json lists all\n", plan.size() - kMaxRequests);
  }
  return out;
}

}  // namespace

StressRun run_of(const stress::LoadResult& result) {
  return {.judged = result.judged,
          .deliveries = result.deliveries,
          .doubts = result.doubts,
          .counts = result.progress.counts,
          .seconds = result.asking.count(),
          .judging = result.judging.count(),
          .reconnected = result.progress.reconnected,
          .injected = result.progress.injected,
          .kept = result.kept,
          .not_kept = result.not_kept,
          .lost = result.lost,
          .error = result.error,
          .interrupted = result.interrupted};
}

StressRun run_of(const stress::SimulatedRun& result) {
  return {.simulated = true,
          .judged = result.judged,
          .deliveries = result.deliveries,
          .doubts = result.doubts,
          .counts = result.counts,
          .seconds = std::chrono::duration<double>(result.duration).count()};
}

run::ExitCode exit_code(const StressRun& run) {
  if (!run.judged.violations.empty() || !run.deliveries.empty()) return run::ExitCode::kFailed;
  if (!run.error.empty()) return run::ExitCode::kInternal;
  if (!run.lost.empty()) return run::ExitCode::kUnreachable;
  if (run.interrupted) return run::ExitCode::kInterrupted;
  if (run.counts.replies == 0) return run::ExitCode::kUnreachable;
  const bool nothing_done = run.counts.replies == run.counts.refused;
  if (run.judged.unknown_keys > 0 || nothing_done || run.doubts.all() > 0) {
    return run::ExitCode::kInconclusive;
  }
  return run::ExitCode::kConformant;
}

std::string describe(const stress::RunSize& size) {
  return fmt::format("{}, workload {}", text::counted(size.clients, "client"), size.mix->name);
}

std::string progress_text(double seconds, const stress::TrafficCounts& counts,
                          const stress::Judged& judged) {
  const std::size_t open = judged.operations - std::min(judged.operations, judged.decided);
  return fmt::format(
      "{:.1f} s  {} ({:.0f}/s)  {} judged, {} not yet{}", seconds,
      text::counted(counts.requests, "request"),
      static_cast<double>(counts.replies) / std::max(seconds, 0.001), judged.decided, open,
      counts.unknown() == 0 ? "" : fmt::format("  {} without a response", counts.unknown()));
}

std::string stress_command(const StressCall& call, const stress::RunSize& size,
                           std::uint64_t seed) {
  return text::CommandLine(call.program, "stress")
      .option("--endpoint", call.endpoint)
      .option("--descriptor", call.descriptor)
      .option("--driver", call.driver)
      .option("--profile", call.profile)
      .option("--clock-offset", call.clock_offset)
      .option("--network-delay", call.on_the_way)
      .option("--timeout-scale", call.timeout_scale, 1)
      .option("--workload", size.mix->name)
      .option("--clients", std::to_string(size.clients))
      .option("--seed", std::to_string(seed))
      .option("--duration", call.duration)
      .option("--rate", call.rate, 0)
      .option("--disturb", call.disturb == "none" ? "" : call.disturb)
      .option("--disturb-every", call.disturb_every == "250ms" ? "" : call.disturb_every)
      .text();
}

bool has_findings(const stress::Judged& judged) {
  return !judged.violations.empty() || judged.unknown_keys > 0;
}

std::string stress_text(const StressRun& run, const scenario::Catalogue& catalogue) {
  const CheckedHistory findings = findings_of(run);
  // First what a store has lost with its broker: other findings follow from it.
  const auto is_of_restarts = [](const stress::DeliveryFinding& each) {
    return each.requirement.starts_with("LIFE-DURABLE-");
  };
  std::string out;
  std::string later;
  for (const stress::DeliveryFinding& each : run.deliveries) {
    (is_of_restarts(each) ? out : later) += finding_text(findings, verdict_of(each), catalogue);
  }
  out += findings_text(findings, catalogue, kMaxFindings) + shrunk_text(run) + later;
  if (!findings.keys.empty() && !run.history.empty()) {
    out += fmt::format("\n  history   {}\n  check     {}\n", run.history, judge_again(run));
  }
  const bool found = !findings.keys.empty() || !run.deliveries.empty();
  if (found) out += fmt::format("  reproduce {}\n", run.again);
  const stress::TrafficCounts& counts = run.counts;
  out += fmt::format("\n{} in {:.1f} s{} ({:.0f}/s), {}, judged in {:.2f} s\n",
                     text::counted(counts.requests, "request"), run.seconds,
                     run.simulated ? " of simulated time" : "", per_second(run),
                     text::counted(counts.notifications, "notification"), run.judging);
  if (const std::string missing = without_reply(counts); !missing.empty()) {
    out += fmt::format("  without a response: {}\n", missing);
  }
  if (counts.refused > 0) out += fmt::format("  refused: {}\n", counts.refused);
  if (!run.simulated && counts.longest > 0) {
    out += fmt::format("  to one client: {}, {} its {} packet identifiers\n",
                       text::counted(counts.longest, "message"),
                       counts.longest > kPacketIds ? "more than" : "within", kPacketIds);
  }
  if (!run.injected.empty()) {
    out += disturbances_text(run);
    if (run.kept + run.not_kept > 0) out += durability_text(run);
  } else if (run.reconnected > 0) {
    out += fmt::format("  reconnections: {}\n", run.reconnected);
  }
  const std::size_t left =
      run.judged.operations - std::min(run.judged.operations, run.judged.decided);
  const bool ended_early = !run.judged.violations.empty() && left > 0;
  // Without a response nothing is known about any key.
  const std::size_t ok = counts.replies == 0 ? 0 : run.judged.keys_ok;
  return out + fmt::format(
                   "{} ok, {}, {} unknown: {}{}\n", text::counted(ok, "key"),
                   text::counted(run.judged.violations.size() + run.deliveries.size(), "violation"),
                   run.judged.unknown_keys, conclusion(run),
                   ended_early
                       ? fmt::format("; {} not judged any more", text::counted(left, "operation"))
                       : "");
}

namespace {

// Of a run that has it.
ordered_json enough_json(const StressRun& run) {
  ordered_json requests = ordered_json::array();
  for (const history::Operation& each : run.enough->plan) {
    requests.push_back({{"client", each.client},
                        {"key", escape(each.key, each.key.size())},
                        {"request", request_text(each)}});
  }
  return {
      {"of", run.enough->asked}, {"runs", run.enough->tries}, {"requests", std::move(requests)}};
}

}  // namespace

std::string to_json(const StressRun& run) {
  const stress::TrafficCounts& counts = run.counts;
  ordered_json out{{"suite_version", report::suite_version()},
                   {"exit_code", static_cast<int>(exit_code(run))},
                   {"endpoint", run.endpoint},
                   {"workload", run.mix->name},
                   {"clients", run.clients},
                   {"seed", run.seed},
                   {"simulated", run.simulated},
                   {"seconds", run.seconds},
                   {"requests", counts.requests},
                   {"replies", counts.replies},
                   {"replies_per_second", per_second(run)},
                   {"refused", counts.refused},
                   {"without_reply",
                    {{"timed_out", counts.timed_out},
                     {"lost", counts.lost},
                     {"not_taken", counts.not_taken},
                     {"meaningless", counts.meaningless}}},
                   {"notifications", counts.notifications},
                   {"strays", counts.unmatched},
                   {"longest_connection", counts.longest},
                   {"reconnected", run.reconnected},
                   {"disturbances", ordered_json::object()},
                   {"judging_seconds", run.judging},
                   {"operations", run.judged.operations},
                   {"keys",
                    {{"ok", run.judged.keys_ok},
                     {"violations", run.judged.violations.size()},
                     {"unknown", run.judged.unknown_keys}}},
                   {"undecided",
                    {{"lost", run.doubts.lost},
                     {"refused", run.doubts.refused},
                     {"late", run.doubts.late},
                     {"silent", run.doubts.silent}}},
                   {"conclusion", conclusion(run)},
                   {"deliveries", ordered_json::array()},
                   {"findings", ordered_json::array()},
                   {"commands", {{"again", run.again}}}};
  for (const auto& [fault, times] : run.injected) {
    out["disturbances"][std::string(endpoint::kind_of(fault).name)] = times;
  }
  if (run.kept + run.not_kept > 0) {
    out["durability"] = {
        {"declared", name(run.durability)}, {"kept", run.kept}, {"lost", run.not_kept}};
  }
  for (const history::KeyVerdict& key : findings_of(run).keys) {
    out["findings"].push_back(to_json(key));
  }
  for (const stress::DeliveryFinding& each : run.deliveries) {
    out["deliveries"].push_back(delivery_json(each));
  }
  if (!run.history.empty()) {
    out["history"] = run.history;
    out["commands"]["judge"] = judge_again(run);
  }
  if (run.shrunk) {
    out["shrunk"] = {{"workload", run.shrunk->size.mix->name},
                     {"clients", run.shrunk->size.clients},
                     {"runs", run.shrunk->runs},
                     {"failed", run.shrunk->failed},
                     {"operations", run.shrunk->operations}};
  }
  if (run.enough) out["enough"] = enough_json(run);
  return out.dump(1) + "\n";
}

Result<void, std::string> write_stress(const StressRun& run, const report::ReportFiles& files,
                                       const scenario::Catalogue& catalogue) {
  return report::write_reports(files, {{"json", [&] { return to_json(run); }},
                                       {"junit", [&] { return junit_of(run, catalogue); }},
                                       {"html", [&] { return page_of(run, catalogue); }}});
}

}  // namespace fencepost::histories
