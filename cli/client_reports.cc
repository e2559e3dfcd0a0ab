#include "cli/client_reports.h"

#include <cstdio>

#include <fmt/format.h>

#include "base/text/output.h"
#include "cli/command_support.h"

namespace fencepost::cli {

void print_client_summary(const client_report::JudgedClients& judged) {
  const std::string summary = client_report::summary_of(judged);
  for (std::size_t at = 0; at < summary.size();) {
    const std::size_t line_end = summary.find('\n', at);
    text::print("fencepost: {}\n", summary.substr(at, line_end - at));
    at = line_end + 1;
  }
  std::fflush(stdout);
}

bool write_client_reports(const client_report::JudgedClients& judged,
                          const report::ReportFiles& files) {
  return succeeded(report::write_reports(
      files, {{"json", [&] { return client_report::json_of(judged); }},
              {"junit", [&] { return client_report::junit_of(judged, utc_now()); }},
              {"html", [&] { return client_report::html_of(judged); }}}));
}

}  // namespace fencepost::cli
