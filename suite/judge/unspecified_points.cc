#include "suite/judge/unspecified_points.h"

#include <algorithm>

#include <fmt/format.h>

#include "suite/judge/oracle_key.h"

namespace fencepost::judge {
namespace {

std::string point_of(const UnspecifiedChoice& choice) {
  std::string out(choice.requirement);
  if (!choice.point.empty()) out += fmt::format(" ({})", choice.point);
  return out;
}

}  // namespace

bool UnspecifiedPoints::contradicts(const UnspecifiedChoice& choice) const {
  if (choice.requirement.empty() || choice.several) return false;
  const auto seen = observed_.find(point_of(choice));
  return seen != observed_.end() && seen->second != choice.outcome;
}

bool UnspecifiedPoints::is_settled(const UnspecifiedChoice& choice) const {
  return choice.requirement.empty() || observed_.contains(point_of(choice));
}

void UnspecifiedPoints::settle(std::vector<CandidateState>& candidates) {
  // What is common to all states is among what the first one assumes.
  if (candidates.empty() || candidates.front().assumed.empty()) return;
  // One reply often fits several choices. Only when every state that explains all replies so far
  // makes the same one is it known; until then a store must not be held to either.
  for (const UnspecifiedChoice& choice : candidates.front().assumed) {
    const bool common =
        std::all_of(candidates.begin(), candidates.end(), [&](const CandidateState& state) {
          return std::find(state.assumed.begin(), state.assumed.end(), choice) !=
                 state.assumed.end();
        });
    // Nothing is overwritten: states that assume another outcome than the one that was seen have
    // been dropped by then (contradicts()).
    if (common) observed_.emplace(point_of(choice), choice.outcome);
  }
  for (CandidateState& state : candidates) {
    std::erase_if(state.assumed,
                  [&](const UnspecifiedChoice& choice) { return is_settled(choice); });
  }
}

}  // namespace fencepost::judge
