#include "report/baseline/known_root_cause.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "report/root_causes.h"

namespace fencepost::baseline {
namespace {

constexpr std::size_t kMinSlack = 2;
constexpr std::size_t kSlackShare = 10;  // one in

const KnownRootCause* listing(const Baseline& baseline, const std::string& cause) {
  for (const KnownRootCause& known : baseline.differences) {
    if (std::find(known.causes.begin(), known.causes.end(), cause) != known.causes.end()) {
      return &known;
    }
  }
  return nullptr;
}

// Puts one run against the root causes of one baseline.
class DifferenceApplier {
 public:
  DifferenceApplier(const Baseline& baseline, const BaselineRun& run, run::SuiteResult& result)
      : baseline_(baseline), run_(run), result_(result) {}

  void apply() {
    std::map<const KnownRootCause*, std::vector<run::CaseResult*>> covered;
    for (run::CaseResult& entry : result_.cases) {
      if (const KnownRootCause* known = known_by(baseline_, entry)) {
        covered[known].push_back(&entry);
      }
    }
    for (const KnownRootCause& known : baseline_.differences) {
      apply(known, covered[&known]);
    }
    if (not_judged_ > 0) {
      result_.baseline_notes.push_back(
          fmt::format("not judged, since no case that shows it was decided: {} of {}", not_judged_,
                      text::counted(baseline_.differences.size(), "known root cause")));
    }
  }

 private:
  void diagnose(const KnownRootCause& known, const std::string& text) {
    result_.baseline_errors.push_back(
        fmt::format("{}: {}: {}", place(known), title_of(known), text));
  }

  void apply(const KnownRootCause& known, const std::vector<run::CaseResult*>& covered) {
    if (known.reason.empty()) diagnose(known, "no reason: say why it is in the baseline");
    if (expired(known.expires, run_.today)) {
      diagnose(known, fmt::format("expired on {} (today is {}): remove the entry, or give it a "
                                  "later date if there is good reason",
                                  to_string(*known.expires), to_string(run_.today)));
      return;
    }
    if (covered.empty()) {
      not_seen(known);
      return;
    }
    if (covered.size() > most_failures(known)) {
      diagnose(
          known,
          fmt::format("{} match it, and it had {} when it was written: if nothing else is "
                      "wrong, set failures: {}",
                      text::counted(covered.size(), "failure"), known.failures, covered.size()));
      return;
    }
    for (run::CaseResult* entry : covered) {
      entry->verdict = run::Verdict::kExpectedFailure;
      entry->baseline = words_of(known.reason, known.ticket);
    }
    if (run_.whole_suite && covered.size() * 2 < known.failures) {
      result_.baseline_notes.push_back(
          fmt::format("partly fixed: {}: {}: {} of {} failures are left; --update-baseline updates "
                      "it",
                      place(known), title_of(known), covered.size(), known.failures));
    }
  }

  // Is it fixed, or did the run merely not come to it? The case that shows it best decides.
  void not_seen(const KnownRootCause& known) {
    const auto best = std::find_if(
        result_.cases.begin(), result_.cases.end(),
        [&](const run::CaseResult& entry) { return entry.test_case->id == known.case_id; });
    if (best == result_.cases.end()) {
      if (run_.whole_suite) {
        diagnose(known, "no failure matches it, and there is no such case: remove the entry");
      } else {
        ++not_judged_;
      }
      return;
    }
    if (best->verdict == run::Verdict::kPassed) {
      diagnose(known, "no failure matches it any more, and the case passes: remove the entry");
    } else if (best->verdict == run::Verdict::kFailed) {
      diagnose(known,
               "no failure matches it any more, and the case fails in another way: remove the "
               "entry, or update it with --update-baseline");
    } else {
      ++not_judged_;
    }
  }

  const Baseline& baseline_;
  const BaselineRun& run_;
  run::SuiteResult& result_;
  std::size_t not_judged_ = 0;
};

}  // namespace

const KnownRootCause* known_by(const Baseline& baseline, const run::CaseResult& result) {
  const bool failed =
      result.verdict == run::Verdict::kFailed || result.verdict == run::Verdict::kExpectedFailure;
  if (!failed || result.unexpected_pass || baseline.differences.empty()) return nullptr;
  if (find(baseline, result.test_case->id) != nullptr) return nullptr;
  const std::string cause = result.failure.cause;
  return cause.empty() ? nullptr : listing(baseline, cause);
}

std::size_t most_failures(const KnownRootCause& known) {
  return known.failures + std::max(kMinSlack, known.failures / kSlackShare);
}

void apply_root_causes(const Baseline& baseline, const BaselineRun& run, run::SuiteResult& result) {
  DifferenceApplier(baseline, run, result).apply();
}

std::string known_and_new(const Baseline& baseline, const run::SuiteResult& result,
                          const scenario::Catalogue& catalogue, bool strict) {
  std::set<const KnownRootCause*> known;
  std::size_t expected = 0;
  for (const run::CaseResult& entry : result.cases) {
    if (entry.verdict != run::Verdict::kExpectedFailure) continue;
    ++expected;
    if (const KnownRootCause* found = known_by(baseline, entry)) known.insert(found);
  }
  std::size_t count = 0;
  std::size_t failures = 0;
  for (const report::Difference& found : report::differences(result, catalogue, strict)) {
    if (found.kind != report::FindingKind::kFailure) continue;
    ++count;
    failures += found.failing().size();
  }
  if (expected + failures == 0) return {};
  const auto words = [](std::size_t differences, std::size_t cases) {
    if (cases == 0) return std::string("none");
    if (differences == 0) return text::counted(cases, "failure");
    return text::counted(differences, "root cause") + ", " + text::counted(cases, "failure");
  };
  return fmt::format("known: {}; new: {}", words(known.size(), expected), words(count, failures));
}

std::string title_of(const KnownRootCause& known) {
  return fmt::format("{} ({})", known.requirement, known.case_id);
}

}  // namespace fencepost::baseline
