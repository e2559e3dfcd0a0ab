// The evidence of a stress run: its history, judged as `check` does it.

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/judge_kinds.h"
#include "cli/run_evidence.h"
#include "conformance/histories/history_check.h"
#include "conformance/histories/stress_report.h"
#include "conformance/scenario/library.h"
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

// Of a run that was cut short, only what is wrong counts.
run::ExitCode stress_code(run::ExitCode found, const std::optional<RunEnd>& end) {
  if (found == run::ExitCode::kFailed) return found;
  if (!end) return run::ExitCode::kInterrupted;
  const auto then = static_cast<run::ExitCode>(end->exit_code);
  const bool early = then == run::ExitCode::kInterrupted || then == run::ExitCode::kUnreachable;
  if (early) return then;
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
  if (!options.quiet) fmt::print("{}\n", describe(file));
  auto checked = histories::check_history(file.name, CheckOptions().max_steps);
  if (!checked) {
    complain(checked.error());
    if (end) return static_cast<run::ExitCode>(end->exit_code);
    return run::ExitCode::kInterrupted;
  }
  const bool piped = options.reports.json == "-" || options.reports.junit == "-";
  if (!piped) {
    fmt::print("{}", checked_text(*checked, library.catalogue));
    print_rules(rules_since(file.head, library), file.head);
    print_keys(end.value_or(RunEnd{}), *checked);
    if (!end) fmt::print("the run did not come to its end\n");
  }
  const std::vector<histories::CheckedHistory> all = {std::move(*checked)};
  const run::ExitCode code = stress_code(exit_code(all), end);
  const auto written = write_checked(all, options.reports, code, library.catalogue);
  if (written) return code;
  complain(written.error());
  return run::ExitCode::kInternal;
}

}  // namespace fencepost::cli
