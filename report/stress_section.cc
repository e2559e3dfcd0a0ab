#include "report/stress_section.h"

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

ordered_json finding_json(const run::StressFinding& finding) {
  ordered_json operations = ordered_json::array();
  for (const run::StressOperation& each : finding.operations) {
    ordered_json operation{{"client", each.client}, {"called_ms", in_milliseconds(each.called)}};
    if (each.returned) operation["returned_ms"] = in_milliseconds(*each.returned);
    operation["request"] = each.request;
    operation["reply"] = each.reply;
    operations.push_back(std::move(operation));
  }
  return {{"requirement", finding.requirement},
          {"verdict", finding.fails ? "failed" : "warning"},
          {"key", finding.key},
          {"text", finding.text},
          {"operations", std::move(operations)}};
}

run::StressOperation read_operation(const JsonMembers& members) {
  run::StressOperation out{.client = members.integer<std::uint32_t>("client"),
                           .called = members.duration("called_ms"),
                           .request = members.text("request"),
                           .reply = members.text("reply")};
  if (members.has("returned_ms")) out.returned = members.duration("returned_ms");
  return out;
}

}  // namespace

std::string stress_text(const run::StressResult& stress) {
  std::string out =
      fmt::format("{} ({})", text::counted(stress.clients, "concurrent client"), stress.workload);
  if (stress.requests == 0) return out + ": not run: " + stress.error;
  out += fmt::format(": {} in {:.1f} s{}", text::counted(stress.requests, "request"),
                     in_seconds(stress.duration), stress.simulated ? " of simulated time" : "");
  if (!stress.error.empty()) out += ", " + stress.error;
  if (!stress.findings.empty()) {
    return out +
           (stress.fails() ? ": a rule is broken" : ": a rule is broken, reported as a warning");
  }
  if (!stress.undecided.empty()) return out + ": not decided: " + stress.undecided;
  if (stress.replies == stress.refused) return out + ": every reply was a refusal";
  if (stress.keys_unknown == 0) return out + ": linearizable, no rule broken";
  return out + fmt::format(": no rule broken, {} of {} keys could not be decided",
                           stress.keys_unknown, stress.keys_unknown + stress.keys_ok);
}

std::string stress_headline(const run::StressFinding& finding) {
  return finding.requirement + ": " + finding.text;
}

std::vector<std::string> stress_lines(const run::StressFinding& finding) {
  std::vector<std::string> out;
  for (const run::StressOperation& each : finding.operations) {
    out.push_back(
        fmt::format("client {:<4} {:>11} .. {:<11}  {}  ->  {}", each.client,
                    fmt::format("{:.3f} ms", in_milliseconds(each.called)),
                    each.returned ? fmt::format("{:.3f} ms", in_milliseconds(*each.returned)) : "",
                    each.request, each.reply));
  }
  return out;
}

std::string stress_evidence(const run::StressResult& stress, const run::StressFinding& finding,
                            const scenario::Catalogue& catalogue) {
  std::string out;
  if (const scenario::Requirement* rule = catalogue.find(finding.requirement)) {
    out += fmt::format("rule {} ({}): {}\n", rule->id, name(rule->level), rule->text);
  }
  out += fmt::format("seen: {} (key \"{}\")\n", finding.text, finding.key);
  for (const std::string& line : stress_lines(finding)) out += line + "\n";
  return out + "reproduce: " + stress.command + "\n";
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
  for (const run::StressFinding& each : stress.findings) {
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
  members.each("findings", [&](const json& value, const std::string& where) {
    const JsonMembers finding = members.part(value, where);
    run::StressFinding& added =
        out.findings.emplace_back(run::StressFinding{.requirement = finding.text("requirement"),
                                                     .fails = finding.text("verdict") == "failed",
                                                     .key = finding.text("key"),
                                                     .text = finding.text("text")});
    finding.each("operations", [&](const json& operation, const std::string& place) {
      added.operations.push_back(read_operation(finding.part(operation, place)));
    });
  });
  return out;
}

}  // namespace fencepost::report
