// fencepost judge: the verdicts of a run again, from its evidence, by the rules of this version.

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/output.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "concurrency/histories/history_check.h"
#include "concurrency/stress_phase.h"
#include "endpoint/recorded.h"
#include "report/console.h"
#include "report/evidence_head.h"
#include "report/saved_run.h"

namespace fencepost::cli {
namespace {

constexpr std::size_t kMaxNamed = 10;

std::string some_of(const std::vector<std::string>& ids) {
  std::string out;
  for (std::size_t i = 0; i < std::min(ids.size(), kMaxNamed); ++i) {
    out += (out.empty() ? "" : ", ") + text::printable(ids[i]);
  }
  return out + (ids.size() > kMaxNamed ? ", ..." : "");
}

// Says which rules are others than those of the run.
void print_rules(const report::RulesSince& since, const report::EvidenceHead& head) {
  const auto line = [](const char* what, const std::vector<std::string>& ids) {
    if (!ids.empty()) text::print("  {}: {} ({})\n", what, ids.size(), some_of(ids));
  };
  if (since.changed.empty() && since.gone.empty() && since.added.empty()) {
    text::print("rules: the same as those of the run\n");
    return;
  }
  text::print("rules: different from those of the run (fencepost {})\n",
              text::printable(head.run.version));
  line("changed", since.changed);
  line("removed", since.gone);
  line("new, not in the evidence", since.added);
}

// Why a file is refused whose head leaves out what it shows: these cases.
std::string left_out_text(const std::string& file, const std::vector<std::string>& ids) {
  return fmt::format(
      "{}: the selection, cases or capabilities in its header exclude cases that the file "
      "contains: {}; the run did not write this header",
      file, some_of(ids));
}

// Says where this judgement differs from that of the run.
void print_agreement(const std::map<std::string, std::string>& then,
                     const std::map<std::string, std::string>& now) {
  std::vector<std::string> lines;
  std::size_t same = 0;
  std::size_t absent = 0;
  for (const auto& [id, verdict] : then) {
    const auto found = now.find(id);
    if (found == now.end()) continue;
    if (found->second == verdict) {
      ++same;
    } else if (found->second == name(run::Verdict::kNotRun)) {
      ++absent;  // a session that a kill or a signal has cut
    } else {
      lines.push_back(fmt::format("  {}: was {}, is {}", text::printable(id),
                                  text::printable(verdict), found->second));
    }
  }
  text::print("verdicts: {} the same as in the run, {} different\n", same, lines.size());
  if (absent > 0) text::print("  {} of the run have incomplete evidence\n", absent);
  for (const std::string& line : lines) text::print("{}\n", line);
}

struct Judgement {
  const endpoint::Recorded& recorded;
  const report::EvidenceHead& head;
  const scenario::Library& library;
  std::unique_ptr<endpoint::Endpoint> endpoint;
  report::ReportContext context;
  run::SuiteOptions suite;
};

// False after an error was printed where it cannot be read; warns where it is truncated.
bool can_be_judged(const std::string& file,
                   const Result<endpoint::Recorded, std::string>& recorded) {
  if (!recorded) {
    print_error(file + " " + recorded.error());
    return false;
  }
  if (!recorded->twice().empty()) {
    print_error(fmt::format("{} has two sessions of {}, which no run writes", file,
                            some_of({recorded->twice().begin(), recorded->twice().end()})));
    return false;
  }
  if (!recorded->diagnostic().empty()) {
    print_error(
        fmt::format("warning: {}: {}; what comes before is judged", file, recorded->diagnostic()));
  }
  return true;
}

// What the run has decided, with what the evidence says of itself.
Judgement begin(const JudgeOptions& options, const endpoint::Recorded& recorded,
                const report::EvidenceHead& head, const scenario::Library& library) {
  Judgement out{.recorded = recorded,
                .head = head,
                .library = library,
                .endpoint = play(recorded, head.run.context.endpoint, head.capabilities),
                .context = head.run.context,
                .suite = {}};
  if (options.profile) out.context.profile = *options.profile;
  if (options.edition) out.context.edition = *options.edition;
  out.suite.settings = {.profile = out.context.profile,
                        .edition = out.context.edition,
                        .run_id = head.run_id,
                        .seed = out.context.seed,
                        .timeout_scale = head.run.call.timeout_scale};
  out.suite.strict = out.context.strict || options.strict;
  out.context.strict = out.suite.strict;
  out.suite.fresh_connections = true;
  out.suite.was_attempted = [&recorded](const scenario::Case& test_case, int attempt) {
    return recorded.has(run::attempt_name(test_case, attempt));
  };
  return out;
}

// Makes these cases inconclusive, be they in `result` or not, and says why. Returns those that are
// not in `cases` either, which the result refers to.
std::deque<scenario::Case> leave_open(run::SuiteResult& result, const std::vector<std::string>& ids,
                                      const std::vector<scenario::Case>& cases,
                                      const std::string& why) {
  std::deque<scenario::Case> gone;
  const auto entry_of = [&](const std::string& id) -> run::CaseResult& {
    for (run::CaseResult& each : result.cases) {
      if (each.test_case->id == id) return each;
    }
    const auto known = std::find_if(cases.begin(), cases.end(),
                                    [&](const scenario::Case& each) { return each.id == id; });
    const scenario::Case* test_case = known != cases.end() ? &*known : nullptr;
    if (test_case == nullptr) {
      scenario::Case& made = gone.emplace_back();
      made.id = made.title = id;
      made.area = "gone";
      test_case = &made;
    }
    return result.cases.emplace_back(
        run::CaseResult{.test_case = test_case, .failure = {.position = test_case->position}});
  };
  for (const std::string& id : ids) {
    run::CaseResult& entry = entry_of(id);
    entry.verdict = run::Verdict::kInconclusive;
    entry.failure.message = why;
  }
  return gone;
}

// Those of these cases that count for nothing bad so far.
std::vector<std::string> well_or_gone(const run::SuiteResult& result,
                                      std::vector<std::string> ids) {
  for (const run::CaseResult& each : result.cases) {
    const bool well =
        each.verdict == run::Verdict::kPassed || each.verdict == run::Verdict::kSkipped;
    if (!well) std::erase(ids, each.test_case->id);
  }
  return ids;
}

// The history of the concurrent clients, judged again; nothing where there were none.
Result<std::optional<run::StressResult>, std::string> stress_again(const std::string& file,
                                                                   const Judgement& judgement) {
  const auto end = report::read_run_end(judgement.recorded.end());
  if (!end) return fail(file + ": " + end.error());
  const bool has_history = judgement.recorded.has_history();
  if (!end->stress && !has_history) return std::optional<run::StressResult>();
  run::StressResult out = end->stress.value_or(
      run::StressResult{.workload = "unknown", .seed = judgement.context.seed});
  out.command = "fencepost check " + text::shell_word(file);
  if (!has_history && out.requests == 0) return std::optional(std::move(out));  // it did not begin
  if (!has_history) return fail(file + ": the history of the concurrent clients is missing");
  const auto checked = histories::check_history(file, CheckOptions().max_steps);
  if (!checked) return fail(checked.error());
  return std::optional(concurrency::judged_again(*checked, std::move(out)));
}

// Whether the run came to its end, as the result and the reports have it.
void note_end(Judgement& judgement, run::SuiteResult& result) {
  const std::string& diagnostic = judgement.recorded.diagnostic();
  if (result.endpoint_lost) {
    judgement.context.stopped_because =
        "the endpoint was lost during the run: " + result.lost_message;
  } else if (result.summary.not_run > 0 || judgement.recorded.end().empty()) {
    result.interrupted = true;
    judgement.context.stopped_because =
        diagnostic.empty() ? "the run did not finish" : "the evidence ends: " + diagnostic;
  }
}

report::ConsoleOptions style_of(const JudgeOptions& options) {
  report::ConsoleOptions out = report::console_options(stdout);
  out.quiet = options.quiet;
  out.trace = options.trace;
  out.verbose = options.verbose;
  return out;
}

run::ExitCode judge_again(const JudgeOptions& options, Judgement judgement) {
  const scenario::Library& library = judgement.library;
  const target::Descriptor descriptor{.url = judgement.endpoint->url(),
                                      .expiry_tolerance = judgement.head.expiry_tolerance,
                                      .disconnect_settling = judgement.head.disconnect_settling};
  // The evidence has each answer to the preflight, too.
  const auto ready = prepare(*judgement.endpoint, descriptor, 1, judgement.suite);
  if (!ready) {
    print_error(ready.error());
    return ready.error().code;
  }
  const report::LeftOut left_out = report::left_out(
      judgement.head, *judgement.suite.offered, library, [&](const scenario::Case& each) {
        return judgement.recorded.find(run::attempt_name(each, 1)) != nullptr;
      });
  if (!left_out.by_its_head.empty()) {
    print_error(left_out_text(options.file, left_out.by_its_head));
    return run::ExitCode::kUsage;
  }
  judgement.context.preflight = *ready;
  judgement.context.expiry_tolerance = judgement.suite.settings.expiry_tolerance;
  judgement.context.disconnect_settling = judgement.suite.settings.disconnect_settling;
  judgement.context.known_cases = library.known_cases();
  const auto cases = run::select(library.cases, judgement.context.selection);
  stop_on_signals();
  run::SuiteResult result =
      run_suite(*judgement.endpoint, cases, library.catalogue, judgement.suite, stop_flag(),
                [&](const run::CaseResult&, std::size_t, std::size_t) {});
  const report::NotJudged hidden = report::not_judged(judgement.recorded.unread(), judgement.head);
  if (!hidden.of_no_case.empty()) {
    print_error(fmt::format(
        "{}: it has sessions that its cases do not use: {}; the run did not write this file",
        options.file, some_of(hidden.of_no_case)));
    return run::ExitCode::kUsage;
  }
  auto stress = stress_again(options.file, judgement);
  if (!stress) {
    print_error(stress.error());
    return run::ExitCode::kUsage;
  }
  note_end(judgement, result);
  const auto then = judgement.recorded.end().empty()
                        ? verdicts_so_far(judgement.recorded.cases(), judgement.head.run, library)
                        : report::read_run_end(judgement.recorded.end())->verdicts;
  const auto now = report::verdict_texts(result);
  std::vector<std::string> unjudged = report::no_longer_judged(then, now);
  unjudged.insert(unjudged.end(), left_out.by_new_rules.begin(), left_out.by_new_rules.end());
  const auto gone = leave_open(result, unjudged, library.cases,
                               "it did not pass in the run, and this version no longer judges it");
  const auto hidden_gone = leave_open(result, well_or_gone(result, hidden.cases), library.cases,
                                      "the file has requests of this case that this version does "
                                      "not send: their responses are not judged");
  if (*stress) {
    run::mark_failures((*stress)->findings, library.catalogue, judgement.suite.strict, result);
    result.stress = std::move(**stress);
  }
  if (auto end = report::read_run_end(judgement.recorded.end()); end && end->enumeration) {
    // Of its requests the evidence has no packets.
    end->enumeration->error = "as the run judged them, and not again";
    result.enumeration = std::move(end->enumeration);
  }
  run::summarize(result, library.catalogue, judgement.suite.strict);
  report::Console(stdout, style_of(options)).end(result, library.catalogue, judgement.context);
  print_rules(rules_since(judgement.head, library), judgement.head);
  print_agreement(then, now);
  const auto written = write_reports(options.reports, result, library.catalogue, judgement.context);
  return succeeded(written) ? exit_code(result) : run::ExitCode::kInternal;
}

}  // namespace

run::ExitCode judge(const JudgeOptions& options) {
  if (!succeeded(report::check_writable(options.reports))) return run::ExitCode::kUsage;
  const auto file = scenario::read_file(options.file);
  if (!file) {
    print_error(file.error());
    return run::ExitCode::kUsage;
  }
  const auto recorded = endpoint::Recorded::read(file->content);
  if (!can_be_judged(options.file, recorded)) return run::ExitCode::kUsage;
  const auto head = report::read_evidence_head(recorded->head());
  if (!head) {
    print_error(options.file + ": " + head.error());
    return run::ExitCode::kUsage;
  }
  if (!head->has_packets) {
    print_error(fmt::format(
        "{0} has the results of its run, but no requests and responses, which only certify "
        "--evidence records: make reports from it with `fencepost merge {0} --json FILE`",
        text::shell_word(options.file)));
    return run::ExitCode::kUsage;
  }
  const auto* library = open_library(options.scenarios);
  if (!library) return run::ExitCode::kUsage;
  if (!options.quiet) {
    text::print(
        "fencepost judge {}  {}  endpoint {}  run of {}  {} requests, {} messages received\n",
        report::suite_version(), options.file, text::printable(head->run.context.endpoint),
        text::printable(head->run.context.started), recorded->published(), recorded->received());
  }
  return judge_again(options, begin(options, *recorded, *head, *library));
}

}  // namespace fencepost::cli
