#include "report/phases.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/durations.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "report/report_read.h"

namespace fencepost::report {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json finding_json(const run::PhaseFinding& finding) {
  ordered_json operations = ordered_json::array();
  for (const run::PhaseOperation& each : finding.operations) {
    ordered_json operation{{"client", each.client}, {"called_ms", in_milliseconds(each.called)}};
    if (each.returned) operation["returned_ms"] = in_milliseconds(*each.returned);
    operation["request"] = each.request;
    operation["reply"] = each.reply;
    operations.push_back(std::move(operation));
  }
  ordered_json out{{"requirement", finding.requirement},
                   {"verdict", finding.fails ? "failed" : "warning"},
                   {"key", finding.key},
                   {"text", finding.text},
                   {"operations", std::move(operations)}};
  if (!finding.packets.empty()) out["packets"] = finding.packets;
  if (!finding.command.empty()) out["command"] = finding.command;
  return out;
}

run::PhaseOperation read_operation(const JsonMembers& members) {
  run::PhaseOperation out{.client = members.integer<std::uint32_t>("client"),
                          .called = members.duration("called_ms"),
                          .request = members.text("request"),
                          .reply = members.text("reply")};
  if (members.has("returned_ms")) out.returned = members.duration("returned_ms");
  return out;
}

// Empty where there is none.
std::string command_in(const JsonMembers& members) {
  std::string out = members.text_if_there("command");
  if (!out.empty() && !is_command_of_a_report(out)) members.wrong("command", kCommandOfAReport);
  return out;
}

std::vector<run::PhaseFinding> read_findings(const JsonMembers& members) {
  std::vector<run::PhaseFinding> out;
  members.each("findings", [&](const json& value, const std::string& where) {
    const JsonMembers finding = members.part(value, where);
    run::PhaseFinding& added =
        out.emplace_back(run::PhaseFinding{.requirement = finding.text("requirement"),
                                           .fails = finding.text("verdict") == "failed",
                                           .key = finding.text("key"),
                                           .text = finding.text("text"),
                                           .command = command_in(finding)});
    if (finding.has("packets")) added.packets = finding.texts("packets");
    finding.each("operations", [&](const json& operation, const std::string& place) {
      added.operations.push_back(read_operation(finding.part(operation, place)));
    });
  });
  return out;
}

std::string verdict_text(const std::vector<run::PhaseFinding>& findings) {
  return run::fails(findings) ? "a rule is broken" : "a rule is broken, reported as a warning";
}

}  // namespace

std::string stress_text(const run::StressResult& stress) {
  std::string out =
      fmt::format("{} ({})", text::counted(stress.clients, "concurrent client"), stress.workload);
  if (stress.requests == 0) return out + ": not run: " + stress.error;
  out += fmt::format(": {} in {:.1f} s{}", text::counted(stress.requests, "request"),
                     in_seconds(stress.duration), stress.simulated ? " of simulated time" : "");
  if (!stress.error.empty()) out += ", " + stress.error;
  if (!stress.findings.empty()) return out + ": " + verdict_text(stress.findings);
  if (!stress.undecided.empty()) return out + ": not decided: " + stress.undecided;
  if (stress.replies == stress.refused) return out + ": every reply was a refusal";
  if (stress.keys_unknown == 0) return out + ": linearizable, no rule broken";
  return out + fmt::format(": no rule broken, {} of {} keys could not be decided",
                           stress.keys_unknown, stress.keys_unknown + stress.keys_ok);
}

std::string enumeration_text(const run::EnumerationResult& enumeration) {
  const std::string which = enumeration.workloads < enumeration.of
                                ? fmt::format("{} of {}", enumeration.workloads, enumeration.of)
                                : fmt::format("all {}", enumeration.of);
  std::string out = fmt::format("{} workloads of depth {}", which, enumeration.depth);
  if (enumeration.requests == 0) return out + ": not run: " + enumeration.error;
  const std::uint64_t decided = enumeration.requests - enumeration.undecidable;
  out += fmt::format(": {} in {:.1f} s, {:.1f} % of them decided",
                     text::counted(enumeration.requests, "operation"),
                     in_seconds(enumeration.duration),
                     100.0 * static_cast<double>(decided) /
                         static_cast<double>(std::max<std::uint64_t>(enumeration.requests, 1)));
  if (!enumeration.error.empty()) out += ", " + enumeration.error;
  if (!enumeration.findings.empty()) return out + ": " + verdict_text(enumeration.findings);
  if (!enumeration.undecided.empty()) return out + ": " + enumeration.undecided;
  return out + ": no rule broken";
}

std::vector<Phase> phases_of(const run::SuiteResult& result) {
  std::vector<Phase> out;
  if (const auto& stress = result.stress) {
    out.push_back({.id = "clients-at-once",
                   .title = "concurrent clients",
                   .subject = text::counted(stress->clients, "concurrent client"),
                   .text = stress_text(*stress),
                   .ran = stress->requests > 0,
                   .duration = stress->duration,
                   .findings = stress->findings,
                   .error = stress->error,
                   .command = stress->command});
  }
  if (const auto& enumeration = result.enumeration) {
    out.push_back({.id = "all-workloads",
                   .title = "all short workloads",
                   .subject = "a short workload",
                   .text = enumeration_text(*enumeration),
                   .ran = enumeration->workloads > 0,
                   .duration = enumeration->duration,
                   .findings = enumeration->findings,
                   .error = enumeration->error,
                   .command = enumeration->command});
  }
  return out;
}

std::string failing_phases(const run::SuiteResult& result) {
  std::string out;
  for (const Phase& phase : phases_of(result)) {
    if (run::fails(phase.findings)) out += (out.empty() ? "" : "; ") + phase.text;
  }
  return out;
}

const std::string& command_of(const Phase& phase, const run::PhaseFinding& finding) {
  return finding.command.empty() ? phase.command : finding.command;
}

std::string finding_headline(const run::PhaseFinding& finding) {
  return finding.requirement + ": " + finding.text;
}

std::vector<std::string> finding_lines(const run::PhaseFinding& finding) {
  std::vector<std::string> out;
  for (const run::PhaseOperation& each : finding.operations) {
    out.push_back(
        fmt::format("client {:<4} {:>11} .. {:<11}  {}  ->  {}", each.client,
                    fmt::format("{:.3f} ms", in_milliseconds(each.called)),
                    each.returned ? fmt::format("{:.3f} ms", in_milliseconds(*each.returned)) : "",
                    each.request, each.reply));
  }
  out.insert(out.end(), finding.packets.begin(), finding.packets.end());
  return out;
}

std::string finding_evidence(const Phase& phase, const run::PhaseFinding& finding,
                             const scenario::Catalogue& catalogue) {
  std::string out;
  if (const scenario::Requirement* rule = catalogue.find(finding.requirement)) {
    out += fmt::format("rule {} ({}): {}\n", rule->id, name(rule->level), rule->text);
  }
  out += "seen: " + finding.text;
  out += finding.key.empty() ? "\n" : fmt::format(" (key \"{}\")\n", finding.key);
  for (const std::string& line : finding_lines(finding)) out += line + "\n";
  return out + "reproduce: " + command_of(phase, finding) + "\n";
}

ordered_json stress_json(const run::StressResult& stress) {
  ordered_json out{{"workload", stress.workload},
                   {"clients", stress.clients},
                   {"seed", stress.seed},
                   {"simulated", stress.simulated},
                   {"duration_ms", in_milliseconds(stress.duration)},
                   {"requests", stress.requests},
                   {"replies", stress.replies},
                   {"refused", stress.refused},
                   {"notifications", stress.notifications},
                   {"keys", {{"ok", stress.keys_ok}, {"unknown", stress.keys_unknown}}},
                   {"findings", ordered_json::array()},
                   {"command", stress.command}};
  if (!stress.error.empty()) out["trouble"] = stress.error;
  if (!stress.undecided.empty()) out["undecided"] = stress.undecided;
  for (const run::PhaseFinding& each : stress.findings) {
    out["findings"].push_back(finding_json(each));
  }
  return out;
}

run::StressResult read_stress(const JsonMembers& members) {
  const JsonMembers keys = members.object("keys");
  run::StressResult out{.workload = members.text("workload"),
                        .clients = members.integer<std::uint32_t>("clients"),
                        .seed = members.integer<std::uint64_t>("seed"),
                        .simulated = members.flag("simulated"),
                        .duration = members.duration("duration_ms"),
                        .requests = members.integer<std::uint64_t>("requests"),
                        .replies = members.integer<std::uint64_t>("replies"),
                        .refused = members.integer<std::uint64_t>("refused"),
                        .notifications = members.integer<std::uint64_t>("notifications"),
                        .keys_ok = keys.integer<std::size_t>("ok"),
                        .keys_unknown = keys.integer<std::size_t>("unknown"),
                        .error = members.text_if_there("trouble"),
                        .undecided = members.text_if_there("undecided"),
                        .command = members.text("command")};
  if (!is_command_of_a_report(out.command)) members.wrong("command", kCommandOfAReport);
  out.findings = read_findings(members);
  return out;
}

ordered_json enumeration_json(const run::EnumerationResult& enumeration) {
  ordered_json out{{"depth", enumeration.depth},
                   {"bound", enumeration.bound},
                   {"workloads", enumeration.workloads},
                   {"of", enumeration.of},
                   {"requests", enumeration.requests},
                   {"undecidable", enumeration.undecidable},
                   {"unspecified", ordered_json::array()},
                   {"duration_ms", in_milliseconds(enumeration.duration)},
                   {"findings", ordered_json::array()},
                   {"command", enumeration.command}};
  for (const auto& [rule, workloads] : enumeration.open) {
    out["unspecified"].push_back({{"requirement", rule}, {"workloads", workloads}});
  }
  if (!enumeration.error.empty()) out["error"] = enumeration.error;
  if (!enumeration.undecided.empty()) out["undecided"] = enumeration.undecided;
  for (const run::PhaseFinding& each : enumeration.findings) {
    out["findings"].push_back(finding_json(each));
  }
  return out;
}

run::EnumerationResult read_enumeration(const JsonMembers& members) {
  run::EnumerationResult out{.depth = members.integer<std::size_t>("depth"),
                             .bound = members.texts("bound"),
                             .workloads = members.integer<std::size_t>("workloads"),
                             .of = members.integer<std::size_t>("of"),
                             .requests = members.integer<std::uint64_t>("requests"),
                             .undecidable = members.integer<std::uint64_t>("undecidable"),
                             .duration = members.duration("duration_ms"),
                             .findings = read_findings(members),
                             .error = members.text_if_there("error"),
                             .undecided = members.text_if_there("undecided"),
                             .command = command_in(members)};
  members.each("unspecified", [&](const json& value, const std::string& where) {
    const JsonMembers open = members.part(value, where);
    out.open[open.text("requirement")] = open.integer<std::size_t>("workloads");
  });
  return out;
}

}  // namespace fencepost::report
