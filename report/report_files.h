// The reports of a run as files: where each goes, and writing them without ever leaving half of
// one.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "report/report.h"

namespace fencepost::report {

// A kind of report of a run of cases: all that options, files and journals know of it.
struct ReportKind {
  const char* name;  // "json": of its option, and in journals
  const char* help;  // of its option
  std::string (*render)(const run::SuiteResult&, const scenario::Catalogue&, const ReportContext&);
};
// All there are, in the order of the help. A new one needs a line here, and nothing else.
[[nodiscard]] std::span<const ReportKind> report_kinds();

// Where each report of a command goes, by its kind, in the order in which the kinds were first
// named: "json" -> "report.json". Empty: nowhere; "-": to standard output, which one report may
// have.
class ReportFiles {
 public:
  ReportFiles() = default;
  ReportFiles(std::initializer_list<std::pair<std::string, std::string>> places)
      : places_(places) {}

  void set(std::string_view kind, std::string path);
  // Empty where the kind was not named, too.
  [[nodiscard]] const std::string& of(std::string_view kind) const;
  // The places that are not empty.
  [[nodiscard]] std::vector<std::string> paths() const;
  [[nodiscard]] bool none() const { return paths().empty(); }
  // Does one go to standard output?
  [[nodiscard]] bool piped() const;

 private:
  std::vector<std::pair<std::string, std::string>> places_;
};

// From now on what is printed to standard output goes to standard error, and the file "-" to what
// standard output was: a report that is piped on has nothing else in it. Once, before anything is
// printed and before there are threads.
void keep_standard_output_for_a_report();

// Can every report be written? Checked before a run, not after it. The error says which cannot, and
// why.
[[nodiscard]] Result<void, std::string> check_writable(const ReportFiles& files);

// The same for one file.
[[nodiscard]] Result<void, std::string> check_writable(const std::string& path);

// What makes the report of a kind; the error says why there is none.
struct Renderer {
  std::string_view kind;
  std::function<Result<std::string, std::string>()> render;
};

// Makes and writes each report that has a place. A report is written beside its place first, so
// that a full disk never leaves half of one; devices and pipes are written to as they are. On
// failure the other reports are written all the same; the error names every one that is not, a line
// each.
[[nodiscard]] Result<void, std::string> write_reports(const ReportFiles& files,
                                                      const std::vector<Renderer>& renderers);

// The same, of the kinds that report_kinds() has.
[[nodiscard]] Result<void, std::string> write_reports(const ReportFiles& files,
                                                      const run::SuiteResult& result,
                                                      const scenario::Catalogue& catalogue,
                                                      const ReportContext& context);

// Writes one file in the same careful way; "-" is standard output.
[[nodiscard]] Result<void, std::string> write_file(const std::string& path,
                                                   const std::string& content);

}  // namespace fencepost::report
