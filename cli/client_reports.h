// What the commands that judge clients write: the end of the console, and reports.
#pragma once

#include "clients/client_report/client_report.h"
#include "report/report_files.h"

namespace fencepost::cli {

// The summary, on standard output.
void print_client_summary(const client_report::JudgedClients& judged);

// json, junit and html. False after an error was printed; the others are still written.
[[nodiscard]] bool write_client_reports(const client_report::JudgedClients& judged,
                                        const report::ReportFiles& files);

}  // namespace fencepost::cli
