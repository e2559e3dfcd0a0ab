// The command that shows which case checks which requirement.

#include <fmt/format.h>

#include "base/text/output.h"
#include "base/text/text_wrap.h"
#include "cli/client_cases.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "report/console.h"
#include "report/report_files.h"
#include "selftest/matrix/matrix.h"
#include "selftest/matrix/matrix_formats.h"
#include "suite/scenario/library.h"

namespace fencepost::cli {
namespace {

bool refuse(const std::string& text) {
  print_error("fencepost: {}\n", text);
  return false;
}

// Adds what the report at `path` found, if there is a path. False after an error was printed.
bool read_report(const std::string& path, matrix::Matrix& matrix) {
  if (path.empty()) return true;
  const auto file = scenario::read_file(path);
  if (!file) return refuse(file.error());
  auto findings = matrix::read_findings(file->content);
  if (!findings) return refuse(fmt::format("cannot use the report {}: {}", path, findings.error()));
  add_findings(matrix, std::move(*findings));
  if (matrix.absent_cases == matrix.library->cases.size()) {
    return refuse("the report " + path + " contains none of these cases");
  }
  return true;
}

}  // namespace

run::ExitCode matrix(const MatrixOptions& options) {
  const auto* library = open_library(options.scenarios);
  if (!library) return run::ExitCode::kUsage;
  matrix::Matrix matrix = matrix::make_matrix(*library);
  add_client_cases(matrix, client_cases_by_rule(library->catalogue));
  if (!read_report(options.report, matrix)) return run::ExitCode::kUsage;
  const auto written = report::write_reports(
      options.reports, {{"json", [&] { return matrix_json(matrix); }},
                        {"html", [&] { return matrix_html(matrix); }},
                        {"markdown", [&] { return matrix_markdown(matrix); }}});
  if (!succeeded(written)) return run::ExitCode::kUsage;
  if (!options.reports.piped()) {
    text::print("{}",
                text::Lines(matrix_text(matrix, {.width = text::terminal_width(stdout),
                                                 .colour = report::console_options(stdout).colour,
                                                 .full = options.full})));
  }
  const bool complete = matrix.gaps(scenario::Level::kMust).empty();
  return complete ? run::ExitCode::kConformant : run::ExitCode::kFailed;
}

}  // namespace fencepost::cli
