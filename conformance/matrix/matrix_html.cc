// The matrix as one page of HTML.

#include "conformance/matrix/matrix_formats.h"
#include "conformance/page/html_page.h"
#include "conformance/page/matrix_page.h"

namespace fencepost::conformance {

std::string matrix_html(const Matrix& matrix) {
  const std::string style = joined_files(matrix_page_files(), ".css");
  const std::string script = joined_files(matrix_page_files(), ".js");
  return fill_page(joined_files(matrix_page_files(), ".html"),
                   {{"policy", html(page_policy(style, script))},
                    {"style", style},
                    {"script", script},
                    {"data", data_island(matrix_document(matrix))}});
}

}  // namespace fencepost::conformance
