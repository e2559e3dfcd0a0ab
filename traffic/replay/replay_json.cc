#include <nlohmann/json.hpp>

#include "base/text/printable.h"
#include "traffic/replay/replay.h"

namespace fencepost::replay {
namespace {

using nlohmann::ordered_json;

ordered_json of_recorded(const scenario::Recorded& recorded) {
  ordered_json out = {{"by", recorded.by}};
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) out[name] = text::printable(text);
  };
  add("when", recorded.when);
  add("endpoint", recorded.endpoint);
  if (recorded.seed) out["seed"] = *recorded.seed;
  add("requirement", recorded.requirement);
  add("signature", recorded.signature);
  add("message", recorded.message);
  add("expected", recorded.expected);
  add("actual", recorded.actual);
  return out;
}

ordered_json of_failure(const run::CaseResult& result) {
  return {{"requirement", text::printable(result.failure.requirement)},
          {"signature", signature(result.failure)},
          {"message", text::printable(result.failure.message)},
          {"expected", text::printable(result.failure.expected)},
          {"actual", text::printable(result.failure.actual)},
          {"step", result.failure.step},
          {"line", result.failure.position.line}};
}

ordered_json of_case(const Replay& replay) {
  const scenario::Case& test_case = *replay.test_case;
  ordered_json out = {{"id", test_case.id},
                      {"file", text::printable(test_case.position.file)},
                      {"line", test_case.position.line},
                      {"title", test_case.title},
                      {"outcome", name(replay.outcome)},
                      {"passed", replay.passed},
                      {"failed", replay.failed},
                      {"inconclusive", replay.inconclusive}};
  if (test_case.recorded) out["recorded"] = of_recorded(*test_case.recorded);
  if (is_failure(replay.outcome)) {
    out["failure"] = of_failure(replay.result);
  } else if (!replay.result.failure.message.empty()) {
    out["reason"] = text::printable(replay.result.failure.message);
  }
  return out;
}

ordered_json texts(const std::vector<std::string>& all) {
  ordered_json out = ordered_json::array();
  for (const std::string& text : all) out.push_back(text::printable(text));
  return out;
}

}  // namespace

std::string to_json(const ReplayRun& run, const report::ReportContext& context) {
  ordered_json cases = ordered_json::array();
  for (const Replay& replay : run.cases) cases.push_back(of_case(replay));
  const ordered_json out = {{"format", "fencepost-replay"},
                            {"version", 1},
                            {"suite_version", report::suite_version()},
                            {"endpoint", text::printable(context.endpoint)},
                            {"profile", name(context.profile)},
                            {"wording", name(context.edition)},
                            {"seed", context.seed},
                            {"started", context.started},
                            {"runs", run.runs},
                            {"exit_code", static_cast<int>(exit_code(run))},
                            {"stopped_because", text::printable(context.stopped_because)},
                            {"load_errors", texts(run.load_errors)},
                            {"mixed_forms", texts(run.mixed_forms)},
                            {"healed", texts(run.healed)},
                            {"not_healed", texts(run.not_healed)},
                            {"cases", std::move(cases)}};
  return out.dump(1) + "\n";
}

}  // namespace fencepost::replay
