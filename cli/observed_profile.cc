#include "cli/observed_profile.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

namespace fencepost::cli {
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
                                run::SuiteOptions suite, const std::atomic<bool>& stop) {
  std::vector<const scenario::Case*> cases;
  for (const codec::Divergence divergence : codec::kDivergences) {
    const scenario::Case* found = case_of(divergence, library);
    const bool known = std::find(cases.begin(), cases.end(), found) != cases.end();
    if (found != nullptr && !known) cases.push_back(found);
  }
  suite.repeat_inconclusive = false;
  const run::SuiteResult result =
      run::run_suite(endpoint, cases, library.catalogue, suite, stop,
                     [](const run::CaseResult&, std::size_t, std::size_t) {});
  const scenario::Basis basis =
      run::basis_of(result, suite.settings.profile, suite.settings.wording);
  const bool documented = basis.dialect == codec::DialectId::kDocumented;
  return documented ? codec::Profile::kDocumented : codec::Profile::kAuto;
}

std::string observed_profile_json(codec::Profile profile) {
  return nlohmann::json(std::string(codec::name(profile))).dump();
}

std::optional<codec::Profile> read_observed_profile(const std::string& json) {
  const auto document = nlohmann::json::parse(json, nullptr, false);
  if (!document.is_string()) return std::nullopt;
  return codec::profile_named(document.get<std::string>());
}

}  // namespace fencepost::cli
