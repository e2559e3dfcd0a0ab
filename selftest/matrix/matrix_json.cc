// The matrix as JSON.

#include "concurrency/history/requirements.h"
#include "report/report.h"
#include "selftest/matrix/matrix_formats.h"

namespace fencepost::matrix {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const MatrixTotals& totals) {
  return {{"requirements", totals.requirements},
          {"testable", totals.testable},
          {"covered", totals.covered},
          {"uncovered", totals.testable - totals.covered},
          {"of_clients", totals.of_clients},
          {"untestable", totals.untestable},
          {"open", totals.open},
          {"cases", totals.cases}};
}

ordered_json to_json(const RowFinding& finding) {
  ordered_json out;
  out["verdict"] = finding.verdict;
  out["cases"] = ordered_json::object();
  for (const auto& [verdict, count] : finding.cases) out["cases"][verdict] = count;
  out["observed"] = finding.observed;
  return out;
}

ordered_json to_json(const MatrixRow& row) {
  ordered_json out = requirement_json(*row.requirement);
  out["testable"] = row.testable();
  out["at_once"] = history::is_judged_by_histories(row.requirement->id);
  out["cases"] = ordered_json::array();
  for (const scenario::Case* test_case : row.cases) out["cases"].push_back(test_case->id);
  if (row.finding) out["result"] = to_json(*row.finding);
  return out;
}

ordered_json to_json(const scenario::Case& test_case, const Matrix& matrix) {
  ordered_json out;
  out["id"] = test_case.id;
  out["area"] = test_case.area;
  out["title"] = test_case.title;
  out["level"] = name(matrix.library->catalogue.level_of(test_case));
  out["requirements"] = test_case.requirements;
  out["requires"] = test_case.requires_;
  out["tags"] = test_case.tags;
  out["file"] = test_case.position.file;
  out["line"] = test_case.position.line;
  if (!matrix.run) return out;
  const auto finding = matrix.run->cases.find(test_case.id);
  if (finding == matrix.run->cases.end()) return out;
  out["result"] = {{"verdict", finding->second.verdict}, {"message", finding->second.message}};
  if (!finding->second.attributed.empty()) out["result"]["charged"] = finding->second.attributed;
  return out;
}

ordered_json to_json(const MatrixSection& section) {
  ordered_json out;
  out["title"] = section.title;
  out["documents"] = ordered_json::array();
  out["headings"] = ordered_json::object();
  out["note"] = "";
  if (section.section != nullptr) {
    out["documents"] = section.section->documents;
    for (const auto& [language, text] : section.section->headings) out["headings"][language] = text;
    out["note"] = section.section->note;
  }
  out["totals"] = to_json(section.totals);
  out["requirements"] = ordered_json::array();
  for (const MatrixRow* row : section.rows) out["requirements"].push_back(row->requirement->id);
  return out;
}

ordered_json to_json(const RunFindings& run, const Matrix& matrix) {
  return {{"suite_version", run.suite_version},
          {"endpoint", run.endpoint},
          {"profile", run.profile},
          {"dialect_observed", run.dialect_observed},
          {"started", run.started},
          {"exit_code", run.exit_code},
          {"unknown_cases", matrix.unknown_cases},
          {"absent_cases", matrix.absent_cases}};
}

}  // namespace

ordered_json requirement_json(const scenario::Requirement& requirement) {
  ordered_json out;
  out["id"] = requirement.id;
  out["level"] = name(requirement.level);
  out["binds"] = requirement.binds;
  out["text"] = requirement.text;
  out["section"] = requirement.section;
  out["documents"] = requirement.documents;
  out["source"] = requirement.source;
  out["dialects"] = ordered_json::object();
  for (const auto& [dialect, form] : requirement.dialects) out["dialects"][dialect] = form;
  out["observe"] = requirement.observe;
  out["untestable"] = requirement.untestable;
  out["of_clients"] = requirement.of_clients;
  out["open"] = requirement.open;
  out["outcomes"] = requirement.outcomes;
  out["file"] = requirement.position.file;
  out["line"] = requirement.position.line;
  return out;
}

ordered_json matrix_document(const Matrix& matrix) {
  ordered_json out;
  out["suite_version"] = report::suite_version();
  if (matrix.run) out["run"] = to_json(*matrix.run, matrix);
  out["totals"] = to_json(matrix.totals);
  out["cases_without_requirement"] = ordered_json::array();
  for (const scenario::Case* test_case : matrix.cases_without_requirement) {
    out["cases_without_requirement"].push_back(test_case->id);
  }
  out["levels"] = ordered_json::object();
  for (const scenario::Level level :
       {scenario::Level::kMust, scenario::Level::kShould, scenario::Level::kMay}) {
    const auto found = matrix.levels.find(level);
    out["levels"][std::string(name(level))] =
        to_json(found == matrix.levels.end() ? MatrixTotals{} : found->second);
  }
  out["sections"] = ordered_json::array();
  for (const MatrixSection& section : sections_of(matrix))
    out["sections"].push_back(to_json(section));
  out["areas"] = ordered_json::array();
  for (const MatrixArea& area : areas_of(matrix)) {
    out["areas"].push_back(
        {{"name", area.name}, {"cases", area.cases}, {"requirements", area.requirements.size()}});
  }
  out["requirements"] = ordered_json::array();
  for (const MatrixRow& row : matrix.rows) out["requirements"].push_back(to_json(row));
  out["cases"] = ordered_json::array();
  for (const scenario::Case& test_case : matrix.library->cases) {
    out["cases"].push_back(to_json(test_case, matrix));
  }
  return out;
}

std::string matrix_json(const Matrix& matrix) {
  return matrix_document(matrix).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace fencepost::matrix
