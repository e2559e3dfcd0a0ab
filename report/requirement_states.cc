#include "report/requirement_states.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "report/phases.h"

namespace fencepost::report {
namespace {

constexpr std::array kStateNames = {
    std::pair{RequirementState::kBroken, "broken"},
    std::pair{RequirementState::kOutside, "outside"},
    std::pair{RequirementState::kWarning, "warning"},
    std::pair{RequirementState::kExpectedFailure, "expected-failure"},
    std::pair{RequirementState::kInconclusive, "inconclusive"},
    std::pair{RequirementState::kOpen, "open"},
    std::pair{RequirementState::kNotRun, "not-run"},
    std::pair{RequirementState::kSkipped, "skipped"},
    std::pair{RequirementState::kPassed, "passed"},
    std::pair{RequirementState::kNotShown, "not-shown"},
};

// In the console, after a number.
std::string_view state_words(RequirementState state) {
  switch (state) {
    case RequirementState::kOutside:
      return "answered outside the allowed outcomes";
    case RequirementState::kWarning:
      return "with warnings";
    case RequirementState::kExpectedFailure:
      return "broken as the baseline expects";
    case RequirementState::kNotRun:
      return "not run";
    case RequirementState::kNotShown:
      return "not shown";
    case RequirementState::kOpen:
      return "unspecified";
    case RequirementState::kBroken:
    case RequirementState::kInconclusive:
    case RequirementState::kSkipped:
    case RequirementState::kPassed:
      break;
  }
  return name(state);
}

// What became of the cases that are about one requirement.
struct CitingCases {
  std::size_t all = 0;
  std::size_t passed = 0;
  std::size_t failed = 0;  // warnings and expected failures too
  std::size_t skipped = 0;
  std::size_t unfinished = 0;
  std::size_t undecided_of = 0;
};

void add(CitingCases& cases, const run::CaseResult& entry) {
  ++cases.all;
  switch (entry.verdict) {
    case run::Verdict::kPassed:
      ++cases.passed;
      break;
    case run::Verdict::kFailed:
    case run::Verdict::kExpectedFailure:
      ++(entry.unexpected_pass ? cases.passed : cases.failed);
      break;
    case run::Verdict::kSkipped:
      ++cases.skipped;
      break;
    case run::Verdict::kLost:
    case run::Verdict::kNotRun:
      ++cases.unfinished;
      break;
    case run::Verdict::kInconclusive:
      break;
  }
}

std::optional<RequirementState> state_of(const Difference& found) {
  switch (found.kind) {
    case FindingKind::kFailure:
      return found.is_open() ? RequirementState::kOutside : RequirementState::kBroken;
    case FindingKind::kWarning:
      return found.is_open() ? RequirementState::kOutside : RequirementState::kWarning;
    case FindingKind::kExpectedFailure:
      return RequirementState::kExpectedFailure;
    case FindingKind::kUnexpectedPass:
    case FindingKind::kInconclusive:
      break;
  }
  return std::nullopt;
}

// What the phases have shown, regardless of what the cases say.
void add_phases(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                std::map<std::string, RequirementFinding>& attributed) {
  for (const Phase& phase : phases_of(result)) {
    for (const run::PhaseFinding& found : phase.findings) {
      const scenario::Requirement* rule = catalogue.find(found.requirement);
      const bool open = rule != nullptr && rule->open;
      const RequirementState state = open          ? RequirementState::kOutside
                                     : found.fails ? RequirementState::kBroken
                                                   : RequirementState::kWarning;
      const RequirementFinding finding{found.requirement, state, std::string(phase.title)};
      const auto [known, added] = attributed.emplace(found.requirement, finding);
      if (added) continue;
      known->second.note += "; " + finding.note;
      known->second.state = std::min(known->second.state, state);
    }
  }
}

// Rules that do not apply to the store: each that is not followed is listed, also where one root
// cause explains several.
void add_waived(const std::vector<Difference>& all,
                std::map<std::string, RequirementFinding>& attributed) {
  for (const Difference& found : all) {
    std::map<std::string, std::size_t> waived;
    for (const run::CaseResult* entry : found.cases) {
      if (entry->waived) ++waived[entry->failure.requirement];
    }
    for (const auto& [rule, cases] : waived) {
      attributed.emplace(rule, RequirementFinding{rule, RequirementState::kWarning,
                                                  fmt::format("{}: {}", found.name,
                                                              text::counted(cases, "case"))});
    }
  }
}

// The finding for a rule that no root cause is attributed to.
RequirementFinding unbroken(const scenario::Requirement& rule, const CitingCases& cases) {
  using enum RequirementState;
  const std::string all = text::counted(cases.all, "case");
  if (cases.undecided_of > 0) {
    return {rule.id, kInconclusive, fmt::format("{} of {} inconclusive", cases.undecided_of, all)};
  }
  if (rule.open) return {rule.id, kOpen};
  if (cases.unfinished > 0) {
    return {rule.id, kNotRun, fmt::format("{} of {} not finished", cases.unfinished, all)};
  }
  if (cases.skipped == cases.all) return {rule.id, kSkipped, all};
  std::string note = cases.passed < cases.all ? fmt::format("{} of {}", cases.passed, all) : all;
  if (cases.failed > 0) {
    note += fmt::format("; {} failed for another reason", cases.failed);
  }
  if (cases.skipped > 0) note += fmt::format("; {} skipped", cases.skipped);
  if (cases.passed > 0) return {rule.id, kPassed, note};
  return {rule.id, cases.failed > 0 ? kNotShown : kInconclusive, note};
}

}  // namespace

std::string_view name(RequirementState state) {
  const auto found = std::find_if(kStateNames.begin(), kStateNames.end(),
                                  [&](const auto& each) { return each.first == state; });
  return found->second;
}

std::vector<RequirementFinding> requirement_states(const run::SuiteResult& result,
                                                   const std::vector<Difference>& all,
                                                   const scenario::Catalogue& catalogue) {
  std::map<std::string, CitingCases> citing;
  for (const run::CaseResult& entry : result.cases) {
    for (const std::string& id : entry.test_case->requirements) add(citing[id], entry);
    // A failure may be attributed to a rule that its case does not cite.
    if (entry.verdict == run::Verdict::kInconclusive && !entry.failure.requirement.empty()) {
      ++citing[entry.failure.requirement].undecided_of;
    }
  }
  std::map<std::string, RequirementFinding> attributed;
  for (const Difference& found : all) {
    const auto state = state_of(found);
    if (!state) continue;
    RequirementFinding finding{
        found.rule_id, *state,
        fmt::format("{}: {}", found.name, text::counted(found.cases.size(), "case"))};
    const auto [known, added] = attributed.emplace(found.rule_id, finding);
    if (!added) known->second.note += fmt::format("; {}", finding.note);
    if (finding.state < known->second.state) known->second.state = finding.state;
  }
  add_waived(all, attributed);
  add_phases(result, catalogue, attributed);
  std::vector<RequirementFinding> out;
  for (const scenario::Requirement& rule : catalogue.all()) {
    if (const auto broken = attributed.find(rule.id); broken != attributed.end()) {
      out.push_back(broken->second);
    } else if (const auto cited = citing.find(rule.id); cited != citing.end()) {
      out.push_back(unbroken(rule, cited->second));
    }
  }
  return out;
}

MustScore must_score(const std::vector<RequirementFinding>& states,
                     const scenario::Catalogue& catalogue) {
  MustScore out;
  for (const RequirementFinding& each : states) {
    const scenario::Requirement* rule = catalogue.find(each.id);
    if (rule == nullptr || rule->level != scenario::Level::kMust || !rule->untestable.empty())
      continue;
    ++out.all;
    if (each.state == RequirementState::kPassed) ++out.kept;
  }
  return out;
}

std::string requirements_text(const std::vector<RequirementFinding>& states) {
  std::map<RequirementState, std::size_t> counts;
  for (const RequirementFinding& each : states) ++counts[each.state];
  std::string out;
  const auto add_count = [&](RequirementState state) {
    if (!counts.contains(state)) return;
    out += fmt::format("{}{} {}", out.empty() ? "requirements: " : ", ", counts[state],
                       state_words(state));
    counts.erase(state);
  };
  add_count(RequirementState::kPassed);
  for (const auto& [state, word] : kStateNames) add_count(state);
  return out;
}

}  // namespace fencepost::report
