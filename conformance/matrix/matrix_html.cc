// The matrix as one page of HTML.

#include "conformance/matrix/matrix_formats.h"
#include "conformance/page/html_page.h"
#include "conformance/page/matrix_page.h"

namespace fencepost::matrix {

std::string matrix_html(const Matrix& matrix) {
  const std::string style = page::joined_files(page::matrix_page_files(), ".css");
  const std::string script = page::joined_files(page::matrix_page_files(), ".js");
  return page::fill_page(page::joined_files(page::matrix_page_files(), ".html"),
                         {{"policy", page::html(page::page_policy(style, script))},
                          {"style", style},
                          {"script", script},
                          {"data", page::data_island(matrix_document(matrix))}});
}

}  // namespace fencepost::matrix
