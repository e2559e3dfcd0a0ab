// The matrix as one page of HTML.

#include "conformance/matrix/matrix_formats.h"
#include "conformance/page/html_page.h"
#include "conformance/page/matrix_page.h"

namespace fencepost::matrix {

std::string matrix_html(const Matrix& matrix) {
  return page::fill_page(page::matrix_page_files(),
                         {{"data", page::data_island(matrix_document(matrix))}});
}

}  // namespace fencepost::matrix
