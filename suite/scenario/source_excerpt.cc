#include "suite/scenario/source_excerpt.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text/printable.h"

namespace fencepost::scenario {
namespace {

constexpr std::size_t kMaxLine = 200;

// Line `number` of the text, from 1; empty when there is none.
std::string_view line_of(std::string_view text, std::size_t number) {
  for (std::size_t line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

bool may_be_shown(std::string_view line) {
  const bool plain = std::all_of(line.begin(), line.end(), [](unsigned char c) {
    return c == '\t' || (c >= ' ' && c != 0x7f);  // no escape codes
  });
  return !line.empty() && line.size() <= kMaxLine && plain &&
         line.find('@') == std::string_view::npos &&
         line.find("password") == std::string_view::npos;
}

// What YAML's own words leave out.
std::string_view what_to_do(std::string_view diagnostic, std::string_view line) {
  constexpr std::pair<std::string_view, std::string_view> kAdvice[] = {
      {"illegal map value", "a colon and a space inside text: put the text in quotes"},
      {"end of map not found", "a line here is not indented like those before it"},
      {"end of sequence not found", "a line here is not indented like those before it"},
      {"end of sequence flow not found", "a list that begins with [ ends with ]"},
      {"end of map flow not found", "a mapping that begins with { ends with }"},
  };
  const bool yaml = diagnostic.find("this is not YAML") != std::string_view::npos;
  if (!yaml) return {};
  if (line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string_view::npos) {
    return "there is a tab here; indent YAML with spaces";
  }
  for (const auto& [words, advice] : kAdvice) {
    if (diagnostic.find(words) != std::string_view::npos) return advice;
  }
  return {};
}

}  // namespace

std::string with_excerpt(const LoadError& error, const std::vector<SourceFile>& files) {
  // On one line, with any key or value of the file in it.
  std::string out = text::one_line(describe(error));
  const auto file = std::find_if(files.begin(), files.end(), [&](const SourceFile& each) {
    return each.name == error.position.file;
  });
  if (file == files.end() || error.position.line < 1) return out;
  const std::string_view line =
      line_of(file->content, static_cast<std::size_t>(error.position.line));
  if (may_be_shown(line)) {
    const auto column = static_cast<std::size_t>(std::max(error.position.column, 1));
    std::string before(line.substr(0, std::min(column - 1, line.size())));
    for (char& c : before) c = c == '\t' ? '\t' : ' ';  // the caret stands below its character
    out += fmt::format("\n{:>5} | {}\n      | {}^", error.position.line, line, before);
  }
  const std::string_view advice = what_to_do(error.text, line);
  if (!advice.empty()) out += fmt::format("\n      = {}", advice);
  return out;
}

}  // namespace fencepost::scenario
