// fencepost merge: the reports of shards as one.

#include <fmt/format.h>

#include "base/text/output.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "report/console.h"
#include "report/merge.h"
#include "report/report_read.h"
#include "suite/scenario/library.h"

namespace fencepost::cli {
namespace {

void print_parts(const report::Report& merged) {
  const report::ReportContext& context = merged.context;
  text::print("fencepost merge {}  endpoint {}  profile {}  {} reports, {} cases\n",
              report::suite_version(), context.endpoint, name(context.profile),
              context.parts.size(), merged.result.cases.size());
  std::size_t width = 0;
  for (const report::ReportPart& part : context.parts) width = std::max(width, part.file.size());
  for (const report::ReportPart& part : context.parts) {
    text::print("  shard {:<3} {:<{}}  started {}  {:7.2f} s  exit code {}  seed {}\n", part.shard,
                part.file, width, part.started, static_cast<double>(part.duration.count()) / 1e6,
                part.exit_code, part.seed);
  }
}

}  // namespace

run::ExitCode merge(const MergeOptions& options) {
  if (!succeeded(report::check_writable(options.reports))) return run::ExitCode::kUsage;
  const auto* library = open_library(options.scenarios);
  if (!library) return run::ExitCode::kUsage;
  std::vector<report::Report> reports;
  bool bad = false;
  for (const std::string& path : options.files) {
    auto report = report::read_report(path, *library);
    if (report) {
      reports.push_back(std::move(*report));
    } else {
      print_error(report.error());
      bad = true;
    }
  }
  if (bad) return run::ExitCode::kUsage;
  const auto merged = merge_reports(reports, *library);
  if (!merged) {
    print_error(merged.error());
    return run::ExitCode::kUsage;
  }
  if (!options.quiet) print_parts(*merged);
  report::ConsoleOptions console_settings = report::console_options(stdout);
  console_settings.quiet = options.quiet;
  console_settings.trace = options.trace;
  console_settings.verbose = options.verbose;
  report::Console(stdout, console_settings)
      .end(merged->result, library->catalogue, merged->context);
  const auto written =
      write_reports(options.reports, merged->result, library->catalogue, merged->context);
  return succeeded(written) ? exit_code(merged->result) : run::ExitCode::kInternal;
}

}  // namespace fencepost::cli
