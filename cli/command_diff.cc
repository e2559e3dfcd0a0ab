// fencepost diff: what two endpoints, or two runs, do differently.

#include <cstdio>
#include <filesystem>
#include <random>

#include <fmt/format.h>

#include "base/text/output.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "endpoint/url.h"
#include "report/console.h"
#include "report/diff.h"
#include "report/diff_report.h"
#include "report/report_read.h"
#include "suite/scenario/library.h"

namespace fencepost::cli {
namespace {

enum class SideKind { kReport, kDescriptor, kUrl };

// One of the two, before and after it has become a report.
struct Side {
  const char* letter;
  std::string argument;
  SideKind kind = SideKind::kReport;
  std::string name{};  // for people; without password
  std::optional<report::Report> report{};
};

// URLs and descriptors are recognised by their form, so that a mistyped name is a missing file and
// not an endpoint that cannot be reached.
Side classify(const char* letter, const std::string& argument) {
  Side side{.letter = letter, .argument = argument, .name = argument};
  const std::string extension = std::filesystem::path(argument).extension().string();
  if (const auto url = endpoint::parse_url(argument)) {
    side.kind = SideKind::kUrl;
    const bool ours =
        url->scheme == endpoint::Scheme::kEmbedded || url->scheme == endpoint::Scheme::kInProcess;
    if (!ours) side.name = url->display();
  } else if (extension == ".yaml" || extension == ".yml") {
    side.kind = SideKind::kDescriptor;
  }
  return side;
}

// What is no file may be a URL that was mistyped.
bool read(Side& side, const scenario::Library& library) {
  std::error_code failed;
  if (!std::filesystem::exists(side.argument, failed)) {
    const auto url = endpoint::parse_url(side.argument);
    complain(fmt::format("{} is neither a file nor an endpoint: {}", side.letter,
                         url ? "" : url.error()));
    return false;
  }
  auto report = report::read_report(side.argument, library);
  if (report) {
    side.report = std::move(*report);
    return true;
  }
  complain(report.error());
  complain(fmt::format("{} was taken for a JSON report; the name of a descriptor must end in .yaml",
                       side.letter));
  return false;
}

bool selects_all(const run::Selection& selection) {
  return selection.run.empty() && selection.skip.empty() && selection.tags.empty() &&
         selection.requirements.empty();
}

// How an endpoint is run: as the report that it is compared with was, where nothing else is said.
CertifyOptions run_options(const DiffOptions& options, const Side& side, const Side& other) {
  CertifyOptions run;
  run.no_github = true;
  if (side.kind == SideKind::kUrl) run.endpoint = side.argument;
  if (side.kind == SideKind::kDescriptor) run.descriptor = side.argument;
  run.scenarios = options.scenarios;
  run.strict = options.strict;
  run.selection = options.selection;
  run.jobs = options.jobs;
  run.timeout_scale = options.timeout_scale;
  run.seed = options.seed;
  run.program = options.program;
  run.progress_only = true;
  run.stress = "none";  // of the cases alone can be said whether they differ
  if (!options.profile.empty()) run.profile = options.profile;
  if (other.kind != SideKind::kReport) return run;
  const report::ReportContext& context = other.report->context;
  run.strict = run.strict || context.strict;
  if (options.profile.empty()) run.profile = name(context.profile);
  run.wording = name(context.wording);
  if (!run.seed) run.seed = context.seed;
  if (selects_all(run.selection)) run.selection = context.selection;
  return run;
}

// Runs an endpoint. What is not kConformant ends the comparison with that exit code.
run::ExitCode run(Side& side, CertifyOptions options, const scenario::Library& library) {
  print_error("running {}: {}\n", side.letter, side.name);
  std::string document;
  options.document = &document;
  const run::ExitCode code = certify(options);
  if (stop_flag()) return run::ExitCode::kInterrupted;  // there is nothing to compare
  const bool over = code == run::ExitCode::kUsage || code == run::ExitCode::kInternal ||
                    code == run::ExitCode::kNothingSelected;
  if (over) return code;
  auto report = report::read_report(scenario::SourceFile{side.name, document}, library);
  if (!report) {
    complain(report.error());
    return run::ExitCode::kInternal;
  }
  if (report->result.interrupted) return run::ExitCode::kInterrupted;
  // Nothing has run where there is no verdict at all: certify has said why.
  const bool not_begun =
      report->result.endpoint_lost && report->result.summary.not_run == report->result.cases.size();
  if (not_begun) return run::ExitCode::kUnreachable;
  side.report = std::move(*report);
  return run::ExitCode::kConformant;
}

run::ExitCode show(const DiffOptions& options, const Side& a, const Side& b,
                   const scenario::Library& library) {
  const report::Comparison found = compare(*a.report, *b.report, library.catalogue);
  const report::DiffSubject subject{a.name, b.name, *a.report, *b.report, library.catalogue};
  if (options.quiet) {
    text::print("{}\n", diff_verdict(found));
  } else {
    text::print("{}",
                text::Lines(diff_text(found, subject, report::console_options(stdout).colour)));
  }
  std::fflush(stdout);
  const auto written =
      report::write_reports(options.reports, {{"json", [&] { return diff_json(found, subject); }}});
  return succeeded(written) ? exit_code(found) : run::ExitCode::kInternal;
}

}  // namespace

run::ExitCode diff(const DiffOptions& given) {
  DiffOptions options = given;
  if (!succeeded(report::check_writable(options.reports))) return run::ExitCode::kUsage;
  const auto library = open_library(options.scenarios);
  if (!library) return run::ExitCode::kUsage;
  Side a = classify("A", options.a);
  Side b = classify("B", options.b);
  const bool reports = a.kind == SideKind::kReport || b.kind == SideKind::kReport;
  if (!reports && !options.seed) options.seed = std::random_device()();
  for (Side* side : {&a, &b}) {
    if (side->kind == SideKind::kReport && !read(*side, *library)) return run::ExitCode::kUsage;
  }
  for (auto [side, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (side->kind == SideKind::kReport) continue;
    const run::ExitCode code = run(*side, run_options(options, *side, *other), *library);
    if (code != run::ExitCode::kConformant) return code;
  }
  for (Side* side : {&a, &b}) {
    if (!selects_all(options.selection)) {
      side->report = selected(std::move(*side->report), options.selection, library->catalogue);
    }
  }
  return show(options, a, b, *library);
}

}  // namespace fencepost::cli
