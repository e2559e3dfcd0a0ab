// What people see of a run on a terminal or in a log.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/text/colour.h"
#include "report/report.h"
#include "report/root_causes.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"

namespace fencepost::report {

struct ConsoleOptions {
  bool colour = false;
  bool live = false;                // one line that is written again and again
  bool screen = false;              // a terminal: long texts are cut, unless verbose
  std::size_t width = 0;            // longer lines are broken; 0: they are not
  bool quiet = false;               // the first line, failures and the summary only
  bool trace = false;               // the whole transcript of each failure
  bool verbose = false;             // each case and each root cause in full
  std::vector<std::string> show{};  // a line for each case of these verdicts; "warning" is one
  bool progress_only = false;       // the live line, if any, and nothing else
  // Where there is no live line: how often a line says how far the run has come.
  std::chrono::milliseconds heartbeat{10'000};
};

// Colour, live progress and its width when `stream` is a terminal, else a width of 100; no colour
// where NO_COLOR is set, and neither colour nor progress on a dumb terminal.
[[nodiscard]] ConsoleOptions console_options(std::FILE* stream);

// Prints one run: begin(), progress() for each case that is done, end(). Not thread safe, so that
// progress() is called as run::run_suite() calls it: one call at a time. An error of the stream is
// ignored, as there is nowhere to report it.
class Console {
 public:
  // `stream` is not closed, and must outlive the object.
  Console(std::FILE* stream, ConsoleOptions options)
      : stream_(stream), options_(std::move(options)), paint_(options_.colour) {}

  // `catalogue` must outlive the calls of progress(): it distinguishes failures from warnings.
  void begin(const ReportContext& context, const scenario::Catalogue& catalogue, std::size_t cases,
             std::size_t jobs);
  // Counts the failure, if it is one, and writes the live line again, or, when one is due, a line
  // that says how far the run has come.
  void progress(const run::CaseResult& result, std::size_t done, std::size_t total);
  // That progress() has counted: no warnings. To be called as progress() is.
  [[nodiscard]] std::size_t failures() const { return failed_; }
  // What certify says of one case that failed or is inconclusive.
  void failure(const run::CaseResult& result, const scenario::Catalogue& catalogue,
               const ReportContext& context);
  // The results of the cases, each root cause of failures, and the summary.
  void end(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
           const ReportContext& context);

 private:
  void clear_line();
  void failure(const run::CaseResult& result, const std::string& rule,
               const scenario::Catalogue& catalogue, const ReportContext& context);
  void print_reproduce(const run::CaseResult& result, const ReportContext& context);
  void print_title(const std::string& id, const scenario::Case& test_case);
  void print_rule(const std::string& id, const scenario::Catalogue& catalogue, std::size_t most);
  void print_areas(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                   bool strict);
  void print_root_causes(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                         const ReportContext& context);
  void print_root_cause(const Difference& found, bool in_full, const scenario::Catalogue& catalogue,
                        const ReportContext& context);
  [[nodiscard]] std::string others_of(const Difference& found) const;
  void print_others(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                    const ReportContext& context);
  [[nodiscard]] bool is_shown(const run::CaseResult& entry, const scenario::Catalogue& catalogue,
                              bool strict) const;
  void print_tree(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                  bool strict);
  void print_waived(const run::SuiteResult& result, const scenario::Catalogue& catalogue);
  void print_phases(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                    const ReportContext& context);
  void print_summary(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                     const ReportContext& context);
  void print_verdict(const run::SuiteResult& result, const ReportContext& context);
  void print_skipped(const run::SuiteResult& result);
  // One line, broken at the width; what follows the break is indented.
  void line(const std::string& text);
  // Are texts cut: on a terminal, without --verbose and --trace?
  [[nodiscard]] bool is_short() const;
  // The text behind a label, cut to about `most` lines where the output is short.
  [[nodiscard]] std::string fitted(const std::string& text, std::size_t most) const;
  // A line that people copy: never broken.
  void whole_line(const std::string& text);

  std::FILE* stream_;
  ConsoleOptions options_;
  text::Paint paint_;
  const scenario::Catalogue* catalogue_ = nullptr;
  bool strict_ = false;
  std::size_t failed_ = 0;
  std::size_t warnings_ = 0;
  std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
};

}  // namespace fencepost::report
