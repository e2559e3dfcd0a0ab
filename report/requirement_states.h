// What a run says of each requirement that its cases are about, or that a root cause is attributed
// to. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/root_causes.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"

namespace fencepost::report {

// If several hold, the first one counts. Only what a root cause is attributed to is broken: a case
// that failed for another reason says nothing about the rules that it tests.
enum class RequirementState {
  kBroken,
  kOutside,          // left open by the documents, and the answer is outside the allowed ones
  kWarning,          // a recommendation that is not followed, or a rule that does not apply
  kExpectedFailure,  // broken, as the baseline expects
  kInconclusive,     // the evidence does not decide
  kOpen,             // left open by the documents: what was seen is no verdict
  kNotRun,           // some of its cases did not end, and none shows it broken
  kSkipped,          // all of its cases were
  kPassed,           // cases show that it is kept; others may have ended before they came to it
  kNotShown,         // each of its cases failed for another reason before the step that tests it
};

// broken, outside, warning, expected-failure, ...
[[nodiscard]] std::string_view name(RequirementState state);

struct RequirementFinding {
  std::string id{};
  RequirementState state = RequirementState::kPassed;
  std::string note{};  // of how many cases, in words; empty for an unspecified point
};

// In the order of the catalogue, those that any case of the run cites or a root cause, or what
// concurrent clients saw, is attributed to. `all` are the root causes of the same result.
[[nodiscard]] std::vector<RequirementFinding> requirement_states(
    const run::SuiteResult& result, const std::vector<Difference>& all,
    const scenario::Catalogue& catalogue);

// The score of the rules of level MUST that a client can check: what the head of the page and the
// badge say.
struct MustScore {
  std::size_t kept = 0;
  std::size_t all = 0;  // that the run is about
};
[[nodiscard]] MustScore must_score(const std::vector<RequirementFinding>& states,
                                   const scenario::Catalogue& catalogue);

// "requirements: 190 passed, 1 broken, 12 not shown"; empty for none.
[[nodiscard]] std::string requirements_text(const std::vector<RequirementFinding>& states);

}  // namespace fencepost::report
