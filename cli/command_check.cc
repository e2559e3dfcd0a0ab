// fencepost check: saved histories of concurrent requests.

#include <fmt/format.h>

#include "base/text/output.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "concurrency/histories/history_check.h"
#include "report/report_files.h"
#include "suite/scenario/library.h"

namespace fencepost::cli {

run::ExitCode check(const CheckOptions& options) {
  if (!options.reports.of("html").empty() && options.files.size() != 1) {
    print_error("--html is for one history");
    return run::ExitCode::kUsage;
  }
  if (!succeeded(report::check_writable(options.reports))) return run::ExitCode::kUsage;
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = load_library({}, errors);  // without the cases
  std::vector<histories::CheckedHistory> all;
  for (const std::string& path : options.files) {
    auto checked = histories::check_history(path, options.max_steps, options.initial);
    if (!checked) {
      print_error(checked.error());
      return run::ExitCode::kUsage;
    }
    if (!options.reports.piped())
      text::print("{}", text::Lines(checked_text(*checked, library.catalogue)));
    all.push_back(std::move(*checked));
  }
  const run::ExitCode code = exit_code(all);
  const auto written = write_checked(all, options.reports, code, library.catalogue, utc_now());
  return succeeded(written) ? code : run::ExitCode::kInternal;
}

}  // namespace fencepost::cli
