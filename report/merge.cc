#include "report/merge.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace fencepost::report {
namespace {

std::string options_text(const run::Selection& selection) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values) words.push_back(fmt::format("{} '{}'", option, value));
  };
  add("--run", selection.run);
  add("--skip", selection.skip);
  add("--tag", selection.tags);
  add("--requirement", selection.requirements);
  return words.empty() ? "no selection" : fmt::format("{}", fmt::join(words, " "));
}

// Something that must be the same in all reports, as text.
struct Trait {
  const char* name;
  std::string (*of)(const ReportContext&);
};
const Trait kTraits[] = {
    {"the endpoint", [](const ReportContext& context) { return context.endpoint; }},
    {"the profile",
     [](const ReportContext& context) { return std::string(name(context.profile)); }},
    {"the edition",
     [](const ReportContext& context) { return std::string(name(context.edition)); }},
    {"--strict",
     [](const ReportContext& context) { return std::string(context.strict ? "on" : "off"); }},
    {"the selection", [](const ReportContext& context) { return options_text(context.selection); }},
    {"the number of shards",
     [](const ReportContext& context) { return std::to_string(context.selection.shards); }}};

// Why the reports do not go together; empty when they do.
std::string mismatch(const std::vector<Report>& reports) {
  std::map<std::size_t, const Report*> shards;
  for (const Report& report : reports) {
    // Its seed and command are not those of one run, so that nothing could be reproduced from it.
    if (!report.context.parts.empty()) {
      return report.file + " was written by merge; name the reports that it was made of";
    }
    for (const Trait& trait : kTraits) {
      const std::string first = trait.of(reports.front().context);
      const std::string other = trait.of(report.context);
      if (first == other) continue;
      return fmt::format(
          "{} and {} are of different runs: {} is {} in the first and {} in the second",
          reports.front().file, report.file, trait.name, first, other);
    }
    const auto [known, fresh] = shards.emplace(report.context.selection.shard, &report);
    if (!fresh) {
      return fmt::format("{} and {} are both of shard {} of {}", known->second->file, report.file,
                         known->first, report.context.selection.shards);
    }
  }
  return {};
}

// Where a case was run.
struct Source {
  const Report* report;
  const run::CaseResult* result;
};
using Sources = std::map<const scenario::Case*, Source>;

// The error names a case that two reports have, or one that is no part of its report's shard.
Result<Sources, std::string> find_sources(const std::vector<Report>& reports) {
  Sources out;
  for (const Report& report : reports) {
    for (const run::CaseResult& result : report.result.cases) {
      const run::Selection& selection = report.context.selection;
      if (!selects(selection, *result.test_case)) {
        return fail(fmt::format("{} has the case {}, which is not of its shard {} of {} ({})",
                                report.file, result.test_case->id, selection.shard,
                                selection.shards, options_text(selection)));
      }
      const auto [known, fresh] = out.emplace(result.test_case, Source{&report, &result});
      if (fresh) continue;
      return fail(fmt::format("the case {} is in {} and in {}", result.test_case->id,
                              known->second.report->file, report.file));
    }
  }
  return out;
}

// The one of `shards` shards that has this case.
std::size_t shard_of(const scenario::Case& test_case, run::Selection selection) {
  for (selection.shard = 1; selection.shard < selection.shards; ++selection.shard) {
    if (selects(selection, test_case)) break;
  }
  return selection.shard;
}

class Merger {
 public:
  Merger(const std::vector<Report>& reports, const scenario::Library& library, Sources sources)
      : library_(library), sources_(std::move(sources)) {
    for (const Report& report : reports) reports_.push_back(&report);
    std::sort(reports_.begin(), reports_.end(), [](const Report* a, const Report* b) {
      return a->context.selection.shard < b->context.selection.shard;
    });
  }

  Report merge() {
    merged_.context = reports_.front()->context;
    merged_.context.stopped_because.clear();
    merged_.context.preflight = {};
    merged_.context.known_cases = library_.known_cases();
    merged_.context.selection.shard = 1;
    merged_.context.selection.shards = 1;
    for (const Report* report : reports_) add_run(*report);
    add_cases();
    name_missing_shards();
    run::summarize(merged_.result, library_.catalogue, merged_.context.strict);
    return std::move(merged_);
  }

 private:
  [[nodiscard]] std::size_t shards() const { return reports_.front()->context.selection.shards; }

  // Machines that differ are all named.
  static void add_environment(const ReportContext& own, ReportContext& all) {
    for (const auto& [name, value] : own.environment) {
      std::string& known = all.environment[name];
      if (known.find(value) != std::string::npos) continue;
      known += (known.empty() ? "" : "; ") + value;
    }
  }

  void add_run(const Report& report) {
    ReportContext& context = merged_.context;
    run::SuiteResult& result = merged_.result;
    const ReportContext& own = report.context;
    context.parts.push_back({.file = report.file,
                             .shard = own.selection.shard,
                             .seed = own.seed,
                             .started = own.started,
                             .duration = report.result.duration,
                             .exit_code = static_cast<int>(exit_code(report.result)),
                             .stopped_because = own.stopped_because});
    context.started = std::min(context.started, own.started);
    add_environment(own, context);
    if (own.transcripts == Transcripts::kFailures) context.transcripts = Transcripts::kFailures;
    run::PreflightReport& preflight = context.preflight;
    // Takes the worst round trips and clock offsets: they explain what is inconclusive. A mean
    // would be of no machine.
    preflight.round_trip_p50 = std::max(preflight.round_trip_p50, own.preflight.round_trip_p50);
    preflight.round_trip_p99 = std::max(preflight.round_trip_p99, own.preflight.round_trip_p99);
    const bool first = context.parts.size() == 1;
    if (first || std::abs(own.preflight.clock_offset_ms) > std::abs(preflight.clock_offset_ms)) {
      preflight.clock_offset_ms = own.preflight.clock_offset_ms;
      preflight.clock_bounds = own.preflight.clock_bounds;
      preflight.clock_source = own.preflight.clock_source;
    }
    // If shards were judged by different ones, the strictest: each case knows what was waived.
    const bool deployed = report.result.basis.dialect == codec::DialectId::kDeployed;
    const bool ga = report.result.basis.edition == scenario::Edition::kGa;
    if (first || deployed) result.basis.dialect = report.result.basis.dialect;
    if (first || ga) result.basis.edition = report.result.basis.edition;
    // Shards run at the same time, so the longest is what the user has waited.
    result.duration = std::max(result.duration, report.result.duration);
    result.longest_wait = std::max(result.longest_wait, report.result.longest_wait);
    // The first shard alone has one.
    if (report.result.stress) result.stress = report.result.stress;
    if (report.result.enumeration) result.enumeration = report.result.enumeration;
    result.interrupted = result.interrupted || report.result.interrupted;
    result.endpoint_lost = result.endpoint_lost || report.result.endpoint_lost;
    if (result.lost_message.empty()) result.lost_message = report.result.lost_message;
    // Each shard has read the same baseline, and may have the same error.
    for (const std::string& diagnostic : report.result.baseline_errors) {
      auto& all = result.baseline_errors;
      if (std::find(all.begin(), all.end(), diagnostic) == all.end()) all.push_back(diagnostic);
    }
    // A shard that no case falls into has no case that was not run.
    const bool nothing_to_do = report.result.cases.empty() && !report.result.endpoint_lost;
    if (own.stopped_because.empty() || nothing_to_do) return;
    add_reason(fmt::format("{} ({}): {}", shard_name(own.selection.shard), report.file,
                           own.stopped_because));
  }

  [[nodiscard]] std::string shard_name(std::size_t shard) const {
    return fmt::format("shard {} of {}", shard, shards());
  }

  [[nodiscard]] bool has_report(std::size_t shard) const {
    return std::any_of(reports_.begin(), reports_.end(), [&](const Report* report) {
      return report->context.selection.shard == shard;
    });
  }

  void add_reason(const std::string& reason) {
    std::string& all = merged_.context.stopped_because;
    all += (all.empty() ? "" : "; ") + reason;
  }

  void add_cases() {
    const run::Selection& whole = merged_.context.selection;
    for (const scenario::Case& test_case : library_.cases) {
      const auto source = sources_.find(&test_case);
      if (source != sources_.end()) {
        add_case(test_case, source->second);
      } else if (selects(whole, test_case)) {
        add_missing(test_case);
      }
    }
  }

  void add_case(const scenario::Case& test_case, const Source& source) {
    merged_.result.cases.push_back(*source.result);
    const std::string& command = source.report->context.command;
    if (command != merged_.context.command) merged_.context.commands[test_case.id] = command;
  }

  void add_missing(const scenario::Case& test_case) {
    const std::size_t shard = shard_of(test_case, reports_.front()->context.selection);
    merged_.result.cases.push_back(
        {.test_case = &test_case,
         .failure = {
             .message = shard_name(shard) + (has_report(shard) ? " has no result" : " is missing"),
             .position = test_case.position}});
    ++missing_[shard];
  }

  void name_missing_shards() {
    for (const auto& [shard, cases] : missing_) {
      add_reason(fmt::format("{} {} ({} cases)", shard_name(shard),
                             has_report(shard) ? "is not complete" : "is missing", cases));
    }
  }

  std::vector<const Report*> reports_;  // by shard
  const scenario::Library& library_;
  Sources sources_;
  Report merged_;
  std::map<std::size_t, std::size_t> missing_;  // shard -> its cases
};

}  // namespace

Result<Report, std::string> merge_reports(const std::vector<Report>& reports,
                                          const scenario::Library& library) {
  if (reports.empty()) return fail(std::string("no report to merge"));
  if (std::string why = mismatch(reports); !why.empty()) return fail(std::move(why));
  auto sources = find_sources(reports);
  if (!sources) return fail(std::move(sources.error()));
  return Merger(reports, library, std::move(*sources)).merge();
}

}  // namespace fencepost::report
