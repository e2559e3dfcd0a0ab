#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "conformance/report/report.h"

namespace fencepost::report {
namespace {

// Requirements of level MUST that a client can check, among those that the cases of the run cite.
struct Tally {
  std::size_t covered = 0;
  std::size_t kept = 0;  // each case of the run that cites it has passed
};

Tally tally(const run::SuiteResult& result, const scenario::Catalogue& catalogue) {
  std::set<std::string> covered;
  std::set<std::string> doubted;
  for (const run::CaseResult& entry : result.cases) {
    for (const std::string& id : entry.test_case->requirements) {
      const scenario::Requirement* rule = catalogue.find(id);
      if (rule == nullptr || rule->level != scenario::Level::kMust || !rule->untestable.empty())
        continue;
      covered.insert(id);
      // A case that was skipped or not run shows nothing, and a badge claims what was shown.
      if (entry.verdict != run::Verdict::kPassed) doubted.insert(id);
    }
  }
  return {.covered = covered.size(), .kept = covered.size() - doubted.size()};
}

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
  const Tally tallied = tally(result, catalogue);
  const run::ExitCode code = exit_code(result);
  const bool part = result.cases.size() < context.known_cases;
  std::string message = fmt::format("{}/{} MUST", tallied.kept, tallied.covered);
  if (part) message += " (part)";
  nlohmann::ordered_json out;
  out["schemaVersion"] = 1;
  out["label"] = "state store";
  out["message"] = message;
  out["color"] = colour_of(code, !part && tallied.kept == tallied.covered);
  if (code == run::ExitCode::kFailed) out["isError"] = true;
  return out.dump(1) + "\n";
}

}  // namespace fencepost::report
