// Reports of a run: JSON (docs/report.schema.json), JUnit XML (docs/junit.xsd), HTML, SARIF 2.1.0,
// a badge.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suite/run/preflight.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"

namespace fencepost::report {

// One of the reports that a merged one was made of.
struct ReportPart {
  std::string file{};
  std::size_t shard = 1;  // from 1
  std::uint64_t seed = 0;
  std::string started{};
  std::chrono::microseconds duration{0};
  int exit_code = 0;  // of that run
  std::string stopped_because{};
};

// The cases of which a report has the messages. They are nine tenths of a report that has them all.
enum class Transcripts {
  kFailures,  // those that did not pass
  kAll,
};

// "failures" or "all".
[[nodiscard]] std::string_view name(Transcripts transcripts);
// The inverse; nothing for any other word.
[[nodiscard]] std::optional<Transcripts> transcripts_named(std::string_view word);

// What a report says beyond the results.
struct ReportContext {
  std::string endpoint{};  // URL without password
  codec::Profile profile = codec::Profile::kAuto;
  scenario::Edition edition = scenario::Edition::kAuto;  // as requested
  std::uint64_t seed = 0;
  bool strict = false;
  std::string command{};  // how the suite was called, e.g. `fencepost certify --endpoint embedded`
  std::string started{};  // ISO 8601, UTC
  run::PreflightReport preflight{};
  // What the store was allowed; nothing in a report that does not say it.
  std::optional<std::chrono::milliseconds> expiry_tolerance{};
  std::optional<std::chrono::milliseconds> disconnect_settling{};
  std::string stopped_because{};  // why cases were not run, when some were not
  run::Selection selection{};     // which cases the run was to have
  // Only in a merged report: what it was made of, and by case id the command of the run that had
  // the case, where that is not `command`.
  std::vector<ReportPart> parts{};
  std::map<std::string, std::string> commands{};
  // How many cases there were to select from: fewer results are a part of a run. 0: unknown.
  std::size_t known_cases = 0;
  Transcripts transcripts = Transcripts::kAll;
  // Where the suite ran: "system", "libraries", "job" -> text. Empty where nobody said it.
  std::map<std::string, std::string> environment{};
};

// "1 of 1927 cases selected" where the run is a part of what there is: then it is not a statement
// of conformance. Empty where it is all, or nobody knows.
[[nodiscard]] std::string part_text(const run::SuiteResult& result, const ReportContext& context);
// The same for `cases` of `known_cases`; 0: the number of all cases is unknown.
[[nodiscard]] std::string part_text(std::size_t cases, std::size_t known_cases);

// Does the report have the messages of this case?
[[nodiscard]] bool has_transcript(const run::CaseResult& result, const ReportContext& context);

// What the store was judged by, and how many rules that is; and that it was not requested and
// nothing has shown it, where that is so.
[[nodiscard]] std::string basis_text(const run::SuiteResult& result,
                                     const scenario::Catalogue& catalogue,
                                     const ReportContext& context);

// What became of a case before it was run once more: `inconclusive: no response`.
[[nodiscard]] std::string attempt_text(const run::Attempt& attempt);

// The command that runs one case again as it ran here, with its seed; where it is known to pass by
// itself, with the cases that it needs: of a part of the run, or of the whole run. Its words are
// quoted for the shell.
[[nodiscard]] std::string reproduce_command(const ReportContext& context,
                                            const run::CaseResult& result);

// What that command has behind `command`.
[[nodiscard]] std::string reproduce_selection(const ReportContext& context,
                                              const run::CaseResult& result);

// "it passes in isolation: the command repeats the run"; empty for what fails in isolation, or was
// not tried.
[[nodiscard]] std::string alone_text(const run::CaseResult& result);

// The reports below are valid UTF-8: bytes of a peer are escaped. The cases are in the order of
// the result. Pure: the same arguments make the same text. The cases of `result` must still exist.

// As docs/report.schema.json says.
[[nodiscard]] std::string to_json(const run::SuiteResult& result,
                                  const scenario::Catalogue& catalogue,
                                  const ReportContext& context);
// As docs/junit.xsd says: a case is a test case, an area a test suite. Long texts are cut.
[[nodiscard]] std::string to_junit(const run::SuiteResult& result,
                                   const scenario::Catalogue& catalogue,
                                   const ReportContext& context);
// One self-contained page, for people.
[[nodiscard]] std::string to_html(const run::SuiteResult& result,
                                  const scenario::Catalogue& catalogue,
                                  const ReportContext& context);
// A log of results that are problems, for code scanning: a rule is a requirement.
[[nodiscard]] std::string to_sarif(const run::SuiteResult& result,
                                   const scenario::Catalogue& catalogue,
                                   const ReportContext& context);
// What a badge service draws: how many of the MUST requirements that the run covers are kept.
[[nodiscard]] std::string to_badge(const run::SuiteResult& result,
                                   const scenario::Catalogue& catalogue,
                                   const ReportContext& context);

// The version of this suite.
[[nodiscard]] const char* suite_version();
// The commit that it was built from and its date, "8324aee, 2026-11-23", with ", changed" behind it
// where files were; "commit unknown" outside a clone.
[[nodiscard]] const char* suite_commit();

}  // namespace fencepost::report
