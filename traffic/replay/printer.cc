#include "traffic/replay/printer.h"

#include <cstdio>
#include <string_view>

#include <fmt/format.h>

#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "report/report_files.h"

namespace fencepost::replay {
namespace {

using enum text::Colour;

struct OutcomeStyle {
  std::string_view sign;
  text::Colour colour;
};
OutcomeStyle style_of(Replayed outcome) {
  switch (outcome) {
    case Replayed::kFixed:
    case Replayed::kPasses:
      return {"✓", kGreen};
    case Replayed::kInconclusive:
      return {"?", kYellow};
    case Replayed::kSkipped:
      return {"-", kDim};
    case Replayed::kNotRun:
      return {"·", kYellow};
    case Replayed::kStillFailing:
    case Replayed::kChanged:
    case Replayed::kFails:
    case Replayed::kFlaky:
      break;
  }
  return {"✗", kRed};
}

// After the place of a case.
std::string remark(const Replay& replay) {
  if (replay.outcome == Replayed::kFlaky) {
    return fmt::format("failed in {} of {}", replay.failed, text::counted(replay.runs, "run"));
  }
  const bool has_verdict = is_failure(replay.outcome) || replay.result.failure.message.empty();
  return has_verdict ? replay.test_case->title : replay.result.failure.message;
}

}  // namespace

void Printer::begin() const {
  if (style_.quiet) return;
  const report::ReportContext& context = session_.context;
  const std::size_t cases = session_.saved.cases.size();
  const std::size_t files = session_.saved.files.size();
  const std::string edition = context.edition == scenario::Edition::kAuto
                                  ? ""
                                  : fmt::format(" ({} edition)", name(context.edition));
  say("{} {}  endpoint {}  profile {}{}  {} in {}, {} in parallel  seed {}{}\n",
      text::Lines(paint_(kBold, "fencepost replay")), report::suite_version(), context.endpoint,
      name(context.profile), edition, text::counted(cases, "case"), text::counted(files, "file"),
      session_.suite.jobs, context.seed,
      session_.run.runs > 1 ? fmt::format("  {} runs", session_.run.runs) : "");
  std::fflush(stream_);
}

void Printer::end() {
  if (style_.live && !style_.quiet) text::write(stream_, text::kEraseLine, true);
  if (!style_.quiet) print_list();
  for (const Replay& replay : session_.run.cases) explain(replay);
  for (const std::string& line : session_.run.healed) say("healed {}\n", line);
  for (const std::string& line : session_.run.not_healed) say("not healed {}\n", line);
  for (const std::string& form : session_.run.mixed_forms) {
    say("{}\n",
        text::Lines(paint_(kRed, text::one_line("the endpoint mixes both forms of " + form))));
  }
  if (!session_.context.stopped_because.empty()) {
    say("{}\n", text::Lines(paint_(kYellow, text::one_line(session_.context.stopped_because))));
  }
  print_verdict();
}

void Printer::print_list() const {
  say("\n");
  for (const Replay& replay : session_.run.cases) {
    const OutcomeStyle style = style_of(replay.outcome);
    const scenario::Position& at = replay.test_case->position;
    say("  {} {:<13}  {}:{}  {}  {}\n", text::Lines(paint_(style.colour, style.sign)),
        name(replay.outcome), at.file, at.line, replay.test_case->id,
        text::Lines(paint_(kDim, text::one_line(remark(replay)))));
  }
}

void Printer::explain(const Replay& replay) {
  if (!is_failure(replay.outcome) && replay.outcome != Replayed::kInconclusive) return;
  console_.failure(replay.result, session_.saved.catalogue, context_of(replay));
  if (is_failure(replay.outcome)) {
    say("  outcome   {}\n", text::Lines(paint_(kRed, name(replay.outcome))));
  }
  if (replay.runs > 1) {
    say("  runs      failed in {} of {}{}\n", replay.failed, replay.runs,
        replay.always_alike ? "" : ", with different failures");
  }
  const std::optional<scenario::Recorded>& recorded = replay.test_case->recorded;
  if (!recorded || !recorded->failed()) return;
  say("  recorded  {}{}\n",
      recorded->signature.empty() ? recorded->requirement
                                  : run::quoted_signature(recorded->signature),
      recorded->when.empty() ? "" : " on " + recorded->when);
}

// With the command that runs only this case.
const report::ReportContext& Printer::context_of(const Replay& replay) {
  const scenario::Case& test_case = *replay.test_case;
  session_.context.commands[test_case.id] =
      fmt::format("{} --scenarios {} --seed {}", session_.context.command,
                  text::shell_word(test_case.position.file), session_.context.seed);
  return session_.context;
}

void Printer::print_verdict() const {
  say("\n{}\n", summary(session_.run));
  const run::ExitCode code = exit_code(session_.run);
  if (code == run::ExitCode::kConformant) {
    say("{}\n", text::Lines(paint_(kGreen, "no case fails")));
  } else if (code == run::ExitCode::kInconclusive) {
    say("{}\n", text::Lines(paint_(kYellow, "no failure, but not everything could be decided")));
  } else if (code == run::ExitCode::kUsage) {
    say("{}\n", text::Lines(paint_(
                    kRed, "not all cases were run: some files cannot be loaded, see above")));
  }
  std::fflush(stream_);
}

std::string to_junit(const Session& session) {
  run::SuiteResult result;
  for (const Replay& replay : session.run.cases) result.cases.push_back(replay.result);
  run::summarize(result, session.saved.catalogue, /*strict=*/true);
  result.endpoint_lost = session.run.endpoint_lost;
  result.interrupted = session.run.interrupted;
  return report::to_junit(result, session.saved.catalogue, session.context);
}

Result<void, std::string> write_reports(const Session& session, const report::ReportFiles& files) {
  return report::write_reports(files,
                               {{"json", [&] { return to_json(session.run, session.context); }},
                                {"junit", [&] { return to_junit(session); }}});
}

}  // namespace fencepost::replay
