// Traceability: which case checks which requirement, what is not checked and why, and what a run
// found. Pure: a library in, a matrix out.
//
//   const Matrix matrix = make_matrix(library);
//   for (const MatrixRow* row : matrix.gaps()) ...   // testable, and no case cites it
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "suite/scenario/library.h"
#include "suite/scenario/requirement.h"
#include "suite/scenario/scenario.h"

namespace fencepost::matrix {

// What a run says of one case.
struct CaseFinding {
  std::string verdict;  // as in the JSON report: passed, failed, warning, ...
  std::string message{};
  std::string attributed{};  // the requirement that a failure is attributed to
  std::map<std::string, std::set<std::string>> observed{};  // open requirement -> outcomes seen
};

// A run, read from its JSON report.
struct RunFindings {
  std::string suite_version;
  std::string endpoint;
  std::string profile;
  std::string dialect_observed;
  std::string started;
  int exit_code = 0;
  std::map<std::string, CaseFinding> cases{};  // by id
  // By id of a requirement: what the report itself says of it. Empty in a report that does not.
  std::map<std::string, std::string> states{};
};

// Reads what `certify --json` wrote. The error says what is missing or wrong, and where.
[[nodiscard]] Result<RunFindings, std::string> read_findings(std::string_view report);

// What a run says of one requirement. A failure counts for the requirement that it is attributed
// to; for the others of its case it is "cut-short", as the case ended before it was checked.
struct RowFinding {
  // The state that the report gives it: broken, outside, warning, expected-failure, inconclusive,
  // open, not-run, skipped, passed, not-shown. Where it gives none, the first of these that any of
  // its cases has: failed, warning, expected-failure, inconclusive, lost, not-run, passed,
  // cut-short, skipped.
  std::string verdict;
  std::map<std::string, std::size_t> cases;  // verdict -> how many cases say so
  std::set<std::string> observed;            // outcomes of an open requirement
};

struct MatrixRow {
  const scenario::Requirement* requirement = nullptr;
  std::vector<const scenario::Case*> cases{};  // that cite it, in the order of the files
  std::optional<RowFinding> finding{};

  [[nodiscard]] bool testable() const { return requirement->untestable.empty(); }
  [[nodiscard]] bool covered() const { return testable() && !cases.empty(); }
  // Judged of clients, `serve --judge-clients`, be there cases of it or not.
  [[nodiscard]] bool judged_of_clients() const { return !requirement->of_clients.empty(); }
  std::size_t client_cases = 0;  // cases of `certify-client` whose failures can be attributed to it
  // "passively", "actively (3 cases)", "passively and actively (3 cases)"; empty: clients are not
  // judged by it.
  [[nodiscard]] std::string how_of_clients() const;
};

struct MatrixTotals {
  std::size_t requirements = 0;
  std::size_t testable = 0;
  std::size_t covered = 0;     // testable, and cited by a case
  std::size_t of_clients = 0;  // no case can check them, and clients are judged by them
  std::size_t untestable = 0;  // nor that; the catalogue says why
  std::size_t open = 0;        // left open by the article
  std::size_t cases = 0;       // that cite any of them

  void add(const MatrixRow& row);
};

struct Matrix {
  const scenario::Library* library = nullptr;
  std::vector<MatrixRow> rows;  // in the order of the catalogue
  MatrixTotals totals;
  std::map<scenario::Level, MatrixTotals> levels;
  std::vector<const scenario::Case*> cases_without_requirement;
  std::optional<RunFindings> run{};
  std::size_t unknown_cases = 0;  // of the run, that the library does not have
  std::size_t absent_cases = 0;   // of the library, that the run does not have

  // Rows that are testable and that no case cites; of one level, or of all.
  [[nodiscard]] std::vector<const MatrixRow*> gaps(
      std::optional<scenario::Level> level = std::nullopt) const;
};

// The library must outlive the matrix.
[[nodiscard]] Matrix make_matrix(const scenario::Library& library);

// Adds what a run found to each row.
void add_findings(Matrix& matrix, RunFindings findings);

// Adds for how many cases for clients a failure can be attributed to each rule.
void add_client_cases(Matrix& matrix, const std::map<std::string, std::size_t>& cases);

// The section of a row, and its rows: sections in the order of the article, as far as the catalogue
// lists them, then the others.
struct MatrixSection {
  std::string title;
  const scenario::Section* section = nullptr;  // null when the catalogue does not list it
  std::vector<const MatrixRow*> rows{};
  MatrixTotals totals{};
};
[[nodiscard]] std::vector<MatrixSection> sections_of(const Matrix& matrix);

// The cases of one part of the protocol.
struct MatrixArea {
  std::string name;
  std::size_t cases = 0;
  std::set<std::string> requirements{};  // that they cite
};
[[nodiscard]] std::vector<MatrixArea> areas_of(const Matrix& matrix);

// What a whole library must not have: a rule of the store that a failure cannot be attributed to,
// because no case begins with it, no step cites it and no table of the judge has it (an error);
// a testable requirement that no case cites (an error when it
// is a must, a warning otherwise), and an untestable one that a case cites (an error).
struct CoverageProblems {
  std::vector<scenario::LoadError> errors;
  std::vector<scenario::LoadError> warnings;
};
[[nodiscard]] CoverageProblems check_coverage(const Matrix& matrix);

}  // namespace fencepost::matrix
