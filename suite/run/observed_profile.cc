#include "suite/run/observed_profile.h"

#include <algorithm>
#include <vector>

namespace fencepost::run {
namespace {

// The shortest case that depends on this spelling, waits for nothing and needs nothing special.
const scenario::Case* case_of(codec::Divergence divergence, const scenario::Library& library) {
  const scenario::Case* best = nullptr;
  for (const scenario::Case& each : library.cases) {
    const bool fits = each.divergences.contains(divergence) && each.requires_.empty() &&
                      !each.exclusive && each.expected_wait().count() == 0;
    if (fits && (best == nullptr || each.exchanges() < best->exchanges())) best = &each;
  }
  return best;
}

}  // namespace

codec::Profile observed_profile(endpoint::Endpoint& endpoint, const scenario::Library& library,
                                SuiteOptions suite, const std::atomic<bool>& stop) {
  std::vector<const scenario::Case*> cases;
  for (const codec::Divergence divergence : codec::kDivergences) {
    const scenario::Case* found = case_of(divergence, library);
    const bool known = std::find(cases.begin(), cases.end(), found) != cases.end();
    if (found != nullptr && !known) cases.push_back(found);
  }
  suite.repeat_inconclusive = false;
  const SuiteResult result = run_suite(endpoint, cases, library.catalogue, suite, stop,
                                       [](const CaseResult&, std::size_t, std::size_t) {});
  const scenario::Basis basis = basis_of(result, suite.settings.profile, suite.settings.edition);
  const bool documented = basis.dialect == codec::DialectId::kDocumented;
  return documented ? codec::Profile::kDocumented : codec::Profile::kAuto;
}

}  // namespace fencepost::run
