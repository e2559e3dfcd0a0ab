// What people see of a run on a terminal or in a log.
#pragma once

#include <cstdio>
#include <string>

#include "conformance/report/differences.h"
#include "conformance/report/report.h"
#include "conformance/run/suite.h"
#include "conformance/scenario/requirement.h"
#include "conformance/text/colour.h"

namespace fencepost::report {

struct ConsoleOptions {
  bool colour = false;
  bool live = false;           // one line that is written again and again
  bool quiet = false;          // failures and the summary only
  bool trace = false;          // the whole transcript of each failure
  bool verbose = false;        // each case and each difference in full
  bool progress_only = false;  // the live line, if any, and nothing else
};

// Colour and live progress when `stream` is a terminal and NO_COLOR is not set.
[[nodiscard]] ConsoleOptions console_options(std::FILE* stream);

// Prints one run: begin(), progress() for each case that is done, end(). Not thread safe, so that
// progress() is called as run::run_suite() calls it: one call at a time. An error of the stream is
// ignored, as there is nowhere to report it.
class Console {
 public:
  // `stream` is not closed, and must outlive the object.
  Console(std::FILE* stream, ConsoleOptions options)
      : stream_(stream), options_(options), paint_(options.colour) {}

  // `catalogue` must outlive the calls of progress(): it distinguishes failures from warnings.
  void begin(const ReportContext& context, const scenario::Catalogue& catalogue, std::size_t cases,
             std::size_t jobs);
  // Counts the failure, if it is one, and writes the live line again.
  void progress(const run::CaseResult& result, std::size_t done, std::size_t total);
  // What certify says of one case that failed or is inconclusive.
  void failure(const run::CaseResult& result, const scenario::Catalogue& catalogue,
               const ReportContext& context);
  // What became of the cases, each difference that explains failures, and the summary.
  void end(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
           const ReportContext& context);

 private:
  void clear_line();
  void failure(const run::CaseResult& result, const std::string& rule,
               const scenario::Catalogue& catalogue, const ReportContext& context);
  void print_reproduce(const run::CaseResult& result, const ReportContext& context);
  void print_rule(const std::string& id, const scenario::Catalogue& catalogue);
  void print_areas(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                   bool strict);
  void print_differences(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                         const ReportContext& context);
  void print_difference(const Difference& found, bool in_full, const scenario::Catalogue& catalogue,
                        const ReportContext& context);
  [[nodiscard]] std::string others_of(const Difference& found) const;
  void print_others(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                    const ReportContext& context);
  void print_tree(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                  bool strict);
  void print_waived(const run::SuiteResult& result, const scenario::Catalogue& catalogue);
  void print_summary(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                     const ReportContext& context);
  void print_verdict(const run::SuiteResult& result);
  void line(const std::string& text);

  std::FILE* stream_;
  ConsoleOptions options_;
  text::Paint paint_;
  const scenario::Catalogue* catalogue_ = nullptr;
  bool strict_ = false;
  std::size_t failed_ = 0;
  std::size_t warnings_ = 0;
};

}  // namespace fencepost::report
