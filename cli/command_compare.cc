// fencepost compare: reports of any number of runs side by side.

#include <filesystem>

#include <fmt/format.h>

#include "base/text/output.h"
#include "base/text/text_wrap.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "report/console.h"
#include "report/side_by_side.h"
#include "suite/scenario/library.h"

namespace fencepost::cli {
namespace {

struct NamedFile {
  std::string name;  // empty: as the report says
  std::string path;
};

// NAME=FILE, or FILE: a file whose name has a = in it is taken as it is.
NamedFile named_file(const std::string& word) {
  const std::size_t sign = word.find('=');
  std::error_code ignored;
  if (sign == std::string::npos || std::filesystem::exists(word, ignored)) return {"", word};
  return {word.substr(0, sign), word.substr(sign + 1)};
}

std::optional<report::Column> open_column(const std::string& word) {
  const NamedFile named = named_file(word);
  const auto file = scenario::read_file(named.path);
  if (!file) {
    complain(file.error());
    return std::nullopt;
  }
  auto column = report::read_column(*file, named.name);
  if (column) return std::move(*column);
  complain(column.error());
  return std::nullopt;
}

}  // namespace

run::ExitCode compare(const CompareOptions& options) {
  if (!succeeded(report::check_writable(options.written))) return run::ExitCode::kUsage;
  const auto library = open_library("");
  if (!library) return run::ExitCode::kUsage;
  std::vector<report::Column> columns;
  bool bad = false;
  for (const std::string& word : options.reports) {
    auto column = open_column(word);
    if (column) {
      columns.push_back(std::move(*column));
    } else {
      bad = true;
    }
  }
  if (bad) return run::ExitCode::kUsage;
  const report::SideBySide found = report::side_by_side(std::move(columns), library->catalogue);
  text::print("{}",
              text::Lines(side_by_side_text(found, library->catalogue, text::terminal_width(stdout),
                                            report::console_options(stdout).colour)));
  const auto written = report::write_reports(
      options.written, {{"json", [&] { return side_by_side_json(found, library->catalogue); }},
                        {"html", [&] { return side_by_side_html(found, library->catalogue); }}});
  return succeeded(written) ? exit_code(found) : run::ExitCode::kInternal;
}

}  // namespace fencepost::cli
