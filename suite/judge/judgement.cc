#include "suite/judge/judgement.h"

#include <utility>

namespace fencepost::judge {

// Three answers and not two: to reject what is open would fail a conforming store, and to accept it
// would say that a rule was seen to be kept. Only a rejection fails a run (docs/EXPLORE.md); a
// green one of `explore` also needs half of its operations decided (docs/VERDICTS.md).
std::string_view name(Answer answer) {
  switch (answer) {
    case Answer::kAccepted:
      return "accepted";
    case Answer::kRejected:
      return "rejected";
    case Answer::kUndecidable:
      return "undecidable";
  }
  return {};
}

Judgement rejected(std::string_view requirement, std::string because) {
  return {.answer = Answer::kRejected,
          .requirement = std::string(requirement),
          .because = std::move(because)};
}

// The id is empty where nothing is open, but something cannot be known, such as a quota.
Judgement undecidable(std::string_view requirement, std::string because) {
  return {.answer = Answer::kUndecidable,
          .requirement = std::string(requirement),
          .because = std::move(because)};
}

}  // namespace fencepost::judge
