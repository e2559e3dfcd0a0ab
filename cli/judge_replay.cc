// The evidence of `replay`: the cases that it has, run again, answered by the file.

#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/judge_kinds.h"
#include "cli/run_evidence.h"
#include "conformance/replay/printer.h"
#include "conformance/report/console.h"
#include "conformance/text/output.h"
#include "endpoint/recorded.h"

namespace fencepost::cli {
namespace {

bool is_not_run(const std::string& verdict) {
  return verdict == name(run::Verdict::kNotRun) || verdict == name(run::Verdict::kLost);
}

void print_agreement(const std::map<std::string, std::string>& then,
                     const std::map<std::string, std::string>& now) {
  Agreement agreement;
  for (const auto& [part, verdict] : then) {
    const auto found = now.find(part);
    if (found == now.end() || (is_not_run(found->second) && !is_not_run(verdict))) {
      agreement.miss();
    } else {
      agreement.compare(part, verdict, found->second);
    }
  }
  agreement.print();
}

// Runs them again; an exit code where what was asked before them has led to nothing.
Result<std::map<std::string, std::string>, run::ExitCode> play_rounds(
    const EvidenceFile& file, const endpoint::Recorded& recorded, replay::Session& session) {
  const report::EvidenceHead& head = file.head;
  const std::string& url = head.run.context.endpoint;
  const auto first = play(recorded, url, head.capabilities);
  const auto ready = prepare(*first,
                             {.url = url,
                              .expiry_tolerance = head.expiry_tolerance,
                              .disconnect_settling = head.disconnect_settling},
                             1, session.suite);
  if (!ready) {
    if (recorded.end().empty()) return fail(run::ExitCode::kInterrupted);
    complain(ready.error());
    return fail(ready.error().code);
  }
  session.context.preflight = *ready;
  std::map<std::string, std::string> out;
  std::vector<std::unique_ptr<endpoint::Endpoint>> rounds;
  run_rounds(
      session,
      {.endpoint = [&](const std::string& round) -> endpoint::Endpoint& {
         return *rounds.emplace_back(play(recorded, url, head.capabilities, round));
       },
       .progress = [](const run::CaseResult&, std::size_t, std::size_t) {},
       .judged = [&](const std::string& part, const std::string& verdict) { out[part] = verdict; },
       .was_attempted = [&](const std::string& caller) { return recorded.has(caller); }},
      stop_flag());
  return out;
}

}  // namespace

run::ExitCode judge_replay(const JudgeOptions& options, const EvidenceFile& file) {
  const auto recorded = endpoint::Recorded::read(file.content);
  if (!can_be_judged(file.name, recorded)) return run::ExitCode::kUsage;
  replay::Session session{.saved = {}, .context = file.head.run.context};
  if (const auto read = replay::read_cases_json(file.head.own, session); !read) {
    complain(file.name + ": " + read.error());
    return run::ExitCode::kUsage;
  }
  for (const std::string& error : session.run.load_errors) complain(error);
  session.suite.strict = true;
  session.suite.fresh_connections = true;
  session.suite.settings = {.profile = session.context.profile,
                            .wording = session.context.wording,
                            .run_id = file.head.run_id,
                            .seed = session.context.seed,
                            .timeout_scale = file.head.run.call.timeout_scale};
  if (!options.quiet) {
    text::print("{}  {} requests, {} messages received\n", describe(file), recorded->published(),
                recorded->received());
  }
  const auto end = read_run_end(recorded->end());
  const auto now = play_rounds(file, *recorded, session);
  if (!now) return now.error();
  std::vector<std::string> hidden = recorded->unread();
  // What a kill or a signal has cut cannot be judged to its end.
  if (!end || end->exit_code == static_cast<int>(run::ExitCode::kInterrupted)) {
    std::erase_if(hidden, [&](const std::string& each) { return !recorded->has(each); });
  }
  if (!hidden.empty()) {
    complain(left_out_text(file.name, hidden));
    return run::ExitCode::kUsage;
  }
  session.run.interrupted = !end || end->exit_code == static_cast<int>(run::ExitCode::kInterrupted);
  if (session.run.endpoint_lost) {
    session.context.stopped_because = "the endpoint was lost during the run";
  } else if (session.run.interrupted) {
    session.context.stopped_because = "the run did not come to its end";
  }
  report::ConsoleOptions style = report::console_options(stdout);
  style.quiet = options.quiet;
  style.trace = options.trace;
  report::Console console(stdout, style);
  replay::Printer(session, stdout, style, console).end();
  const scenario::Library rules{.catalogue = session.saved.catalogue, .cases = session.saved.cases};
  print_rules(rules_since(file.head, rules), file.head);
  print_agreement(recorded->said(), *now);
  if (const auto gone = report::no_longer_judged(recorded->said(), *now); !gone.empty()) {
    complain(left_out_text(file.name, gone));
    return run::ExitCode::kUsage;
  }
  const bool written = succeeded(replay::write_reports(session, options.reports));
  return written ? exit_code(session.run) : run::ExitCode::kInternal;
}

}  // namespace fencepost::cli
