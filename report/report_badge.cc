#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/report.h"
#include "report/requirement_states.h"
#include "report/root_causes.h"

namespace fencepost::report {
namespace {

const char* colour_of(run::ExitCode code, bool complete) {
  switch (code) {
    case run::ExitCode::kConformant:
      return complete ? "brightgreen" : "green";
    case run::ExitCode::kFailed:
      return "red";
    case run::ExitCode::kInconclusive:
      return "yellow";
    case run::ExitCode::kUsage:
    case run::ExitCode::kUnreachable:
    case run::ExitCode::kNothingSelected:
    case run::ExitCode::kInternal:
    case run::ExitCode::kInterrupted:
      break;
  }
  return "lightgrey";  // no verdict
}

}  // namespace

std::string to_badge(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                     const ReportContext& context) {
  const MustScore score = must_score(
      requirement_states(result, differences(result, catalogue, context.strict), catalogue),
      catalogue);
  const run::ExitCode code = exit_code(result);
  const bool part = !part_text(result, context).empty();
  std::string message = fmt::format("{}/{} MUST", score.kept, score.all);
  if (part) message += " (part)";
  nlohmann::ordered_json out;
  out["schemaVersion"] = 1;
  out["label"] = "state store";
  out["message"] = message;
  out["color"] = colour_of(code, !part && score.kept == score.all);
  if (code == run::ExitCode::kFailed) out["isError"] = true;
  return out.dump(1) + "\n";
}

}  // namespace fencepost::report
