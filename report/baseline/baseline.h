// Known failures of a store: what a baseline says about cases, and its effect on a run.
//
//   SuiteResult result = run_suite(endpoint, without_skipped(baseline, cases), ...);
//   add_skipped(baseline, cases, result);
//   apply(baseline, {.today = today, .whole_suite = true}, result);
//   summarize(result, catalogue, strict);
//
// Everything here is pure: the date is an argument. baseline_file.h reads and writes the file,
// baseline_fix.h brings it up to date. docs/BASELINES.md is the page for those who write one.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "suite/run/case_runner.h"
#include "suite/run/suite.h"
#include "suite/scenario/scenario.h"

namespace fencepost::baseline {

using Date = std::chrono::year_month_day;

// How many failing cases a glob may cover when its entry does not say.
inline constexpr std::size_t kDefaultMax = 20;

enum class BaselineList {
  kFail,   // must fail
  kFlaky,  // may end in one of several ways
  kSkip,   // is not run
};
[[nodiscard]] std::string_view name(BaselineList list);

struct BaselineEntry {
  BaselineList list = BaselineList::kFail;
  std::string cases;        // id or glob
  std::string signature{};  // empty: any failure
  std::string reason{};
  std::string ticket{};
  std::optional<Date> expires{};      // the last day on which it counts, UTC
  std::optional<std::size_t> max{};   // failing cases that a glob may cover
  std::set<run::Verdict> statuses{};  // of a flaky case: passed, failed, inconclusive
  scenario::Position position{};
  std::vector<std::string> above{};  // comments, with their #, and empty lines before it
};

// A root cause in the store, and all failures that show it: known_root_cause.h.
struct KnownRootCause {
  std::string requirement{};          // that is broken, for readers
  std::string case_id{};              // that shows it best
  std::size_t failures = 0;           // of the whole suite, when the entry was written
  std::vector<std::string> causes{};  // what they see, never empty: run/failure.h
  std::string reason{};
  std::string ticket{};
  std::optional<Date> expires{};  // the last day on which it counts, UTC
  scenario::Position position{};
  std::vector<std::string> above{};  // comments, with their #, and empty lines before it
};

struct Baseline {
  std::string file;        // as errors name it
  bool text_list = false;  // one glob per line rather than YAML
  std::string sut_name{};  // for readers: nothing checks it
  std::string sut_version{};
  std::vector<BaselineEntry> entries{};       // in the order of the file
  std::vector<KnownRootCause> differences{};  // for cases that no entry matches
  // Comments and empty lines: at the beginning, before a key, at the end.
  std::vector<std::string> header{};
  std::map<std::string, std::vector<std::string>> above{};  // by key: version, sut, fail, ...
  std::vector<std::string> footer{};
};

[[nodiscard]] bool is_glob(const BaselineEntry& entry);
[[nodiscard]] bool matches(const BaselineEntry& entry, const std::string& id);
// The first entry that matches the case; null when none does.
[[nodiscard]] const BaselineEntry* find(const Baseline& baseline, const std::string& id);
// `file:line`
[[nodiscard]] std::string place(const BaselineEntry& entry);
[[nodiscard]] std::string place(const KnownRootCause& known);
// The reason and the ticket, for reports.
[[nodiscard]] std::string words_of(const std::string& reason, const std::string& ticket);
[[nodiscard]] bool expired(const std::optional<Date>& last_day, const Date& today);
// `2026-03-01`
[[nodiscard]] std::string to_string(const Date& date);

// What an entry makes of a result.
enum class Finding {
  kAsExpected,      // not passed, as the entry expects
  kPassed,          // of a flaky case: the entry was not needed this time
  kUnexpectedPass,  // passed, but the entry expects a failure
  kOtherSignature,  // failed in another way
  kNotAccepted,     // failed, and the entry of a flaky case does not name that
  kUndecided,       // skipped, lost, not run or inconclusive
};
[[nodiscard]] Finding judge(const BaselineEntry& entry, const run::CaseResult& result);

// The cases that are to be run: all but those that the baseline says to skip.
[[nodiscard]] std::vector<const scenario::Case*> without_skipped(
    const Baseline& baseline, const std::vector<const scenario::Case*>& cases);

// Puts the others of `cases`, as skipped with their reason, where they belong among the results,
// which are those of without_skipped(baseline, cases) in that order.
void add_skipped(const Baseline& baseline, const std::vector<const scenario::Case*>& cases,
                 run::SuiteResult& result);

struct BaselineRun {
  Date today;                // UTC
  bool whole_suite = false;  // every case was selected: an entry that matches none is a mistake
};

// Would `result`, fresh from the run, become an expected failure? For progress while cases run.
[[nodiscard]] bool expects(const Baseline& baseline, const BaselineRun& run,
                           const run::CaseResult& result);

// Changes the verdicts of `result`, and says what is wrong with the baseline (baseline_errors:
// each fails the run) and what is merely of interest (baseline_notes). Afterwards the summary is to
// be made again.
void apply(const Baseline& baseline, const BaselineRun& run, run::SuiteResult& result);

}  // namespace fencepost::baseline
