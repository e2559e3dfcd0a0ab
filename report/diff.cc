#include "report/diff.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace fencepost::report {
namespace {

using endpoint::Duration;

// --- verdicts ------------------------------------------------------------------------------------

enum class Behaviour { kPasses, kFails, kUnknown };

// What the endpoint did, whatever a baseline said to it.
Behaviour behaviour(const run::CaseResult& result) {
  switch (result.verdict) {
    case run::Verdict::kPassed:
      return Behaviour::kPasses;
    case run::Verdict::kFailed:
      return result.unexpected_pass ? Behaviour::kPasses : Behaviour::kFails;
    case run::Verdict::kExpectedFailure:
      return Behaviour::kFails;
    case run::Verdict::kInconclusive:
    case run::Verdict::kSkipped:
    case run::Verdict::kLost:
    case run::Verdict::kNotRun:
      return Behaviour::kUnknown;
  }
  return Behaviour::kUnknown;
}

// What is expected depends on how the runs are judged.
bool same_failure(const run::Failure& a, const run::Failure& b, bool judged_alike) {
  if (a.requirement != b.requirement || a.step != b.step || a.kind != b.kind) return false;
  return !judged_alike || a.steady == b.steady;
}

// Smaller is more important.
std::tuple<scenario::Level, bool> rank(const CasePair& pair, const scenario::Catalogue& catalogue) {
  const bool b_fails = behaviour(*pair.b) == Behaviour::kFails;
  const run::CaseResult& failed = b_fails ? *pair.b : *pair.a;
  const scenario::Requirement* requirement = catalogue.find(failed.failure.requirement);
  const scenario::Level level =
      requirement != nullptr ? requirement->level : catalogue.level_of(pair.test_case());
  return {level, !b_fails};
}

void sort(std::vector<CasePair>& pairs, const scenario::Catalogue& catalogue) {
  std::stable_sort(pairs.begin(), pairs.end(), [&](const CasePair& x, const CasePair& y) {
    return rank(x, catalogue) < rank(y, catalogue);
  });
}

// --- choices -------------------------------------------------------------------------------------

using Seen = std::map<std::string, std::set<std::string>>;

Seen forms_of(const run::CaseResult& result) {
  Seen out;
  for (const auto& [divergence, dialect] : result.forms) {
    out[std::string(codec::name(divergence))].emplace(codec::dialect(dialect).name);
  }
  return out;
}

Seen open_points_of(const run::CaseResult& result) {
  Seen out;
  for (const auto& [requirement, outcome] : result.open_points) out[requirement].insert(outcome);
  return out;
}

// What only one of them has seen is no difference: the other did not come so far.
void add_choices(const scenario::Case& test_case, const Seen& a, const Seen& b,
                 std::vector<ObservedVariation>& out) {
  for (const auto& [what, chosen] : a) {
    const auto other = b.find(what);
    if (other == b.end() || other->second == chosen) continue;
    auto choice = std::find_if(
        out.begin(), out.end(),
        [wanted = what](const ObservedVariation& known) { return known.what == wanted; });
    if (choice == out.end()) choice = out.insert(out.end(), ObservedVariation{what, {}, {}, {}});
    choice->a.insert(chosen.begin(), chosen.end());
    choice->b.insert(other->second.begin(), other->second.end());
    choice->cases.push_back(&test_case);
  }
}

// --- the whole -----------------------------------------------------------------------------------

Duration median(std::vector<Duration> times) {
  std::sort(times.begin(), times.end());
  return run::percentile(times, 50);
}

std::vector<std::string> conditions(const ReportContext& a, const ReportContext& b) {
  std::vector<std::string> out;
  const auto add = [&](const char* what, const std::string& one, const std::string& other) {
    if (one != other) out.push_back(fmt::format("{} {} in A, {} in B", what, one, other));
  };
  add("profile", std::string(name(a.profile)), std::string(name(b.profile)));
  add("wording", std::string(name(a.wording)), std::string(name(b.wording)));
  add("--strict", a.strict ? "on" : "off", b.strict ? "on" : "off");
  add("seed", std::to_string(a.seed), std::to_string(b.seed));
  return out;
}

class Comparer {
 public:
  explicit Comparer(const scenario::Catalogue& catalogue) : catalogue_(catalogue) {}

  Comparison compare(const Report& a, const Report& b) {
    judged_alike_ =
        a.context.profile == b.context.profile && a.context.wording == b.context.wording;
    std::map<const scenario::Case*, const run::CaseResult*> of_b;
    for (const run::CaseResult& result : b.result.cases) of_b[result.test_case] = &result;
    for (const run::CaseResult& result : a.result.cases) {
      const auto other = of_b.find(result.test_case);
      if (other == of_b.end()) {
        out_.only_in_a.push_back(result.test_case);
        continue;
      }
      add({&result, other->second});
      of_b.erase(other);
    }
    for (const run::CaseResult& result : b.result.cases) {
      if (of_b.contains(result.test_case)) out_.only_in_b.push_back(result.test_case);
    }
    sort(out_.verdicts, catalogue_);
    sort(out_.failures, catalogue_);
    out_.conditions = conditions(a.context, b.context);
    out_.endpoint_lost = a.result.endpoint_lost || b.result.endpoint_lost;
    out_.latency = {median(std::move(times_a_)), median(std::move(times_b_))};
    out_.unloaded = {a.context.preflight.round_trip_p50, b.context.preflight.round_trip_p50};
    return std::move(out_);
  }

 private:
  void add(const CasePair& pair) {
    const Behaviour a = behaviour(*pair.a);
    const Behaviour b = behaviour(*pair.b);
    if (a == Behaviour::kUnknown || b == Behaviour::kUnknown) {
      const bool both_skipped =
          pair.a->verdict == run::Verdict::kSkipped && pair.b->verdict == run::Verdict::kSkipped;
      if (both_skipped) {
        ++out_.skipped;
      } else {
        out_.undecided.push_back(pair);
      }
      return;
    }
    ++out_.compared;
    if (a != b) {
      out_.verdicts.push_back(pair);
    } else if (a == Behaviour::kFails &&
               !same_failure(pair.a->failure, pair.b->failure, judged_alike_)) {
      out_.failures.push_back(pair);
    }
    add_choices(pair.test_case(), forms_of(*pair.a), forms_of(*pair.b), out_.forms);
    add_choices(pair.test_case(), open_points_of(*pair.a), open_points_of(*pair.b),
                out_.open_points);
    times_a_.insert(times_a_.end(), pair.a->round_trips.begin(), pair.a->round_trips.end());
    times_b_.insert(times_b_.end(), pair.b->round_trips.begin(), pair.b->round_trips.end());
  }

  const scenario::Catalogue& catalogue_;
  bool judged_alike_ = true;
  Comparison out_;
  std::vector<Duration> times_a_;
  std::vector<Duration> times_b_;
};

}  // namespace

double LatencyPair::ratio() const {
  if (a <= Duration::zero() || b <= Duration::zero()) return 0;
  return static_cast<double>(b.count()) / static_cast<double>(a.count());
}

Comparison compare(const Report& a, const Report& b, const scenario::Catalogue& catalogue) {
  return Comparer(catalogue).compare(a, b);
}

run::ExitCode exit_code(const Comparison& comparison) {
  if (comparison.differs()) return run::ExitCode::kFailed;
  if (comparison.endpoint_lost) return run::ExitCode::kUnreachable;
  if (comparison.compared == 0) return run::ExitCode::kNothingSelected;
  const bool everything =
      comparison.undecided.empty() && comparison.only_in_a.empty() && comparison.only_in_b.empty();
  return everything ? run::ExitCode::kConformant : run::ExitCode::kInconclusive;
}

std::string_view verdict_word(const run::CaseResult& result, const scenario::Catalogue& catalogue,
                              bool strict) {
  const bool warning =
      result.verdict == run::Verdict::kFailed && is_warning(result, catalogue, strict);
  return warning ? "warning" : name(result.verdict);
}

Report selected(Report report, const run::Selection& selection,
                const scenario::Catalogue& catalogue) {
  std::erase_if(report.result.cases, [&](const run::CaseResult& result) {
    return !selects(selection, *result.test_case);
  });
  run::summarize(report.result, catalogue, report.context.strict);
  return report;
}

}  // namespace fencepost::report
