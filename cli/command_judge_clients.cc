// fencepost judge-clients: what clients have sent, in recorded traffic.

#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "base/text/output.h"
#include "cli/client_reports.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "clients/client_report/client_report.h"
#include "clients/client_report/recorded_clients.h"
#include "clients/judge.h"
#include "endpoint/conditions.h"
#include "report/report_files.h"
#include "suite/scenario/library.h"
#include "suite/target/conditions_options.h"
#include "traffic/record/capture_log.h"
#include "traffic/record/capture_tcp.h"

namespace fencepost::cli {
namespace {

constexpr std::size_t kMaxFindingsKept = 10'000;

void take_findings(clients::Judge& judge, client_report::JudgedClients& judged) {
  for (clients::Finding& finding : judge.take_findings()) {
    text::print("fencepost: {}\n", client_report::line_of(finding));
    if (judged.findings.size() < kMaxFindingsKept) judged.findings.push_back(std::move(finding));
  }
}

// What is found; nothing after an error was printed.
std::optional<client_report::JudgedClients> judge_capture(const JudgeClientsOptions& options) {
  clients::JudgeOptions of_judge{.store_node = options.node_id, .clock_offset = std::nullopt};
  of_judge.from_start = options.from_start;
  if (!options.clock_offset.empty()) {
    endpoint::Conditions conditions;
    if (const auto wrong =
            target::set_condition("clock-offset", options.clock_offset, conditions)) {
      print_error("--" + *wrong);
      return std::nullopt;
    }
    of_judge.clock_offset = conditions.clock_offset;
  }
  client_report::JudgedClients out;
  clients::Judge judge(of_judge);
  const auto read = record::read_tcp({.file = options.pcap, .port = options.port},
                                     [&](const record::TcpEvent& event) {
                                       client_report::judge_event(event, judge);
                                       take_findings(judge, out);
                                     });
  if (!read) {
    print_error(read.error());
    return std::nullopt;
  }
  for (const std::string& note : *read) print_error(options.pcap + ": " + note);
  out.tally = judge.tally();
  return out;
}

std::optional<client_report::JudgedClients> judge_log(const JudgeClientsOptions& options) {
  const auto file = scenario::read_file(options.from);
  if (!file) {
    print_error(file.error());
    return std::nullopt;
  }
  const auto log = record::read_capture_log(file->content);
  if (!log) {
    print_error(options.from + ": " + log.error());
    return std::nullopt;
  }
  client_report::JudgedClients out;
  clients::Judge judge(client_report::options_for(*log, options.node_id));
  client_report::judge_messages(*log, judge);
  take_findings(judge, out);
  out.tally = judge.tally();
  return out;
}

// Prints an error otherwise.
bool can_be_done(const JudgeClientsOptions& options) {
  if (options.pcap.empty() == options.from.empty()) {
    print_error("give one of --pcap and --from");
    return false;
  }
  if (options.pcap.empty() && (options.from_start || !options.clock_offset.empty())) {
    print_error("--from-start and --clock-offset need --pcap; a log contains both");
    return false;
  }
  return succeeded(report::check_writable(options.reports));
}

}  // namespace

run::ExitCode judge_clients(const JudgeClientsOptions& options) {
  if (!can_be_done(options)) return run::ExitCode::kUsage;
  const auto judged = options.pcap.empty() ? judge_log(options) : judge_capture(options);
  if (!judged) return run::ExitCode::kUsage;
  print_client_summary(*judged);
  if (!write_client_reports(*judged, options.reports)) return run::ExitCode::kInternal;
  switch (client_report::verdict_of(judged->tally)) {
    case client_report::ClientVerdict::kBroken:
      return run::ExitCode::kFailed;
    case client_report::ClientVerdict::kNothingJudged:
      return run::ExitCode::kNothingSelected;
    case client_report::ClientVerdict::kConformant:
      break;
  }
  return run::ExitCode::kConformant;
}

}  // namespace fencepost::cli
