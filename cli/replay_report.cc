#include "cli/replay_report.h"

#include <cstdio>
#include <string_view>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "conformance/report/report_files.h"
#include "conformance/run/signature.h"
#include "conformance/text/printable.h"

namespace fencepost::cli {
namespace {

using enum text::Colour;

struct OutcomeStyle {
  std::string_view sign;
  text::Colour colour;
};
OutcomeStyle style_of(replay::Replayed outcome) {
  switch (outcome) {
    case replay::Replayed::kFixed:
    case replay::Replayed::kPasses:
      return {"✓", kGreen};
    case replay::Replayed::kInconclusive:
      return {"?", kYellow};
    case replay::Replayed::kSkipped:
      return {"-", kDim};
    case replay::Replayed::kNotRun:
      return {"·", kYellow};
    case replay::Replayed::kStillFailing:
    case replay::Replayed::kChanged:
    case replay::Replayed::kFails:
    case replay::Replayed::kFlaky:
      break;
  }
  return {"✗", kRed};
}

// Behind the place of a case.
std::string remark(const replay::Replay& replay) {
  if (replay.outcome == replay::Replayed::kFlaky) {
    return fmt::format("failed {} times of {}", replay.failed, replay.runs);
  }
  const bool has_verdict = is_failure(replay.outcome) || replay.result.message.empty();
  return has_verdict ? replay.test_case->title
                     : text::one_line(text::printable(replay.result.message));
}

}  // namespace

void ReplayPrinter::begin() const {
  if (session_.options.quiet) return;
  const report::ReportContext& context = session_.context;
  const std::size_t cases = session_.saved.cases.size();
  const std::size_t files = session_.saved.files.size();
  const std::string wording = context.wording == scenario::Wording::kAuto
                                  ? ""
                                  : fmt::format(" ({} wording)", name(context.wording));
  fmt::print("{} {}  endpoint {}  profile {}{}  {} case{} of {} file{}, {} at once  seed {}{}\n",
             paint_(kBold, "fencepost replay"), report::suite_version(), context.endpoint,
             name(context.profile), wording, cases, cases == 1 ? "" : "s", files,
             files == 1 ? "" : "s", session_.suite.jobs, context.seed,
             session_.options.runs > 1 ? fmt::format("  {} runs", session_.options.runs) : "");
  std::fflush(stdout);
}

void ReplayPrinter::end() {
  if (style_.live && !session_.options.quiet) fmt::print(text::kEraseLine);
  if (!session_.options.quiet) print_list();
  for (const replay::Replay& replay : session_.run.cases) explain(replay);
  for (const std::string& line : session_.run.healed) fmt::print("healed {}\n", line);
  for (const std::string& line : session_.run.not_healed) fmt::print("not healed {}\n", line);
  for (const std::string& form : session_.run.mixed_forms) {
    fmt::print("{}\n", paint_(kRed, "the endpoint mixes both forms of " + form));
  }
  if (!session_.context.stopped_because.empty()) {
    fmt::print("{}\n", paint_(kYellow, session_.context.stopped_because));
  }
  print_verdict();
}

void ReplayPrinter::print_list() const {
  fmt::print("\n");
  for (const replay::Replay& replay : session_.run.cases) {
    const OutcomeStyle style = style_of(replay.outcome);
    const scenario::Position& at = replay.test_case->position;
    fmt::print("  {} {:<13}  {}:{}  {}  {}\n", paint_(style.colour, style.sign),
               name(replay.outcome), at.file, at.line, replay.test_case->id,
               paint_(kDim, remark(replay)));
  }
}

void ReplayPrinter::explain(const replay::Replay& replay) {
  if (!is_failure(replay.outcome) && replay.outcome != replay::Replayed::kInconclusive) return;
  console_.failure(replay.result, session_.saved.catalogue, context_of(replay));
  if (is_failure(replay.outcome)) {
    fmt::print("  outcome   {}\n", paint_(kRed, name(replay.outcome)));
  }
  if (replay.runs > 1) {
    fmt::print("  runs      failed {} times of {}{}\n", replay.failed, replay.runs,
               replay.always_alike ? "" : ", not always alike");
  }
  const std::optional<scenario::Recorded>& recorded = replay.test_case->recorded;
  if (!recorded || !recorded->failed()) return;
  fmt::print("  recorded  {}{}\n",
             recorded->signature.empty() ? recorded->requirement
                                         : run::quoted_signature(recorded->signature),
             recorded->when.empty() ? "" : " on " + recorded->when);
}

// With the command that runs this case alone.
const report::ReportContext& ReplayPrinter::context_of(const replay::Replay& replay) {
  const scenario::Case& test_case = *replay.test_case;
  session_.context.commands[test_case.id] =
      fmt::format("{} --scenarios {} --seed {}", session_.context.command,
                  text::shell_word(test_case.position.file), session_.context.seed);
  return session_.context;
}

void ReplayPrinter::print_verdict() const {
  fmt::print("\n{}\n", summary(session_.run));
  const run::ExitCode code = exit_code(session_.run);
  if (code == run::ExitCode::kConformant) {
    fmt::print("{}\n", paint_(kGreen, "nothing of this fails"));
  } else if (code == run::ExitCode::kInconclusive) {
    fmt::print("{}\n", paint_(kYellow, "no failure, but not everything could be decided"));
  } else if (code == run::ExitCode::kUsage) {
    fmt::print("{}\n",
               paint_(kRed, "not everything was run: files that cannot be loaded, see above"));
  }
  std::fflush(stdout);
}

bool write_reports(const ReplaySession& session) {
  bool written = true;
  const auto note = [&](const Result<void, std::string>& result) {
    if (!result) complain(result.error());
    written = written && result.has_value();
  };
  if (!session.options.json.empty()) {
    note(report::write_file(session.options.json, to_json(session.run, session.context)));
  }
  if (!session.options.junit.empty()) {
    run::SuiteResult result;
    for (const replay::Replay& replay : session.run.cases) result.cases.push_back(replay.result);
    run::summarize(result, session.saved.catalogue, /*strict=*/true);
    result.endpoint_lost = session.run.endpoint_lost;
    result.interrupted = session.run.interrupted;
    note(report::write_file(session.options.junit,
                            to_junit(result, session.saved.catalogue, session.context)));
  }
  return written;
}

}  // namespace fencepost::cli
