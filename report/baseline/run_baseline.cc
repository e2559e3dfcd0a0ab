#include "report/baseline/run_baseline.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "report/baseline/baseline_file.h"
#include "report/baseline/baseline_fix.h"
#include "report/baseline/known_root_cause.h"
#include "report/report_files.h"

namespace fencepost::baseline {
namespace {

bool is_whole(const run::Selection& selection) {
  return selection.run.empty() && selection.skip.empty() && selection.tags.empty() &&
         selection.requirements.empty() && selection.shards == 1;
}

Result<Baseline, std::string> read_baseline(const BaselineOptions& options,
                                            const scenario::Library& library) {
  std::error_code ignored;
  if (options.fix && !std::filesystem::exists(options.file, ignored)) {
    Baseline fresh = empty_baseline(options.file);
    fresh.header = {
        "# Known failures. Each entry needs a reason: docs/BASELINES.md has the format.", ""};
    return fresh;
  }
  const auto file = scenario::read_file(options.file);
  if (!file) return fail(file.error() + "; --update-baseline creates it");
  std::vector<scenario::LoadError> errors;
  auto baseline = load_baseline({options.file, file->content}, errors);
  if (baseline) check_overlaps(*baseline, library.cases, errors);
  if (errors.empty()) return std::move(*baseline);
  std::string text;
  for (const std::string& error : describe_all(errors)) text += (text.empty() ? "" : "\n") + error;
  return fail(std::move(text));
}

}  // namespace

Result<RunBaseline, std::string> RunBaseline::open(const BaselineOptions& options,
                                                   const run::Selection& selection,
                                                   const scenario::Library& library, Date today) {
  RunBaseline out;
  out.fix_ = options.fix;
  out.run_ = {.today = today, .whole_suite = is_whole(selection)};
  if (options.file.empty()) return out;
  if (options.fix && !out.run_.whole_suite) {
    return fail(
        std::string("--update-baseline needs a run of all cases: leave out --run, --skip, "
                    "--tag, --requirement and --shard"));
  }
  auto baseline = read_baseline(options, library);
  if (!baseline) return fail(baseline.error());
  if (options.fix) {
    // Better now than after the run.
    if (const auto writable = report::check_writable(options.file); !writable) {
      return fail(writable.error());
    }
  }
  out.baseline_ = std::move(*baseline);
  return out;
}

std::vector<const scenario::Case*> RunBaseline::to_run(
    const std::vector<const scenario::Case*>& cases) const {
  return baseline_ ? without_skipped(*baseline_, cases) : cases;
}

bool RunBaseline::expects(const run::CaseResult& result) const {
  return baseline_ && baseline::expects(*baseline_, run_, result);
}

void RunBaseline::settle(const std::vector<const scenario::Case*>& selected,
                         const scenario::Catalogue& catalogue, bool strict,
                         run::SuiteResult& result) {
  if (!baseline_) return;
  add_skipped(*baseline_, selected, result);
  if (fix_) fix(catalogue, strict, result);
  apply(*baseline_, run_, result);
  run::summarize(result, catalogue, strict);
  if (std::string counts = known_and_new(*baseline_, result, catalogue, strict); !counts.empty()) {
    result.baseline_notes.insert(result.baseline_notes.begin(), std::move(counts));
  }
}

void RunBaseline::fix(const scenario::Catalogue& catalogue, bool strict,
                      const run::SuiteResult& result) {
  const std::string& file = baseline_->file;
  auto fixed = fix_baseline(*baseline_, result, catalogue, strict);
  if (!fixed) {
    news_ = {
        fmt::format("{} is not updated: {}; --fix-baseline needs a run that decides every case",
                    file, fixed.error())};
    error_ = run::ExitCode::kUsage;
    return;
  }
  std::error_code ignored;
  const bool exists = std::filesystem::exists(file, ignored);
  if (exists && fixed->changes.empty()) {
    news_ = {file + ": nothing to fix"};
    return;
  }
  const std::string text = to_text(fixed->baseline);
  if (const auto written = report::write_file(file, text); !written) {
    news_ = {written.error()};
    error_ = run::ExitCode::kInternal;
    return;
  }
  // The next run is to find a file, even where there is no failure to write down.
  if (!exists) news_.push_back(file + ": a new baseline");
  for (const std::string& change : fixed->changes) news_.push_back(file + ": " + change);
  // Read again for the lines that its entries are on now.
  std::vector<scenario::LoadError> errors;
  auto again = load_baseline({file, text}, errors);
  FENCEPOST_CHECK(again.has_value());
  baseline_ = std::move(*again);
}

Date utc_today() {
  return Date{std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
}

}  // namespace fencepost::baseline
