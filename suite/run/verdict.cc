#include "suite/run/verdict.h"

namespace fencepost::run {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kExpectedFailure:
      return "expected-failure";
    case Verdict::kInconclusive:
      return "inconclusive";
    case Verdict::kSkipped:
      return "skipped";
    case Verdict::kLost:
      return "lost";
    case Verdict::kNotRun:
      return "not-run";
  }
  return "unknown";
}

}  // namespace fencepost::run
