// What the commands that judge clients write: the end of the console, and reports.
#pragma once

#include <string>

#include "conformance/client_report/client_report.h"

namespace fencepost::cli {

struct ClientReportFiles {
  std::string json{};  // "-": standard output
  std::string junit{};
  std::string html{};
};

// The summary, on standard output.
void print_client_summary(const client_report::JudgedClients& judged);

// False after a complaint, the others are written all the same.
[[nodiscard]] bool write_client_reports(const client_report::JudgedClients& judged,
                                        const ClientReportFiles& files);

}  // namespace fencepost::cli
