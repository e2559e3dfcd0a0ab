// fencepost compare: reports of any number of runs side by side.

#include <filesystem>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/commands.h"
#include "conformance/report/console.h"
#include "conformance/report/side_by_side.h"
#include "conformance/scenario/library.h"
#include "conformance/text/output.h"
#include "conformance/text/text_wrap.h"

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

bool write_formats(const CompareOptions& options, const report::SideBySide& found,
                   const scenario::Catalogue& catalogue) {
  struct Format {
    const std::string& path;
    std::string (*render)(const report::SideBySide&, const scenario::Catalogue&);
  };
  bool written = true;
  for (const Format& format : {Format{options.json, report::side_by_side_json},
                               Format{options.html, report::side_by_side_html}}) {
    if (format.path.empty()) continue;
    const auto done = report::write_file(format.path, format.render(found, catalogue));
    if (!done) complain(done.error());
    written = written && done.has_value();
  }
  return written;
}

}  // namespace

run::ExitCode compare(const CompareOptions& options) {
  const report::ReportFiles outputs{.json = options.json, .html = options.html};
  if (const auto writable = report::check_writable(outputs); !writable) {
    complain(writable.error());
    return run::ExitCode::kUsage;
  }
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
  if (!write_formats(options, found, library->catalogue)) return run::ExitCode::kInternal;
  return exit_code(found);
}

}  // namespace fencepost::cli
