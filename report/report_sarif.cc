#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/text/printable.h"
#include "report/findings.h"
#include "report/phases.h"
#include "report/report.h"

namespace fencepost::report {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr std::size_t kMaxBytesOfMessage = 20'000;
constexpr std::size_t kMaxRelated = 100;  // GitHub takes a thousand of a result, and shows few
constexpr std::size_t kMaxIdsInMessage = 10;
constexpr std::size_t kMaxExchange = 40;  // messages of the case that shows a root cause

// Kinds of notifications, by their place in the list that the driver has.
struct NotificationKind {
  const char* id;
  const char* text;
};
constexpr NotificationKind kStopped = {"run-stopped", "The run ended before all of its cases did."};
constexpr NotificationKind kSkipped = {"cases-skipped",
                                       "The endpoint lacks what some of the cases need."};
constexpr NotificationKind kBaseline = {"baseline-entry",
                                        "An entry of the baseline does not match the results."};
constexpr std::array kNotificationKinds = {kStopped, kSkipped, kBaseline};

// An object, also where a list of one pair could be read as something else.
ordered_json object(ordered_json::initializer_list_t members) {
  return ordered_json::object(members);
}

// A message string: braces would be placeholders, so they are doubled, and `[text](address)` a link
// of somebody else's, so it is taken apart (SARIF 2.1.0, 3.11.5 and 3.11.6).
ordered_json message(std::string_view text) {
  std::string out;
  for (const char c : text::shortened(text::printable(text), kMaxBytesOfMessage)) {
    if (c == '(' && out.ends_with(']')) out += ' ';
    out += c;
    if (c == '{' || c == '}') out += c;
  }
  return object({{"text", out}});
}

// A path as a URI reference: relative paths are relative to where the suite was started.
std::string uri(const std::string& path) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string out = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = kPlain.find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

const char* level_of(scenario::Level level) {
  switch (level) {
    case scenario::Level::kMust:
      return "error";
    case scenario::Level::kShould:
      return "warning";
    case scenario::Level::kMay:
      return "note";
  }
  return "note";
}

// ---- rules ----

// The first sentence; a full stop within back-ticks or a word ends none.
std::string first_sentence(const std::string& text) {
  bool quoted = false;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '`') quoted = !quoted;
    if (!quoted && text[i] == '.' && text[i + 1] == ' ') return text.substr(0, i + 1);
  }
  return text;
}

ordered_json rule_of(const scenario::Requirement& requirement) {
  std::string help =
      requirement.text + "\n\nSection: " + requirement.section + "\nSource: " + requirement.source;
  for (const auto& [dialect, form] : requirement.dialects) help += "\n" + dialect + ": " + form;
  help += "\n\n`fencepost explain " + requirement.id + "` has the details.";
  ordered_json out;
  out["id"] = requirement.id;
  out["shortDescription"] = message(first_sentence(requirement.text));
  out["fullDescription"] = message(requirement.text);
  out["help"] = message(help);
  out["defaultConfiguration"] = {{"level", level_of(requirement.level)}};
  out["properties"] = {{"level", name(requirement.level)},
                       {"binds", requirement.binds},
                       {"section", requirement.section},
                       {"source", requirement.source},
                       {"documents", requirement.documents},
                       {"open", requirement.open},
                       {"tags", {"conformance", name(requirement.level)}}};
  return out;
}

// The requirements that this run could have found broken, in the order of the catalogue.
class Rules {
 public:
  Rules(const run::SuiteResult& result, const std::vector<Finding>& all,
        const scenario::Catalogue& catalogue) {
    std::set<std::string> used;
    for (const run::CaseResult& entry : result.cases) {
      used.insert(entry.test_case->requirements.begin(), entry.test_case->requirements.end());
    }
    for (const Finding& finding : all) used.insert(finding.rule_id);
    for (const Phase& phase : phases_of(result)) {
      for (const run::PhaseFinding& found : phase.findings) used.insert(found.requirement);
    }
    for (const scenario::Requirement& requirement : catalogue.all()) {
      if (!used.contains(requirement.id)) continue;
      index_[requirement.id] = list_.size();
      list_.push_back(rule_of(requirement));
    }
  }

  [[nodiscard]] const ordered_json& list() const { return list_; }
  // Null: a rule that the catalogue does not have.
  [[nodiscard]] const std::size_t* index(const std::string& id) const {
    const auto found = index_.find(id);
    return found == index_.end() ? nullptr : &found->second;
  }

 private:
  ordered_json list_ = ordered_json::array();
  std::map<std::string, std::size_t> index_;
};

// ---- results ----

// The lines of a case, from 1, as they stand in the file.
std::vector<std::string> lines_of(const std::string& source) {
  std::vector<std::string> out;
  std::istringstream stream(source);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

// The failing step, and around it the whole case: the files are part of the suite, and the
// repository that a report is shown for need not have them.
ordered_json location_of(const run::CaseResult& result) {
  const scenario::Case& test_case = *result.test_case;
  const scenario::Position& at =
      result.failure.position.line > 0 ? result.failure.position : test_case.position;
  ordered_json physical;
  physical["artifactLocation"] = {{"uri", uri(at.file)}};
  physical["region"] = {{"startLine", std::max(at.line, 1)}};
  const std::vector<std::string> lines = lines_of(test_case.source);
  const int offset = at.line - test_case.position.line;
  const bool inside = at.file == test_case.position.file && offset >= 0 &&
                      static_cast<std::size_t>(offset) < lines.size();
  if (inside) {
    physical["region"]["snippet"] = {
        {"text", text::printable(lines[static_cast<std::size_t>(offset)])}};
    if (lines.size() > 1) {
      physical["contextRegion"] = {
          {"startLine", test_case.position.line},
          {"endLine", test_case.position.line + static_cast<int>(lines.size()) - 1},
          {"snippet",
           {{"text", text::shortened(text::printable(test_case.source), kMaxBytesOfMessage)}}}};
    }
  }
  ordered_json out;
  out["physicalLocation"] = std::move(physical);
  out["logicalLocations"] = ordered_json::array(
      {object({{"fullyQualifiedName", text::printable(test_case.id)}, {"kind", "test"}})});
  return out;
}

// Where else a root cause was met: without the text of the cases, which all have the same.
ordered_json related_locations(const Difference& found) {
  ordered_json out = ordered_json::array();
  for (std::size_t i = 1; i < found.cases.size() && i <= kMaxRelated; ++i) {
    const run::CaseResult& entry = *found.cases[i];
    const scenario::Position& at =
        entry.failure.position.line > 0 ? entry.failure.position : entry.test_case->position;
    ordered_json physical;
    physical["artifactLocation"] = {{"uri", uri(at.file)}};
    physical["region"] = {{"startLine", std::max(at.line, 1)}};
    ordered_json location;
    location["id"] = i;
    location["physicalLocation"] = std::move(physical);
    location["message"] =
        message(entry.test_case->id + (found.blocks(entry) ? ", before the step it tests" : ""));
    out.push_back(std::move(location));
  }
  return out;
}

// What was sent and received until it failed; the end tells most.
std::vector<std::string> exchange_of(const run::CaseResult& result) {
  std::vector<std::string> out;
  const std::size_t count = result.transcript.size();
  for (std::size_t i = count - std::min(count, kMaxExchange); i < count; ++i) {
    out.push_back(
        text::shortened(text::printable(to_line(result.transcript[i])), kMaxBytesOfMessage));
  }
  return out;
}

std::string text_of(const Finding& finding, const ReportContext& context) {
  const run::CaseResult& result = *finding.result;
  std::string text = headline(finding);
  if (!text.ends_with('.')) text += '.';
  if (finding.rule != nullptr && finding.difference && finding.difference->is_open()) {
    text += "\nThe answer is outside the allowed ones: " + finding.rule->text;
  }
  if (!result.failure.expected.empty()) text += "\nExpected: " + result.failure.expected;
  if (!result.failure.actual.empty()) text += "\nActual: " + result.failure.actual;
  if (!result.baseline.empty()) text += "\nBaseline: " + result.baseline;
  text += "\nCase: " + result.test_case->id + " (" + result.test_case->title + ")";
  if (finding.difference && finding.difference->cases.size() > 1) {
    text += "\nAlso: " + others_of(*finding.difference, kMaxIdsInMessage);
  }
  if (const std::string alone = alone_text(result); !alone.empty())
    text += "\nIn isolation: " + alone;
  text += "\nReproduce: " + reproduce_command(context, result);
  return text;
}

// What the evidence does not decide is open, in the words of the standard; only what is broken has
// a level.
void set_kind_and_level(ordered_json& out, const Finding& finding, bool strict) {
  out["kind"] = finding.kind == FindingKind::kInconclusive ? "open" : "fail";
  switch (finding.kind) {
    case FindingKind::kFailure:
    case FindingKind::kUnexpectedPass:
      out["level"] = "error";
      return;
    case FindingKind::kWarning:
      out["level"] = "warning";
      return;
    case FindingKind::kInconclusive:
      out["level"] = "none";
      return;
    case FindingKind::kExpectedFailure:
      out["level"] = strict ? "error" : level_of(finding.level);
      return;
  }
}

ordered_json suppressions_of(const Finding& finding) {
  ordered_json out = ordered_json::array();
  if (finding.kind != FindingKind::kExpectedFailure) return out;
  ordered_json entry;
  entry["kind"] = "external";
  entry["status"] = "accepted";
  if (!finding.result->baseline.empty()) {
    entry["justification"] =
        text::shortened(text::printable(finding.result->baseline), kMaxBytesOfMessage);
  }
  out.push_back(std::move(entry));
  return out;
}

// The same for the same root cause in every run, regardless of the seed and the endpoint, and
// whichever case shows it best.
std::string fingerprint_of(const Finding& finding, std::size_t nth_of_rule) {
  return fmt::format("{}:{}", finding.rule_id, nth_of_rule);
}

// What there is to know of a root cause beyond the case that shows it best.
void add_difference(ordered_json& out, const Finding& finding) {
  const Difference& found = *finding.difference;
  if (found.cases.size() > 1) out["relatedLocations"] = related_locations(found);
  ordered_json& properties = out["properties"];
  properties["difference"] = found.name;
  properties["causes"] = found.causes;
  properties["cases"] = ordered_json::array();
  properties["blocked"] = ordered_json::array();
  for (const run::CaseResult* entry : found.cases) {
    const std::string id = text::printable(entry->test_case->id);
    properties["cases"].push_back(id);
    if (found.blocks(*entry)) properties["blocked"].push_back(id);
  }
  properties["exchange"] = exchange_of(*finding.result);
}

ordered_json result_of(const Finding& finding, const std::string& fingerprint, const Rules& rules,
                       const ReportContext& context) {
  const run::CaseResult& result = *finding.result;
  ordered_json out;
  out["ruleId"] = finding.rule_id;
  if (const std::size_t* index = rules.index(finding.rule_id)) out["ruleIndex"] = *index;
  set_kind_and_level(out, finding, context.strict);
  out["message"] = message(text_of(finding, context));
  out["locations"] = ordered_json::array({location_of(result)});
  // The second is the one that GitHub looks at; it would compute it from a file that it has not.
  out["partialFingerprints"] = {
      {finding.difference ? "difference/v1" : "caseId/v1", fingerprint},
      {"primaryLocationLineHash", fmt::format("{:016x}:1", stable_hash(fingerprint))}};
  out["properties"] = {
      {"case", text::printable(result.test_case->id)},
      {"verdict", finding.kind == FindingKind::kWarning ? "warning" : name(result.verdict)},
      {"requirements", result.test_case->requirements},
      {"step", result.failure.step}};
  if (finding.difference) add_difference(out, finding);
  return out;
}

ordered_json results_of(const std::vector<Finding>& all, const Rules& rules,
                        const ReportContext& context) {
  // All results say whether they are suppressed, or none does.
  const bool suppressed = std::any_of(all.begin(), all.end(), [](const Finding& finding) {
    return finding.kind == FindingKind::kExpectedFailure;
  });
  ordered_json out = ordered_json::array();
  std::map<std::string, std::size_t> of_rule;
  for (const Finding& finding : all) {
    const std::string fingerprint = finding.difference
                                        ? fingerprint_of(finding, ++of_rule[finding.rule_id])
                                        : text::printable(finding.result->test_case->id);
    ordered_json entry = result_of(finding, fingerprint, rules, context);
    if (suppressed) entry["suppressions"] = suppressions_of(finding);
    out.push_back(std::move(entry));
  }
  return out;
}

// What a phase has shown. No case has found it: it stands where the rule does.
ordered_json phase_results(const Phase& phase, const scenario::Catalogue& catalogue,
                           const Rules& rules) {
  ordered_json out = ordered_json::array();
  std::map<std::string, std::size_t> of_rule;
  for (const run::PhaseFinding& found : phase.findings) {
    ordered_json entry;
    entry["ruleId"] = found.requirement;
    if (const std::size_t* index = rules.index(found.requirement)) entry["ruleIndex"] = *index;
    entry["kind"] = "fail";
    entry["level"] = found.fails ? "error" : "warning";
    entry["message"] =
        message(finding_headline(found) + ".\n" + finding_evidence(phase, found, catalogue));
    ordered_json location;
    if (const scenario::Requirement* rule = catalogue.find(found.requirement)) {
      location["physicalLocation"] = {
          {"artifactLocation", {{"uri", uri(rule->position.file)}}},
          {"region", {{"startLine", std::max(rule->position.line, 1)}}}};
    }
    location["logicalLocations"] =
        ordered_json::array({object({{"fullyQualifiedName", phase.id}, {"kind", "test"}})});
    entry["locations"] = ordered_json::array({std::move(location)});
    const std::string fingerprint =
        fmt::format("{}:{}:{}", found.requirement, phase.id, ++of_rule[found.requirement]);
    entry["partialFingerprints"] = {
        {"difference/v1", fingerprint},
        {"primaryLocationLineHash", fmt::format("{:016x}:1", stable_hash(fingerprint))}};
    entry["properties"] = {{"case", phase.id},
                           {"verdict", found.fails ? "failed" : "warning"},
                           {"exchange", finding_lines(found)}};
    out.push_back(std::move(entry));
  }
  return out;
}

// ---- the run ----

ordered_json notification(const NotificationKind& kind, const char* level,
                          const std::string& text) {
  std::size_t index = 0;
  while (kNotificationKinds[index].id != kind.id) ++index;
  return {{"descriptor", {{"id", kind.id}, {"index", index}}},
          {"level", level},
          {"message", message(text)}};
}

ordered_json invocation_of(const run::SuiteResult& result, const ReportContext& context) {
  const run::ExitCode code = exit_code(result);
  ordered_json out;
  out["commandLine"] = text::printable(context.command);
  out["startTimeUtc"] = context.started;
  out["exitCode"] = static_cast<int>(code);
  out["exitCodeDescription"] = verdict_word(result, context);
  out["executionSuccessful"] = context.stopped_because.empty() && !result.endpoint_lost &&
                               !result.interrupted && !result.cases.empty();
  ordered_json about_run = ordered_json::array();
  if (!context.stopped_because.empty()) {
    about_run.push_back(
        notification(kStopped, "error",
                     fmt::format("{}. {} of {} cases were not run.", context.stopped_because,
                                 result.summary.not_run, result.cases.size())));
  }
  if (result.summary.skipped > 0) {
    about_run.push_back(
        notification(kSkipped, "note",
                     fmt::format("{} of {} cases were skipped: the endpoint lacks what they need.",
                                 result.summary.skipped, result.cases.size())));
  }
  out["toolExecutionNotifications"] = std::move(about_run);
  ordered_json about_settings = ordered_json::array();
  for (const std::string& diagnostic : result.baseline_errors) {
    about_settings.push_back(notification(kBaseline, "error", diagnostic));
  }
  out["toolConfigurationNotifications"] = std::move(about_settings);
  return out;
}

ordered_json driver_of(const Rules& rules) {
  ordered_json out;
  out["name"] = "fencepost";
  out["fullName"] = "Fencepost, conformance suite of the state store protocol over MQTT 5";
  out["version"] = suite_version();
  out["semanticVersion"] = suite_version();
  out["rules"] = rules.list();
  out["notifications"] = ordered_json::array();
  for (const NotificationKind& kind : kNotificationKinds) {
    out["notifications"].push_back({{"id", kind.id},
                                    {"shortDescription", message(kind.text)},
                                    {"fullDescription", message(kind.text)},
                                    {"help", message(kind.text)}});
  }
  return out;
}

}  // namespace

std::string to_sarif(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                     const ReportContext& context) {
  const std::vector<Finding> all = findings(result, catalogue, context.strict);
  const Rules rules(result, all, catalogue);
  ordered_json run;
  run["tool"] = {{"driver", driver_of(rules)}};
  run["automationDetails"] = {
      {"id", fmt::format("fencepost/{}/", name(context.profile))},
      {"description",
       message(fmt::format("Conformance of {} to the state store protocol.", context.endpoint))}};
  run["invocations"] = ordered_json::array({invocation_of(result, context)});
  run["columnKind"] = "unicodeCodePoints";
  run["results"] = results_of(all, rules, context);
  const bool suppressed = !run["results"].empty() && run["results"][0].contains("suppressions");
  for (const Phase& phase : phases_of(result)) {
    for (ordered_json& entry : phase_results(phase, catalogue, rules)) {
      if (suppressed) entry["suppressions"] = ordered_json::array();
      run["results"].push_back(std::move(entry));
    }
  }
  const run::Summary& summary = result.summary;
  run["properties"] = {{"endpoint", text::printable(context.endpoint)},
                       {"profile", name(context.profile)},
                       {"wording", name(context.edition)},
                       {"judgedBy", basis_text(result, catalogue, context)},
                       {"dialectObserved", observed_dialect(result)},
                       {"seed", std::to_string(context.seed)},
                       {"strict", context.strict},
                       {"cases", result.cases.size()},
                       {"passed", summary.passed},
                       {"failed", summary.failed},
                       {"warnings", summary.warnings},
                       {"skipped", summary.skipped},
                       {"inconclusive", summary.inconclusive},
                       {"expectedFailures", summary.expected_failures},
                       {"notRun", summary.not_run}};
  ordered_json out;
  out["$schema"] = kSchema;
  out["version"] = "2.1.0";
  out["runs"] = ordered_json::array({std::move(run)});
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace fencepost::report
