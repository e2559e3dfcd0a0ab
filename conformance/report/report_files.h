// The reports of a run as files: where each goes, and writing them without ever leaving half of
// one.
#pragma once

#include <string>

#include "base/result.h"
#include "conformance/report/report.h"

namespace fencepost::report {

// Where each report goes; empty: nowhere; "-": to standard output, which one report may have.
struct ReportFiles {
  std::string json{};
  std::string junit{};
  std::string html{};
  std::string sarif{};
  std::string badge{};
  bool strict_junit = false;  // see strict_junit() in report.h
};

// From now on what is printed to standard output goes to standard error, and the file "-" to what
// standard output was: a report that is piped on has nothing else in it. Once, before anything is
// printed and before there are threads.
void keep_standard_output_for_a_report();

// Can every report be written? Asked before a run, not after it. The error says which cannot, and
// why.
[[nodiscard]] Result<void, std::string> check_writable(const ReportFiles& files);

// The same for one file.
[[nodiscard]] Result<void, std::string> check_writable(const std::string& path);

// Writes each report that has a place. A report is written beside its place first, so that a full
// disk never leaves half of one; devices and pipes are written to as they are. On failure the other
// reports are written all the same; the error names every one that is not.
[[nodiscard]] Result<void, std::string> write_reports(const ReportFiles& files,
                                                      const run::SuiteResult& result,
                                                      const scenario::Catalogue& catalogue,
                                                      const ReportContext& context);

// Writes one file in the same careful way; "-" is standard output.
[[nodiscard]] Result<void, std::string> write_file(const std::string& path,
                                                   const std::string& content);

}  // namespace fencepost::report
