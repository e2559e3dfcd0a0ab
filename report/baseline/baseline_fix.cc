#include "report/baseline/baseline_fix.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "report/baseline/root_cause_updater.h"

namespace fencepost::baseline {
namespace {

// Nothing when every case was decided.
std::string undecided(const Baseline& baseline, const run::SuiteResult& result) {
  if (result.endpoint_lost) return "the endpoint was lost during the run";
  if (result.interrupted) return "the run was interrupted";
  for (const run::CaseResult& entry : result.cases) {
    const bool open = entry.verdict == run::Verdict::kInconclusive ||
                      entry.verdict == run::Verdict::kLost ||
                      entry.verdict == run::Verdict::kNotRun;
    const BaselineEntry* known = find(baseline, entry.test_case->id);
    if (open && (known == nullptr || judge(*known, entry) != Finding::kAsExpected)) {
      return fmt::format("{} is {}", entry.test_case->id, name(entry.verdict));
    }
  }
  return {};
}

class BaselineUpdater {
 public:
  BaselineUpdater(const Baseline& baseline, const run::SuiteResult& result)
      : old_(baseline), result_(result) {
    fixed_.baseline = baseline;
    fixed_.baseline.entries.clear();
  }

  FixedBaseline run(const scenario::Catalogue& catalogue, bool strict) {
    for (const BaselineEntry& entry : old_.entries) take(entry);
    std::vector<std::string>& footer = fixed_.baseline.footer;
    footer.insert(footer.begin(), carried_.begin(), carried_.end());
    if (old_.text_list) {
      add_cases(catalogue, strict);
    } else {
      take_root_causes(catalogue, strict);
    }
    return std::move(fixed_);
  }

 private:
  void change(const char* verb, const std::string& cases, const std::string& why) {
    fixed_.changes.push_back(fmt::format("{} {}: {}", verb, cases, why));
  }

  // A plain list has no room for root causes. No reason is made up: a baseline without one is
  // refused, so that a person has to write one.
  void add_cases(const scenario::Catalogue& catalogue, bool strict) {
    for (const run::CaseResult& result : result_.cases) {
      const bool counts =
          result.verdict == run::Verdict::kFailed && !is_warning(result, catalogue, strict);
      if (!counts || find(old_, result.test_case->id) != nullptr) continue;
      fixed_.baseline.entries.push_back({.cases = result.test_case->id});
      change("added", result.test_case->id, "it fails; write its reason");
    }
  }

  void take_root_causes(const scenario::Catalogue& catalogue, bool strict) {
    RootCauseUpdater updater(old_, result_);
    fixed_.baseline.differences = updater.run(catalogue, strict);
    for (const RootCauseUpdater::Change& each : updater.changes()) {
      change(each.verb, each.title, each.why);
    }
  }

  void take(const BaselineEntry& entry) {
    std::vector<const run::CaseResult*> matching;
    for (const run::CaseResult& result : result_.cases) {
      if (matches(entry, result.test_case->id)) matching.push_back(&result);
    }
    if (matching.empty()) {
      change("removed", entry.cases, "there is no such case");
      drop(entry);
    } else if (entry.list == BaselineList::kFail) {
      take_failing(entry, matching);
    } else {
      // What one run shows says little about a flaky case, and nothing about one that was not run.
      keep(entry);
    }
  }

  void take_failing(const BaselineEntry& entry,
                    const std::vector<const run::CaseResult*>& matching) {
    std::map<Finding, std::size_t> found;
    for (const run::CaseResult* result : matching) ++found[judge(entry, *result)];
    const std::size_t passing = found[Finding::kUnexpectedPass];
    const std::size_t failing = found[Finding::kAsExpected] + found[Finding::kOtherSignature];
    // A glob that covers more than it may is left for a person: to raise its limit by itself would
    // hide what the limit is for.
    const bool too_many = is_glob(entry) && failing > entry.max.value_or(kDefaultMax);
    if (passing == matching.size()) {
      change("removed", entry.cases, matching.size() > 1 ? "they pass" : "it passes");
      drop(entry);
    } else if (too_many || (passing == 0 && found[Finding::kOtherSignature] == 0)) {
      keep(entry);
    } else if (!is_glob(entry)) {
      BaselineEntry updated = entry;
      updated.signature = signature(matching.front()->failure);
      change("changed", entry.cases,
             fmt::format("signature {} was {}", run::quoted_signature(updated.signature),
                         run::quoted_signature(entry.signature)));
      keep(std::move(updated));
    } else {
      split(entry, matching);
    }
  }

  // Entries of their own for those that do not pass.
  void split(const BaselineEntry& entry, const std::vector<const run::CaseResult*>& matching) {
    std::vector<std::string> above = entry.above;
    std::string ids;
    for (const run::CaseResult* result : matching) {
      if (result->verdict == run::Verdict::kPassed) continue;
      BaselineEntry single = entry;
      single.cases = result->test_case->id;
      single.max.reset();
      if (judge(entry, *result) == Finding::kOtherSignature) {
        single.signature = signature(result->failure);
      }
      single.above = std::exchange(above, {});
      ids += (ids.empty() ? "" : ", ") + single.cases;
      keep(std::move(single));
    }
    change("split", entry.cases, "its cases fail in different ways; now " + ids);
  }

  void keep(BaselineEntry entry) {
    entry.above.insert(entry.above.begin(), carried_.begin(), carried_.end());
    carried_.clear();
    fixed_.baseline.entries.push_back(std::move(entry));
  }

  // The comment just above an entry goes with it; one that is separated by an empty line is about
  // more.
  void drop(const BaselineEntry& entry) {
    const auto last_blank = std::find(entry.above.rbegin(), entry.above.rend(), std::string());
    carried_.insert(carried_.end(), entry.above.begin(), last_blank.base());
  }

  const Baseline& old_;
  const run::SuiteResult& result_;
  FixedBaseline fixed_;
  std::vector<std::string> carried_;  // comments that wait for the next entry
};

}  // namespace

Result<FixedBaseline, std::string> fix_baseline(const Baseline& baseline,
                                                const run::SuiteResult& result,
                                                const scenario::Catalogue& catalogue, bool strict) {
  if (std::string reason = undecided(baseline, result); !reason.empty()) {
    return fail(std::move(reason));
  }
  return BaselineUpdater(baseline, result).run(catalogue, strict);
}

}  // namespace fencepost::baseline
