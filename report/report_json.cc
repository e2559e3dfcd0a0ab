#include "report/report_json.h"

#include "base/durations.h"
#include "report/case_json.h"
#include "report/phases.h"
#include "report/requirement_states.h"
#include "report/root_causes.h"

namespace fencepost::report {
namespace {

using nlohmann::ordered_json;

using SeenForms = std::map<codec::Divergence, std::set<codec::DialectId>>;
using SeenOutcomes = std::map<std::string, std::set<std::string>>;

ordered_json to_json(const SeenForms& forms) {
  ordered_json out = ordered_json::object();
  for (const auto& [divergence, dialects] : forms) {
    ordered_json list = ordered_json::array();
    for (const codec::DialectId id : dialects) list.push_back(codec::dialect(id).name);
    out[std::string(codec::name(divergence))] = std::move(list);
  }
  return out;
}

ordered_json to_json(const SeenOutcomes& points) {
  ordered_json out = ordered_json::object();
  for (const auto& [id, outcomes] : points) out[id] = outcomes;
  return out;
}

ordered_json forms(const run::CaseResult& result) {
  SeenForms out;
  for (const auto& [divergence, dialect] : result.forms) out[divergence].insert(dialect);
  return to_json(out);
}

ordered_json unspecified_points(const run::CaseResult& result) {
  SeenOutcomes out;
  for (const auto& [id, outcome] : result.unspecified_points) out[id].insert(outcome);
  return to_json(out);
}

ordered_json axes(const scenario::Case& test_case) {
  ordered_json out = ordered_json::object();
  for (const scenario::AxisBinding& binding : test_case.axes) out[binding.axis] = binding.value;
  return out;
}

ordered_json to_json(const run::CaseResult& result, const scenario::Catalogue& catalogue,
                     const ReportContext& context) {
  const scenario::Case& test_case = *result.test_case;
  ordered_json out;
  out["id"] = test_case.id;
  out["area"] = test_case.area;
  out["title"] = test_case.title;
  if (!test_case.axes.empty()) out["axes"] = axes(test_case);
  out["requirements"] = test_case.requirements;
  out["divergences"] = ordered_json::array();
  for (const codec::Divergence divergence : test_case.divergences) {
    out["divergences"].push_back(codec::name(divergence));
  }
  out["level"] = name(catalogue.level_of(test_case));
  const bool warning =
      result.verdict == run::Verdict::kFailed && is_warning(result, catalogue, context.strict);
  out["verdict"] = warning ? "warning" : name(result.verdict);
  out["duration_ms"] = in_milliseconds(result.duration);
  out["message"] = result.failure.message;
  out["file"] = test_case.position.file;
  out["line"] = test_case.position.line;
  if (result.verdict != run::Verdict::kPassed && !result.failure.requirement.empty()) {
    out["failure"] = failure_json(result.failure);
    // By which nobody knows it again.
    if (result.verdict == run::Verdict::kInconclusive) {
      for (const char* known_by : {"signature", "cause", "theme"}) out["failure"].erase(known_by);
    }
    if (result.waived) out["failure"]["binds"] = false;
  }
  if (result.first_attempt) out["first_attempt"] = attempt_json(*result.first_attempt);
  if (result.alone) {
    out["alone"] = {
        {"verdict", name(result.alone->fails ? run::Verdict::kFailed : run::Verdict::kPassed)}};
    if (!result.alone->shown_by.empty()) out["alone"]["shown_by"] = result.alone->shown_by;
  }
  if (!result.baseline.empty()) out["baseline"] = result.baseline;
  if (result.unexpected_pass) out["unexpected_pass"] = true;
  out["reproduce"] = reproduce_command(context, result);
  out["forms_observed"] = forms(result);
  out["open_points_observed"] = unspecified_points(result);
  out["round_trips_ms"] = ordered_json::array();
  for (const endpoint::Duration time : result.round_trips) {
    out["round_trips_ms"].push_back(in_milliseconds(time));
  }
  if (has_transcript(result, context)) {
    out["transcript"] = ordered_json::array();
    for (const run::TranscriptEntry& entry : result.transcript)
      out["transcript"].push_back(entry_json(entry));
  }
  return out;
}

ordered_json to_json(const Difference& found) {
  ordered_json cases = ordered_json::array();
  ordered_json blocked = ordered_json::array();
  for (const run::CaseResult* entry : found.cases) {
    cases.push_back(entry->test_case->id);
    if (found.blocks(*entry)) blocked.push_back(entry->test_case->id);
  }
  const char* verdict = found.kind == FindingKind::kWarning           ? "warning"
                        : found.kind == FindingKind::kExpectedFailure ? "expected-failure"
                                                                      : "failed";
  ordered_json out = {{"id", found.name},          {"requirement", found.rule_id},
                      {"verdict", verdict},        {"causes", found.causes},
                      {"cases", std::move(cases)}, {"blocked", std::move(blocked)},
                      {"warnings", found.warnings}};
  if (!found.where.empty()) out["where"] = found.where;
  return out;
}

ordered_json to_json(const run::Summary& summary) {
  return {{"passed", summary.passed},
          {"failed", summary.failed},
          {"warnings", summary.warnings},
          {"skipped", summary.skipped},
          {"inconclusive", summary.inconclusive},
          {"expected_failures", summary.expected_failures},
          {"not_run", summary.not_run}};
}

ordered_json to_json(const run::Selection& selection) {
  return {{"run", selection.run},
          {"skip", selection.skip},
          {"tags", selection.tags},
          {"requirements", selection.requirements}};
}

ordered_json to_json(const ReportPart& part) {
  ordered_json out = {{"file", part.file},
                      {"shard", part.shard},
                      {"seed", part.seed},
                      {"started", part.started},
                      {"duration_ms", in_milliseconds(part.duration)},
                      {"exit_code", part.exit_code}};
  if (!part.stopped_because.empty()) out["stopped_because"] = part.stopped_because;
  return out;
}

// How the run ended, as far as it did not come to its end.
void add_end(ordered_json& out, const run::SuiteResult& result, const ReportContext& context) {
  if (!context.stopped_because.empty()) out["stopped_because"] = context.stopped_because;
  if (result.endpoint_lost) out["endpoint_lost"] = true;
  if (!result.lost_message.empty()) out["lost_message"] = result.lost_message;
  if (result.interrupted) out["interrupted"] = true;
}

ordered_json latency(const run::SuiteResult& result, const run::PreflightReport& preflight) {
  return {{"round_trips", result.round_trips.size()},
          {"p50", in_milliseconds(run::percentile(result.round_trips, 50))},
          {"p99", in_milliseconds(run::percentile(result.round_trips, 99))},
          {"unloaded_p50", in_milliseconds(preflight.round_trip_p50)},
          {"unloaded_p99", in_milliseconds(preflight.round_trip_p99)}};
}

}  // namespace

ordered_json report_document(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                             const ReportContext& context) {
  ordered_json out;
  out["suite_version"] = suite_version();
  out["suite_commit"] = suite_commit();
  if (!context.environment.empty()) out["environment"] = context.environment;
  out["endpoint"] = context.endpoint;
  out["profile"] = name(context.profile);
  out["wording"] = name(context.edition);
  out["judged_by"] = {{"dialect", codec::dialect(result.basis.dialect).name},
                      {"wording", name(result.basis.edition)},
                      {"binding_rules", binding_rules(catalogue, result.basis)}};
  out["dialect_observed"] = observed_dialect(result);
  out["forms_observed"] = to_json(result.forms);
  out["open_points_observed"] = to_json(result.unspecified_points);
  out["seed"] = context.seed;
  out["strict"] = context.strict;
  out["selection"] = to_json(context.selection);
  if (context.known_cases > 0) {
    out["selected"] = {{"cases", result.cases.size()}, {"of", context.known_cases}};
  }
  out["shard"] = {{"index", context.selection.shard}, {"of", context.selection.shards}};
  out["transcripts"] = name(context.transcripts);
  out["command"] = context.command;
  out["started"] = context.started;
  out["duration_ms"] = in_milliseconds(result.duration);
  out["latency_ms"] = latency(result, context.preflight);
  out["clock_offset_ms"] = context.preflight.clock_offset_ms;
  out["clock_offset_bounds_ms"] = {{"low", context.preflight.clock_bounds.low_ms},
                                   {"high", context.preflight.clock_bounds.high_ms},
                                   {"source", name(context.preflight.clock_source)}};
  if (context.expiry_tolerance && context.disconnect_settling) {
    out["tolerances_ms"] = {{"expiry", context.expiry_tolerance->count()},
                            {"disconnect", context.disconnect_settling->count()}};
  }
  out["exit_code"] = static_cast<int>(exit_code(result));
  if (!result.baseline_errors.empty()) {
    out["baseline_complaints"] = result.baseline_errors;
  }
  add_end(out, result, context);
  for (const ReportPart& part : context.parts) out["parts"].push_back(to_json(part));
  out["summary"] = to_json(result.summary);
  if (result.stress) out["stress"] = stress_json(*result.stress);
  if (result.enumeration) out["enumeration"] = enumeration_json(*result.enumeration);
  out["differences"] = ordered_json::array();
  const std::vector<Difference> all = differences(result, catalogue, context.strict);
  for (const Difference& found : all) out["differences"].push_back(to_json(found));
  out["requirements"] = ordered_json::array();
  for (const RequirementFinding& each : requirement_states(result, all, catalogue)) {
    out["requirements"].push_back(
        {{"id", each.id}, {"state", name(each.state)}, {"note", each.note}});
  }
  out["cases"] = ordered_json::array();
  for (const run::CaseResult& entry : result.cases)
    out["cases"].push_back(to_json(entry, catalogue, context));
  return out;
}

std::string to_json(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                    const ReportContext& context) {
  return report_document(result, catalogue, context)
             .dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace fencepost::report
