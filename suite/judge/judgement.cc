#include "suite/judge/judgement.h"

#include <utility>

namespace fencepost::judge {

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

Judgement undecidable(std::string_view requirement, std::string because) {
  return {.answer = Answer::kUndecidable,
          .requirement = std::string(requirement),
          .because = std::move(because)};
}

}  // namespace fencepost::judge
