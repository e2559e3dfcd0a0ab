#include "suite/run/run_end.h"

#include <fmt/format.h>

#include "base/text/text_wrap.h"

namespace fencepost::run {

SuiteResult nothing_run(const std::vector<const scenario::Case*>& cases, bool endpoint_lost) {
  SuiteResult out;
  out.endpoint_lost = endpoint_lost;
  for (const scenario::Case* test_case : cases) {
    out.cases.push_back({.test_case = test_case, .failure = {.position = test_case->position}});
  }
  out.summary.not_run = out.cases.size();
  return out;
}

std::string why_stopped(const SuiteResult& result, const FailureLimit& limit) {
  if (result.endpoint_lost) {
    return "the endpoint was lost during the run: " + result.lost_message;
  }
  if (!result.interrupted) return {};
  if (!limit.is_reached()) return "interrupted";
  return fmt::format("stopped after {} (--max-failures)", text::counted(limit.failures, "failure"));
}

ExitCode exit_code_without_skips(ExitCode code, const Summary& summary) {
  const bool mild = code == ExitCode::kConformant || code == ExitCode::kInconclusive ||
                    code == ExitCode::kNothingSelected;
  return mild && summary.skipped > 0 ? ExitCode::kFailed : code;
}

}  // namespace fencepost::run
