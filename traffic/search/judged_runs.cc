#include "traffic/search/judged_runs.h"

#include <algorithm>
#include <chrono>

#include "base/glob.h"
#include "suite/run/time_limits.h"
#include "suite/scenario/binding.h"

namespace fencepost::search {
namespace {

using std::chrono::milliseconds;

// How soon a key may expire that live requests rely on, and their way.
milliseconds short_expiry(endpoint::Duration round_trip) {
  constexpr milliseconds kShortest{300};
  constexpr int kRoundTrips = 30;
  const auto way = std::chrono::ceil<milliseconds>(round_trip * kRoundTrips);
  return std::max(kShortest, (way + milliseconds{99}) / 100 * 100);
}

// What a store is judged by must be known before it answers: where nothing is said, and nothing has
// shown (cli/observed_profile.h), it is the deployed service.
judge::OracleBasis oracle_basis_of(const run::RunSettings& settings,
                                   const scenario::Catalogue& catalogue) {
  const bool is_auto = settings.profile == codec::Profile::kAuto;
  const codec::Profile profile = is_auto ? codec::Profile::kDeployed : settings.profile;
  judge::OracleBasis out;
  out.waived = scenario::unsettled(catalogue, scenario::bases_of(profile, settings.edition));
  if (!is_auto) out.dialect = codec::dialects_of(profile).front();
  return out;
}

}  // namespace

JudgedRunOptions judged_runs(const JudgedRunsBasis& basis) {
  JudgedRunOptions out;
  const run::RunSettings& settings = basis.settings;
  out.oracle.clock = settings.clock_bounds;
  out.oracle.expiry_slack = settings.expiry_tolerance;
  out.oracle.disconnect_settling = settings.disconnect_settling;
  out.oracle.store_in_broker = basis.offers.store_in_broker;
  out.oracle.basis = oracle_basis_of(settings, basis.catalogue);
  out.oracle.limited = !basis.offers.ephemeral && basis.offers.transport;
  out.timeout = run::scaled(run::kReplyTimeout, basis.timeout_scale);
  out.standstill = run::scaled(run::kStandstill, basis.timeout_scale);
  if (basis.offers.transport) out.short_expiry = short_expiry(basis.round_trip);
  out.removes_keys = basis.offers.transport && !basis.offers.ephemeral;
  return out;
}

bool is_ignored(const std::vector<std::string>& globs, const judge::Judgement& judgement) {
  const std::string all = judgement.requirement + ": " + judgement.because;
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return glob_matches(glob, judgement.requirement) || glob_matches(glob, all);
  });
}

}  // namespace fencepost::search
