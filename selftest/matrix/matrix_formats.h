// The matrix as people and programs read it: a table for a terminal, JSON
// (docs/matrix.schema.json), one page of HTML, and the Markdown of docs/COVERAGE.md.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "selftest/matrix/matrix.h"

namespace fencepost::matrix {

// All are pure, and need the library that the matrix was made of.

// All that the catalogue says of a requirement, and where.
[[nodiscard]] nlohmann::ordered_json requirement_json(const scenario::Requirement& requirement);

// As docs/matrix.schema.json says. Requirements and cases are in the order of their files.
[[nodiscard]] nlohmann::ordered_json matrix_document(const Matrix& matrix);
// The same as text.
[[nodiscard]] std::string matrix_json(const Matrix& matrix);

// A page that needs no network: the document as data, and what shows it.
[[nodiscard]] std::string matrix_html(const Matrix& matrix);

// docs/COVERAGE.md: tables of requirements by section, without the results of a run.
[[nodiscard]] std::string matrix_markdown(const Matrix& matrix);

struct MatrixTextOptions {
  std::size_t width = 100;
  bool colour = false;
  bool full = false;  // every requirement with its cases
};
// For a terminal of `width` columns: totals and what is not covered, or all with `full`.
[[nodiscard]] std::string matrix_text(const Matrix& matrix, const MatrixTextOptions& options);

}  // namespace fencepost::matrix
