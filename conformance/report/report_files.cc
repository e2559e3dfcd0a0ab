#include "conformance/report/report_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "conformance/text/output.h"

namespace fencepost::report {
namespace {

// Every kind of report: its place among the files, and what makes it.
struct Kind {
  std::string ReportFiles::*path;
  std::string (*render)(const run::SuiteResult&, const scenario::Catalogue&, const ReportContext&);
};
constexpr std::array kKinds = {
    Kind{&ReportFiles::json, to_json},   Kind{&ReportFiles::junit, to_junit},
    Kind{&ReportFiles::html, to_html},   Kind{&ReportFiles::sarif, to_sarif},
    Kind{&ReportFiles::badge, to_badge},
};

constexpr std::string_view kStandardOutput = "-";

// Is set once, by keep_standard_output_for_a_report().
std::FILE* kept_output = nullptr;

bool is_pipe(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_fifo(std::filesystem::status(path, failed));
}

std::string cannot_write(const std::string& path) {
  if (errno == ENXIO && is_pipe(path)) {
    return fmt::format("cannot write the report {}: it is a pipe that nobody reads", path);
  }
  return fmt::format("cannot write the report {}: {}", path,
                     std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): glibc's is safe
}

}  // namespace

void keep_standard_output_for_a_report() {
  std::fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  if (kept < 0) return;
  kept_output = fdopen(kept, "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

Result<void, std::string> check_writable(const std::string& path) {
  if (path == kStandardOutput) return {};
  if (can_write_new_file(path)) return {};
  return fail(cannot_write(path));
}

Result<void, std::string> check_writable(const ReportFiles& files) {
  const auto on_output = std::count_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) {
    return files.*kind.path == kStandardOutput;
  });
  if (on_output > 1) return fail(std::string("only one report can go to standard output, -"));
  std::set<std::string_view> named;
  for (const Kind& kind : kKinds) {
    const std::string& path = files.*kind.path;
    if (path.empty()) continue;
    if (!named.insert(path).second) {
      return fail(path + " is named for two reports, of which the second would replace the first");
    }
    if (auto checked = check_writable(path); !checked) return checked;
  }
  return {};
}

Result<void, std::string> write_file(const std::string& path, const std::string& content) {
  if (path == kStandardOutput) {
    std::FILE* output = kept_output == nullptr ? stdout : kept_output;
    text::print_document(output, content);
    if (std::fflush(output) == 0 && std::ferror(output) == 0) return {};
    return fail(cannot_write("to standard output"));
  }
  if (write_new_file(path, content)) return {};
  return fail(cannot_write(path));
}

namespace {

std::string rendered(const Kind& kind, const ReportFiles& files, const run::SuiteResult& result,
                     const scenario::Catalogue& catalogue, const ReportContext& context) {
  std::string text = kind.render(result, catalogue, context);
  return kind.path == &ReportFiles::junit && files.strict_junit ? strict_junit(text) : text;
}

}  // namespace

Result<void, std::string> write_reports(const ReportFiles& files, const run::SuiteResult& result,
                                        const scenario::Catalogue& catalogue,
                                        const ReportContext& context) {
  std::string errors;
  for (const Kind& kind : kKinds) {
    const std::string& path = files.*kind.path;
    if (path.empty()) continue;
    const auto written = write_file(path, rendered(kind, files, result, catalogue, context));
    if (!written) errors += (errors.empty() ? "" : "\n") + written.error();
  }
  if (!errors.empty()) return fail(std::move(errors));
  return {};
}

}  // namespace fencepost::report
