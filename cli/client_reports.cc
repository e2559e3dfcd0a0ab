#include "cli/client_reports.h"

#include <cstdio>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "conformance/report/report_files.h"
#include "conformance/text/output.h"

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
                          const ClientReportFiles& files) {
  bool all = true;
  const auto write = [&all](const std::string& path, const std::string& content) {
    if (const auto written = report::write_file(path, content); !written) {
      complain(written.error());
      all = false;
    }
  };
  if (!files.json.empty()) write(files.json, client_report::json_of(judged));
  if (!files.junit.empty()) write(files.junit, client_report::junit_of(judged));
  if (!files.html.empty()) write(files.html, client_report::html_of(judged));
  return all;
}

}  // namespace fencepost::cli
