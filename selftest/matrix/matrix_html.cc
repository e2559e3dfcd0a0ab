// The matrix as one page of HTML.

#include "report/page/html_page.h"
#include "report/page/matrix_page.h"
#include "selftest/matrix/matrix_formats.h"

namespace fencepost::matrix {

std::string matrix_html(const Matrix& matrix) {
  return page::fill_page(page::matrix_page_files(),
                         {{"data", page::data_island(matrix_document(matrix))}});
}

}  // namespace fencepost::matrix
