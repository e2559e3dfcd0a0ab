// What GitHub Actions shows of a run, when it is GitHub Actions that runs it: annotations at the
// lines that failed, a summary of the step and outputs for later steps.
//
//   const Github github(wanted, variable_of_this_process);
//   text::write_commands(stdout, github.annotations(result, catalogue, context));
//   github.write_files(result, catalogue, context);
//
// Elsewhere, or with --no-github, all texts are empty and nothing is written. The limits are
// GitHub's: what is more than 10 annotations of a kind, or a summary of more than 1 MiB, it drops
// without a word.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/report.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"

namespace fencepost::report {

// The value of an environment variable; nothing when it is not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// Those of this process.
[[nodiscard]] std::optional<std::string> variable_of_this_process(const std::string& name);

inline constexpr std::size_t kMaxAnnotationsPerLevel = 10;
inline constexpr std::size_t kMaxSummaryBytes = 1024UL * 1024UL;

// Thread safe; the variables are read once.
class Github {
 public:
  Github(bool wanted, const Variables& variables);

  [[nodiscard]] bool on() const { return on_; }

  // What a store sends may stand in the console's text, and must not be a command to the runner:
  // between the two lines there are no commands. `token` is a word that nobody can guess.
  [[nodiscard]] std::string pause_commands(const std::string& token) const;
  [[nodiscard]] std::string resume_commands(const std::string& token) const;

  // Errors and warnings at the lines of the failed steps, the worst first. If there are more than
  // fit, the last says how many are left out.
  [[nodiscard]] std::string annotations(const run::SuiteResult& result,
                                        const scenario::Catalogue& catalogue,
                                        const ReportContext& context) const;

  // Appends the summary and the outputs to the files that GitHub names. The error says what could
  // not be written; the other file is written all the same.
  [[nodiscard]] Result<void, std::string> write_files(const run::SuiteResult& result,
                                                      const scenario::Catalogue& catalogue,
                                                      const ReportContext& context) const;

 private:
  bool on_ = false;
  std::string workspace_;
  std::string summary_file_;
  std::string output_file_;
};

// Markdown of at most `most_bytes`; what does not fit is left out, and a note says so. Empty when
// not even its head fits.
[[nodiscard]] std::string github_summary(const run::SuiteResult& result,
                                         const scenario::Catalogue& catalogue,
                                         const ReportContext& context, std::size_t most_bytes);

// verdict (see verdict_word), exit_code and the counts, as lines NAME=VALUE.
[[nodiscard]] std::string github_outputs(const run::SuiteResult& result,
                                         const ReportContext& context);

}  // namespace fencepost::report
