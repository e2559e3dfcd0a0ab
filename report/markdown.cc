#include "report/markdown.h"

#include <fmt/format.h>

#include "base/text/printable.h"

namespace fencepost::report {

std::string markdown_cell(std::string_view text) {
  constexpr std::size_t kMaxCellBytes = 600;
  std::string out;
  for (const char c : text::shortened(text::one_line(text), kMaxCellBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                       (c >= 'A' && c <= 'Z') || c == ' ' || c == ',' || c == '/' || c == '-';
    out += plain ? std::string(1, c) : fmt::format("&#{};", byte);
  }
  return out.empty() ? " " : out;
}

std::string markdown_code(std::string_view text) {
  return text.empty() ? " " : "<code>" + markdown_cell(text) + "</code>";
}

void append_tables(const std::vector<MarkdownTable>& tables, std::size_t most_bytes,
                   std::string& out) {
  const std::size_t most = most_bytes - kRoomForNote;
  std::size_t left_out = 0;
  for (const MarkdownTable& table : tables) {
    const std::string count = table.count.empty() ? std::to_string(table.rows.size()) : table.count;
    std::string part = fmt::format("\n### {} ({})\n\n{}", table.title, count, table.header);
    std::size_t taken = 0;
    while (taken < table.rows.size() &&
           out.size() + part.size() + table.rows[taken].size() <= most) {
      part += table.rows[taken++];
    }
    if (taken > 0) out += part;
    left_out += table.rows.size() - taken;
  }
  if (left_out > 0) {
    out += fmt::format("\n{} more did not fit here: see the reports of the run.\n", left_out);
  }
}

}  // namespace fencepost::report
