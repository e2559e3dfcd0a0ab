// The matrix as one page of HTML.

#include "base/check.h"
#include "conformance/matrix_formats.h"
#include "conformance/matrix_page.h"

namespace fencepost::conformance {
namespace {

// The file of this name in conformance/matrix_page/.
std::string matrix_page_file(std::string_view name) {
  for (const SourceFile& file : matrix_page_files()) {
    if (file.name.ends_with(name)) return file.content;
  }
  FENCEPOST_CHECK(false);
  return {};
}

void replace(std::string& page, std::string_view placeholder, const std::string& text) {
  const std::size_t at = page.find(placeholder);
  if (at != std::string::npos) page.replace(at, placeholder.size(), text);
}

// JSON that cannot end the element that it stands in, nor begin another one: the texts of a report
// come from a peer.
std::string as_island(const nlohmann::ordered_json& document) {
  const std::string text = document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string matrix_html(const Matrix& matrix) {
  std::string page = matrix_page_file("page.html");
  replace(page, "{{style}}", matrix_page_file("page.css"));
  replace(page, "{{script}}", matrix_page_file("page.js"));
  replace(page, "{{data}}", as_island(matrix_document(matrix)));
  return page;
}

}  // namespace fencepost::conformance
