// Markdown as GitHub shows it, of texts that anybody may have written. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::report {

// Any text in a cell of a table, at most 600 bytes of it; a blank for an empty one. Anything that
// could be Markdown, HTML, a link or a mention is a character reference, which is never anything
// but a character.
[[nodiscard]] std::string markdown_cell(std::string_view text);
// The same in the letters of code.
[[nodiscard]] std::string markdown_code(std::string_view text);

struct MarkdownTable {
  std::string title;
  std::string header;             // with the line below it
  std::vector<std::string> rows;  // each with its line feed
  std::string count{};            // beside the title; empty: the number of rows
};

// What append_tables() keeps free for its note, in bytes.
inline constexpr std::size_t kRoomForNote = 200;

// Appends the tables that have rows. What would make `out` longer than `most_bytes` is left out,
// and a note says how many rows that are.
void append_tables(const std::vector<MarkdownTable>& tables, std::size_t most_bytes,
                   std::string& out);

}  // namespace fencepost::report
