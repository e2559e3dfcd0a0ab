#include "selftest/matrix/matrix.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/text/printable.h"
#include "suite/judge/mismatch.h"

namespace fencepost::matrix {
namespace {

using nlohmann::json;
using namespace std::string_view_literals;

constexpr std::string_view kCutShort = "cut-short";
// Which of the verdicts of its cases is that of a requirement: the first one here.
constexpr std::array kPrecedence = {"failed"sv,       "warning"sv, "expected-failure"sv,
                                    "inconclusive"sv, "lost"sv,    "not-run"sv,
                                    "passed"sv,       kCutShort,   "skipped"sv};
// As report::RequirementState has them.
constexpr std::array kStates = {"broken"sv,       "outside"sv,  "warning"sv, "expected-failure"sv,
                                "inconclusive"sv, "open"sv,     "not-run"sv, "skipped"sv,
                                "passed"sv,       "not-shown"sv};

bool is_failure(std::string_view verdict) {
  return verdict == "failed" || verdict == "warning" || verdict == "expected-failure";
}

bool cites(const scenario::Case& test_case, const std::string& requirement) {
  const auto& ids = test_case.requirements;
  return std::find(ids.begin(), ids.end(), requirement) != ids.end();
}

// A text member of a JSON object; empty when it has none.
std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  // It goes to a terminal and into Markdown, wherever it comes from.
  return found != object.end() && found->is_string()
             ? text::one_line(found->get_ref<const std::string&>())
             : "";
}

Result<CaseFinding, std::string> read_case(const json& entry) {
  CaseFinding out{.verdict = text_of(entry, "verdict"), .message = text_of(entry, "message")};
  if (out.verdict == kCutShort ||
      std::find(kPrecedence.begin(), kPrecedence.end(), out.verdict) == kPrecedence.end()) {
    return fail("the case " + text_of(entry, "id") + " has the verdict \"" + out.verdict +
                "\", which is not a known one");
  }
  if (const auto failure = entry.find("failure"); failure != entry.end() && failure->is_object()) {
    out.attributed = text_of(*failure, "requirement");
  }
  const auto observed = entry.find("open_points_observed");
  if (observed == entry.end() || !observed->is_object()) return out;
  for (const auto& [id, outcomes] : observed->items()) {
    for (const json& outcome : outcomes) {
      if (outcome.is_string()) out.observed[id].insert(outcome.get<std::string>());
    }
  }
  return out;
}

// What one finding of a case means for a requirement that the case cites.
std::string verdict_for(const CaseFinding& finding, const std::string& requirement) {
  if (!is_failure(finding.verdict)) return finding.verdict;
  const bool attributed = finding.attributed.empty() || finding.attributed == requirement;
  return attributed ? finding.verdict : std::string(kCutShort);
}

std::string first_of(const std::map<std::string, std::size_t>& verdicts) {
  for (const std::string_view verdict : kPrecedence) {
    if (verdicts.contains(std::string(verdict))) return std::string(verdict);
  }
  return "not-run";
}

// Nothing when the run has none of the requirement's cases.
std::optional<RowFinding> finding_of(const MatrixRow& row, const RunFindings& run) {
  RowFinding out;
  const std::string& id = row.requirement->id;
  for (const auto& entry : run.cases) {
    const std::string& case_id = entry.first;
    const CaseFinding& finding = entry.second;
    const bool cited = std::any_of(row.cases.begin(), row.cases.end(),
                                   [&](const scenario::Case* own) { return own->id == case_id; });
    // A reply in the wrong form is attributed to the rule of that form, cited or not.
    const bool attributed = is_failure(finding.verdict) && finding.attributed == id;
    if (!cited && !attributed) continue;
    ++out.cases[verdict_for(finding, id)];
    if (const auto seen = finding.observed.find(id); seen != finding.observed.end()) {
      out.observed.insert(seen->second.begin(), seen->second.end());
    }
  }
  if (out.cases.empty()) return std::nullopt;
  const auto state = run.states.find(id);
  out.verdict = state == run.states.end() ? first_of(out.cases) : state->second;
  return out;
}

}  // namespace

Result<RunFindings, std::string> read_findings(std::string_view report) {
  if (auto limit = json_limit_broken(report); !limit.empty()) return fail(std::move(limit));
  const json document = read_json(report);
  if (document.is_discarded()) return fail("it is not JSON");
  if (!document.is_object() || !document.contains("cases") || !document["cases"].is_array()) {
    return fail("it is not a report of fencepost certify --json: it has no list of cases");
  }
  RunFindings out{.suite_version = text_of(document, "suite_version"),
                  .endpoint = text_of(document, "endpoint"),
                  .profile = text_of(document, "profile"),
                  .dialect_observed = text_of(document, "dialect_observed"),
                  .started = text_of(document, "started")};
  if (const auto code = document.find("exit_code");
      code != document.end() && code->is_number_integer()) {
    out.exit_code = code->get<int>();
  }
  for (const json& entry : document["cases"]) {
    if (!entry.is_object() || text_of(entry, "id").empty()) {
      return fail("one of its cases has no id");
    }
    auto finding = read_case(entry);
    if (!finding) return fail(finding.error());
    out.cases[text_of(entry, "id")] = std::move(*finding);
  }
  const auto states = document.find("requirements");
  if (states == document.end() || !states->is_array()) return out;
  for (const json& entry : *states) {
    const std::string state = text_of(entry, "state");
    if (std::find(kStates.begin(), kStates.end(), state) == kStates.end()) {
      return fail("the requirement " + text_of(entry, "id") + " has the state \"" + state +
                  "\", which is not a known one");
    }
    out.states[text_of(entry, "id")] = state;
  }
  return out;
}

std::string MatrixRow::how_of_clients() const {
  std::string actively = client_cases == 0 ? ""
                                           : "actively (" + std::to_string(client_cases) +
                                                 (client_cases == 1 ? " case)" : " cases)");
  if (!judged_of_clients()) return actively;
  return actively.empty() ? "passively" : "passively and " + actively;
}

void add_client_cases(Matrix& matrix, const std::map<std::string, std::size_t>& cases) {
  for (MatrixRow& row : matrix.rows) {
    const auto found = cases.find(row.requirement->id);
    if (found != cases.end()) row.client_cases = found->second;
  }
}

void MatrixTotals::add(const MatrixRow& row) {
  ++requirements;
  if (row.requirement->open) ++open;
  if (!row.testable()) {
    ++(row.judged_of_clients() ? of_clients : untestable);
    return;
  }
  ++testable;
  if (row.covered()) ++covered;
}

std::vector<const MatrixRow*> Matrix::gaps(std::optional<scenario::Level> level) const {
  std::vector<const MatrixRow*> out;
  for (const MatrixRow& row : rows) {
    if (level && row.requirement->level != *level) continue;
    if (row.testable() && !row.covered()) out.push_back(&row);
  }
  return out;
}

Matrix make_matrix(const scenario::Library& library) {
  Matrix out;
  out.library = &library;
  for (const scenario::Requirement& requirement : library.catalogue.all()) {
    MatrixRow row{.requirement = &requirement};
    for (const scenario::Case& test_case : library.cases) {
      if (cites(test_case, requirement.id)) row.cases.push_back(&test_case);
    }
    out.totals.add(row);
    out.levels[requirement.level].add(row);
    out.rows.push_back(std::move(row));
  }
  out.totals.cases = library.cases.size();
  for (const scenario::Case& test_case : library.cases) {
    if (test_case.requirements.empty()) {
      out.cases_without_requirement.push_back(&test_case);
    } else {
      ++out.levels[library.catalogue.level_of(test_case)].cases;
    }
  }
  return out;
}

void add_findings(Matrix& matrix, RunFindings findings) {
  std::set<std::string> known;
  for (const scenario::Case& test_case : matrix.library->cases) known.insert(test_case.id);
  matrix.unknown_cases = 0;
  for (const auto& [id, finding] : findings.cases) {
    if (!known.contains(id)) ++matrix.unknown_cases;
  }
  matrix.absent_cases = known.size() - (findings.cases.size() - matrix.unknown_cases);
  for (MatrixRow& row : matrix.rows) row.finding = finding_of(row, findings);
  matrix.run = std::move(findings);
}

std::vector<MatrixSection> sections_of(const Matrix& matrix) {
  std::vector<MatrixSection> out;
  for (const scenario::Section& section : matrix.library->catalogue.sections()) {
    out.push_back({.title = section.title, .section = &section});
  }
  std::vector<std::set<std::string>> cases(out.size());
  for (const MatrixRow& row : matrix.rows) {
    const std::string& title = row.requirement->section;
    auto found = std::find_if(out.begin(), out.end(),
                              [&](const MatrixSection& entry) { return entry.title == title; });
    if (found == out.end()) {
      found = out.insert(out.end(), {.title = title});
      cases.emplace_back();
    }
    found->rows.push_back(&row);
    found->totals.add(row);
    for (const scenario::Case* test_case : row.cases) {
      cases[static_cast<std::size_t>(found - out.begin())].insert(test_case->id);
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i].totals.cases = cases[i].size();
  return out;
}

std::vector<MatrixArea> areas_of(const Matrix& matrix) {
  std::vector<MatrixArea> out;
  for (const scenario::Case& test_case : matrix.library->cases) {
    auto found = std::find_if(out.begin(), out.end(),
                              [&](const MatrixArea& area) { return area.name == test_case.area; });
    if (found == out.end()) found = out.insert(out.end(), {.name = test_case.area});
    ++found->cases;
    found->requirements.insert(test_case.requirements.begin(), test_case.requirements.end());
  }
  return out;
}

namespace {

// The rules that failures of the case may be attributed to, as its author says.
class AttributedBy {
 public:
  explicit AttributedBy(const std::vector<scenario::Case>& cases) {
    for (const scenario::Case& test_case : cases) {
      if (!test_case.requirements.empty()) ids_.insert(test_case.requirements.front());
      for (const scenario::Step& step : test_case.steps) std::visit(*this, step.what);
    }
  }

  void operator()(const scenario::RequestStep& step) { ids_.insert(step.expect.cites); }
  void operator()(const scenario::PipelineStep& step) {
    for (const scenario::RequestStep& request : step.requests) (*this)(request);
  }
  void operator()(const scenario::NotificationStep& step) { ids_.insert(step.cites); }
  void operator()(const scenario::SilenceStep& step) { ids_.insert(step.cites); }
  void operator()(const scenario::FillQuotaStep& step) { ids_.insert(step.cites); }
  void operator()(const scenario::WriteManyStep& step) { ids_.insert(step.cites); }
  void operator()(const scenario::FanOutStep& step) { ids_.insert(step.cites); }
  template <typename Other>
  void operator()(const Other& /*step*/) {}

  [[nodiscard]] bool has(const std::string& id) const { return ids_.contains(id); }

 private:
  std::set<std::string> ids_;
};

}  // namespace

CoverageProblems check_coverage(const Matrix& matrix) {
  CoverageProblems out;
  const AttributedBy attributed(matrix.library->cases);
  for (const MatrixRow& row : matrix.rows) {
    const scenario::Requirement& requirement = *row.requirement;
    const bool of_store = scenario::can_be_broken(requirement) && requirement.binds == "store";
    if (of_store && row.covered() && !attributed.has(requirement.id) &&
        !judge::names_rule(requirement.id)) {
      out.errors.push_back(
          {requirement.position,
           requirement.id + " cannot be attributed: it is not the first requirement of any case, "
                            "and no step cites it; add cites to the step that shows it"});
    }
    if (!row.testable() && !row.cases.empty()) {
      out.errors.push_back(
          {requirement.position, requirement.id + " is marked as untestable, but the case " +
                                     row.cases.front()->id + " cites it: add how it is observed"});
    }
    if (!row.testable() || row.covered()) continue;
    const bool must = requirement.level == scenario::Level::kMust;
    auto& list = must ? out.errors : out.warnings;
    list.push_back({requirement.position,
                    requirement.id + " (" + std::string(name(requirement.level)) +
                        ") is testable, but no case cites it: write a case, or state why it is "
                        "untestable"});
  }
  return out;
}

}  // namespace fencepost::matrix
