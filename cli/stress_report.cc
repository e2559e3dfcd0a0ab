#include "cli/stress_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "conformance/histories/history_input.h"
#include "conformance/histories/timeline.h"
#include "conformance/report/report.h"
#include "conformance/report/report_files.h"
#include "conformance/text/printable.h"
#include "conformance/text/text_wrap.h"

namespace fencepost::cli {
namespace {

using histories::CheckedHistory;
using nlohmann::ordered_json;

constexpr std::size_t kMostFindings = 3;  // on the screen

double per_second(const StressRun& run) {
  return run.seconds > 0 ? static_cast<double>(run.counts.replies) / run.seconds : 0;
}

std::string judge_again(const StressRun& run) {
  return "fencepost check " + text::shell_word(run.history);
}

// What was not answered, and why; empty when all was.
std::string without_reply(const stress::TrafficCounts& counts) {
  std::string out;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  add(counts.timed_out, "timed out");
  add(counts.lost, "lost with a connection");
  add(counts.not_taken, "not taken by the broker");
  add(counts.meaningless, "answered with what is no reply");
  return out;
}

std::string conclusion(const StressRun& run) {
  if (!run.judged.violations.empty()) return "the store breaks a rule";
  if (!run.trouble.empty()) return run.trouble;
  if (!run.lost.empty()) return "the endpoint was lost: " + run.lost;
  if (run.counts.replies == 0) return "no request was answered: is there a state store?";
  if (run.interrupted) return "interrupted; no rule is broken until then";
  if (run.judged.unknown_keys > 0) {
    return fmt::format("no rule is broken, but {} could not be decided",
                       text::counted(run.judged.unknown_keys, "key"));
  }
  if (run.counts.replies == run.counts.refused) return "every request was refused";
  return "no rule is broken";
}

ordered_json json_of(const StressRun& run, const CheckedHistory& findings) {
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
                   {"strays", counts.strays},
                   {"reconnected", run.reconnected},
                   {"judging_seconds", run.judging},
                   {"operations", run.judged.operations},
                   {"keys",
                    {{"ok", run.judged.keys_ok},
                     {"violations", run.judged.violations.size()},
                     {"unknown", run.judged.unknown_keys}}},
                   {"conclusion", conclusion(run)},
                   {"findings", ordered_json::array()},
                   {"commands", {{"again", run.again}}}};
  for (const history::KeyVerdict& key : findings.keys) {
    if (key.verdict.answer != history::Answer::kOk) {
      out["findings"].push_back(to_json(findings, key));
    }
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
  if (run.enough) {
    ordered_json requests = ordered_json::array();
    for (const history::Operation& each : run.enough->plan) {
      requests.push_back({{"client", each.client},
                          {"key", escape(each.key, each.key.size())},
                          {"request", histories::request_text(each)}});
    }
    out["enough"] = {
        {"of", run.enough->asked}, {"runs", run.enough->tries}, {"requests", std::move(requests)}};
  }
  return out;
}

Result<void, std::string> write_page(const StressRun& run, const CheckedHistory& findings,
                                     const StressOptions& options,
                                     const scenario::Catalogue& catalogue) {
  histories::Timeline timeline(findings.keys, findings.operations);
  const auto read = histories::read_events(
      run.history, [&](const history::Event& event) { timeline.add(event); });
  if (!read) return fail(read.error());
  std::vector<std::pair<std::string, std::string>> facts = {
      {"workload", std::string(run.mix->name)},
      {"clients", std::to_string(run.clients)},
      {"seed", std::to_string(run.seed)},
      {"seconds", fmt::format("{:.1f}{}", run.seconds, run.simulated ? ", simulated" : "")},
      {"requests", fmt::format("{} ({:.0f}/s)", run.counts.requests, per_second(run))},
      {"Fencepost", std::string(report::suite_version())}};
  return report::write_file(options.html,
                            timeline.html({.source = run.endpoint,
                                           .facts = std::move(facts),
                                           .commands = {{"Judge again", judge_again(run)},
                                                        {"Provoke it again", run.again}}},
                                          catalogue));
}

}  // namespace

run::ExitCode exit_code(const StressRun& run) {
  if (!run.judged.violations.empty()) return run::ExitCode::kFailed;
  if (!run.trouble.empty()) return run::ExitCode::kInternal;
  if (!run.lost.empty()) return run::ExitCode::kUnreachable;
  if (run.interrupted) return run::ExitCode::kInterrupted;
  if (run.counts.replies == 0) return run::ExitCode::kUnreachable;
  const bool nothing_done = run.counts.replies == run.counts.refused;
  if (run.judged.unknown_keys > 0 || nothing_done) return run::ExitCode::kInconclusive;
  return run::ExitCode::kConformant;
}

std::string stress_verdict_text(const history::KeyVerdict& key) {
  std::string out(name(key.verdict.answer));
  return key.verdict.requirement.empty() ? out : out + " " + key.verdict.requirement;
}

std::string describe(const stress::RunSize& size) {
  return fmt::format("{}  workload {}", text::counted(size.clients, "client"), size.mix->name);
}

void print_stress(const StressRun& run, const CheckedHistory& findings,
                  const scenario::Catalogue& catalogue) {
  std::size_t shown = 0;
  for (const history::KeyVerdict& key : findings.keys) {
    if (key.verdict.answer == history::Answer::kOk || ++shown > kMostFindings) continue;
    print_finding(findings, key, catalogue);
  }
  if (shown > kMostFindings) fmt::print("\n  and {} keys more\n", shown - kMostFindings);
  if (run.shrunk && run.shrunk->failed > 0) {
    fmt::print("\n  smallest  {}: {} of {} new runs break a rule, after {} operations\n",
               describe(run.shrunk->size), run.shrunk->failed, run.shrunk->runs,
               run.shrunk->operations);
  } else if (run.shrunk) {
    fmt::print("\n  seen once: none of {} more did it again\n",
               text::counted(run.shrunk->runs, "run"));
  }
  if (run.enough) {
    constexpr std::size_t kMostShown = 12;
    const stress::Plan& plan = run.enough->plan;
    fmt::print("\n  enough    {} of {} requests for one key, found in {} runs:\n", plan.size(),
               run.enough->asked, run.enough->tries);
    for (std::size_t i = 0; i < std::min(plan.size(), kMostShown); ++i) {
      fmt::print("            client {:<4} {}\n", plan[i].client, histories::request_text(plan[i]));
    }
    if (plan.size() > kMostShown) {
      fmt::print("            and {} more; --json has them all\n", plan.size() - kMostShown);
    }
  }
  if (!findings.keys.empty() && !run.history.empty()) {
    fmt::print("\n  history   {}\n  judge     {}\n", run.history, judge_again(run));
  }
  if (!findings.keys.empty()) fmt::print("  again     {}\n", run.again);
  const stress::TrafficCounts& counts = run.counts;
  fmt::print("\n{} requests in {:.1f} s{} ({:.0f}/s), {} notifications, judged in {:.2f} s\n",
             counts.requests, run.seconds, run.simulated ? " of simulated time" : "",
             per_second(run), counts.notifications, run.judging);
  if (const std::string missing = without_reply(counts); !missing.empty()) {
    fmt::print("  without a reply: {}\n", missing);
  }
  if (counts.refused > 0) fmt::print("  refused: {}\n", counts.refused);
  if (run.reconnected > 0) fmt::print("  connections that were made again: {}\n", run.reconnected);
  fmt::print("{} ok, {} violations, {} unknown: {}\n", text::counted(run.judged.keys_ok, "key"),
             run.judged.violations.size(), run.judged.unknown_keys, conclusion(run));
}

Result<void, std::string> write_stress(const StressRun& run, const CheckedHistory& findings,
                                       const StressOptions& options,
                                       const scenario::Catalogue& catalogue) {
  if (!options.json.empty()) {
    auto written = report::write_file(options.json, json_of(run, findings).dump(1) + "\n");
    if (!written) return written;
  }
  if (!options.junit.empty()) {
    // One test stands for all keys that are ok, of which only the number is known.
    CheckedHistory all = findings;
    all.file = run.endpoint;
    if (run.judged.keys_ok > 0) {
      all.keys.push_back({.key = fmt::format("{} keys", run.judged.keys_ok),
                          .operations = run.judged.decided,
                          .verdict = {.answer = history::Answer::kOk}});
    }
    auto written = report::write_file(options.junit, histories::junit({all}, catalogue));
    if (!written) return written;
  }
  if (options.html.empty()) return {};
  return write_page(run, findings, options, catalogue);
}

}  // namespace fencepost::cli
