#include "report/in_isolation.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>

#include "base/glob.h"
#include "report/root_causes.h"

namespace fencepost::report {
namespace {

enum class Repeated { kFails, kPasses, kUndecided };

// Something that only many cases show together may have its first occurrence in another case.
Repeated outcome_of_repeat(const run::SuiteResult& again, const run::CaseResult& failure) {
  const std::string cause = failure.failure.cause;
  bool passed = false;
  for (const run::CaseResult& entry : again.cases) {
    const bool same = entry.test_case == failure.test_case;
    if (entry.verdict == run::Verdict::kFailed && (same || entry.failure.cause == cause)) {
      return Repeated::kFails;
    }
    passed = passed || (same && entry.verdict == run::Verdict::kPassed);
  }
  return passed ? Repeated::kPasses : Repeated::kUndecided;
}

// Globs that match this case and others, the narrowest first: "set.nx.*", then "set.*".
std::vector<std::string> globs_around(const std::string& id) {
  std::vector<std::string> out;
  for (std::size_t dot = id.rfind('.'); dot != std::string::npos && dot > 0;
       dot = id.rfind('.', dot - 1)) {
    out.push_back(id.substr(0, dot) + ".*");
  }
  return out;
}

void look_for_neighbours(run::CaseResult& failure, const std::vector<const scenario::Case*>& ran,
                         const RunAgain& again) {
  std::size_t tried = 1;
  for (const std::string& glob : globs_around(failure.test_case->id)) {
    std::vector<const scenario::Case*> cases;
    std::copy_if(
        ran.begin(), ran.end(), std::back_inserter(cases),
        [&](const scenario::Case* test_case) { return glob_matches(glob, test_case->id); });
    if (cases.size() <= tried || cases.size() == ran.size()) continue;
    tried = cases.size();
    const auto result = again(cases);
    if (!result) return;
    if (outcome_of_repeat(*result, failure) != Repeated::kFails) continue;
    failure.alone->shown_by = glob;
    return;
  }
}

}  // namespace

bool is_quick(const std::vector<const scenario::Case*>& cases,
              const endpoint::Capabilities& offered) {
  return !offered.transport ||
         std::all_of(cases.begin(), cases.end(), [](const scenario::Case* test_case) {
           return test_case->expected_wait() < kMaxTimeAlone;
         });
}

std::optional<run::SuiteResult> run_again(endpoint::Endpoint& endpoint,
                                          const std::vector<const scenario::Case*>& cases,
                                          const scenario::Catalogue& catalogue,
                                          run::SuiteOptions suite,
                                          const std::function<bool()>& is_late) {
  suite.repeat_inconclusive = false;
  std::atomic<bool> stop{false};
  run::SuiteResult result =
      run_suite(endpoint, cases, catalogue, suite, stop,
                [&](const run::CaseResult&, std::size_t, std::size_t) { stop = is_late(); });
  return result.endpoint_lost ? std::nullopt : std::optional(std::move(result));
}

void try_alone(run::SuiteResult& result, const std::vector<const scenario::Case*>& ran,
               const scenario::Catalogue& catalogue, bool strict, const RunAgain& again) {
  std::vector<const run::CaseResult*> best;
  for (const Difference& found : differences(result, catalogue, strict)) {
    if (found.kind == FindingKind::kFailure) best.push_back(found.cases.front());
  }
  best.resize(std::min(best.size(), kMaxTriedAlone));
  for (const run::CaseResult* failed : best) {
    const auto alone = again({failed->test_case});
    if (!alone) return;
    const Repeated repeated = outcome_of_repeat(*alone, *failed);
    if (repeated == Repeated::kUndecided) continue;
    run::CaseResult& failure = result.cases[static_cast<std::size_t>(failed - result.cases.data())];
    failure.alone = run::Alone{.fails = repeated == Repeated::kFails};
    if (repeated == Repeated::kPasses && ran.size() > 1) look_for_neighbours(failure, ran, again);
  }
}

}  // namespace fencepost::report
