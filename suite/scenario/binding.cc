#include "suite/scenario/binding.h"

#include <algorithm>

namespace fencepost::scenario {
namespace {

constexpr std::string_view kDeployedSource = "deployed";

}  // namespace

bool binds(const Requirement& requirement, const Basis& basis) {
  if (requirement.source == kDeployedSource) return basis.dialect == codec::DialectId::kDeployed;
  const std::vector<std::string>& in = requirement.documents;
  return in.empty() || std::find(in.begin(), in.end(), name(basis.edition)) != in.end();
}

std::vector<Basis> bases_of(codec::Profile profile, Edition edition) {
  using codec::DialectId;
  std::vector<Basis> out;
  if (profile != codec::Profile::kDocumented) {
    out.push_back({DialectId::kDeployed, edition == Edition::kAuto ? Edition::kGa : edition});
  }
  if (profile == codec::Profile::kDeployed) return out;
  for (const Edition each : {Edition::kGa, Edition::kPreview}) {
    if (edition == Edition::kAuto || edition == each) {
      out.push_back({DialectId::kDocumented, each});
    }
  }
  return out;
}

Basis basis_of(codec::Profile profile, Edition edition, const Observed& observed) {
  const bool documented = profile == codec::Profile::kDocumented ||
                          (profile == codec::Profile::kAuto && observed.documented_only);
  const bool preview = documented && observed.notified && !observed.notified_with_version;
  Basis out{documented ? codec::DialectId::kDocumented : codec::DialectId::kDeployed, edition};
  if (edition == Edition::kAuto) out.edition = preview ? Edition::kPreview : Edition::kGa;
  return out;
}

std::set<std::string, std::less<>> unsettled(const Catalogue& catalogue,
                                             const std::vector<Basis>& bases) {
  std::set<std::string, std::less<>> out;
  for (const Requirement& requirement : catalogue.all()) {
    const bool always = std::all_of(bases.begin(), bases.end(),
                                    [&](const Basis& basis) { return binds(requirement, basis); });
    if (!always) out.insert(requirement.id);
  }
  return out;
}

std::string_view demand(const Requirement& requirement, const std::vector<Basis>& bases) {
  if (requirement.open || requirement.level == Level::kMay) return "open";
  const auto on = [&](const Basis& basis) { return binds(requirement, basis); };
  if (requirement.level == Level::kShould || std::none_of(bases.begin(), bases.end(), on)) {
    return "warns";
  }
  return std::all_of(bases.begin(), bases.end(), on) ? "binds" : "depends";
}

std::size_t binding_rules(const Catalogue& catalogue, const Basis& basis) {
  const auto demanded = [&](const Requirement& requirement) {
    return requirement.level == Level::kMust && requirement.binds != "client" &&
           requirement.untestable.empty() && binds(requirement, basis);
  };
  return static_cast<std::size_t>(
      std::count_if(catalogue.all().begin(), catalogue.all().end(), demanded));
}

}  // namespace fencepost::scenario
