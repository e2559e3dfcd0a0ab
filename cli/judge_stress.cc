// The evidence of a stress run: its history, judged as `check` does it.

#include <utility>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/judge_kinds.h"
#include "cli/run_evidence.h"
#include "conformance/histories/history_check.h"
#include "conformance/histories/stress_report.h"
#include "conformance/scenario/library.h"
#include "conformance/text/output.h"
#include "conformance/text/printable.h"
#include "conformance/text/text_wrap.h"
#include "endpoint/recorded.h"

namespace fencepost::cli {
namespace {

// What the run had not judged when it ended counts as well, and is no disagreement.
void print_keys(const RunEnd& then, const histories::CheckedHistory& checked) {
  Agreement agreement;
  std::map<std::string, std::string> now;
  for (const history::KeyVerdict& key : checked.keys) {
    if (key.verdict.answer == history::Answer::kOk) continue;
    now[key.key] = histories::verdict_text(key);
  }
  for (const auto& [key, verdict] : then.verdicts) {
    const auto found = now.find(key);
    agreement.compare(key, verdict, found == now.end() ? "ok" : found->second);
  }
  agreement.print();
}

// A history does not have what decides whether a reply was owed: broken connections apart, what
// came too late, twice, or to nobody. So that is not known, whatever the file says of itself.
// Simulated clients lose messages on purpose. Req: ENV-RESPONSE-1
void add_replies(const RunEnd& then, const report::EvidenceHead& head,
                 histories::CheckedHistory& checked) {
  const auto add = [&](std::string text) {
    checked.whole.push_back({.answer = history::Answer::kUnknown, .text = std::move(text)});
  };
  for (const auto& [rule, text] : then.deliveries) {
    add(fmt::format("the run has found {}: {}; its history does not show that",
                    text::printable(rule), text::printable(text)));
  }
  const bool simulated = head.run.context.endpoint.starts_with("inproc:");
  if (!simulated && then.deliveries.empty() && checked.without_reply > 0) {
    add(fmt::format("{} without a reply: its history does not show whether one was owed",
                    text::counted(checked.without_reply, "operation")));
  }
}

// Of a run that was cut short, only what is wrong counts. That it was is all that is taken from
// what the file says of itself.
run::ExitCode stress_code(run::ExitCode found, const std::optional<RunEnd>& end) {
  if (found == run::ExitCode::kFailed) return found;
  if (!end || end->exit_code == static_cast<int>(run::ExitCode::kInterrupted)) {
    return run::ExitCode::kInterrupted;
  }
  if (end->exit_code == static_cast<int>(run::ExitCode::kUnreachable)) {
    return run::ExitCode::kUnreachable;
  }
  return found == run::ExitCode::kNothingSelected ? run::ExitCode::kUnreachable : found;
}

}  // namespace

run::ExitCode judge_stress(const JudgeOptions& options, const EvidenceFile& file) {
  const auto recorded = endpoint::Recorded::read_along(
      file.content, [](const endpoint::Recorded&, const std::string&) {});
  if (!recorded) {
    complain(file.name + " " + recorded.error());
    return run::ExitCode::kUsage;
  }
  const auto end = read_run_end(recorded->end());
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = scenario::load_library({}, errors);  // without the cases
  if (!options.quiet) text::print("{}\n", describe(file));
  auto checked = histories::check_history(file.name, CheckOptions().max_steps);
  if (!checked) {
    complain(checked.error());
    return run::ExitCode::kUsage;
  }
  add_replies(end.value_or(RunEnd{}), file.head, *checked);
  if (!options.reports.piped()) {
    text::print("{}", text::Lines(checked_text(*checked, library.catalogue)));
    print_rules(rules_since(file.head, library), file.head);
    print_keys(end.value_or(RunEnd{}), *checked);
    if (!end) text::print("the run did not come to its end\n");
  }
  const std::vector<histories::CheckedHistory> all = {std::move(*checked)};
  const run::ExitCode code = stress_code(exit_code(all), end);
  const auto written =
      write_checked(all, options.reports, code, library.catalogue, file.head.run.context.started);
  return succeeded(written) ? code : run::ExitCode::kInternal;
}

}  // namespace fencepost::cli
