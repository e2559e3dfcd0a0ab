#include "report/report_files.h"

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
#include "base/text/output.h"

namespace fencepost::report {
namespace {

constexpr std::array kKinds = {
    ReportKind{"json", "Write a JSON report", to_json},
    ReportKind{"junit", "Write a JUnit XML report", to_junit},
    ReportKind{"html", "Write a self-contained HTML page", to_html},
    ReportKind{"sarif", "Write a SARIF 2.1.0 report, for code scanning", to_sarif},
    ReportKind{"badge", "Write the JSON of a shields.io endpoint badge", to_badge},
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
    return fmt::format("cannot write the report {}: nothing reads this pipe", path);
  }
  return fmt::format("cannot write the report {}: {}", path,
                     std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): glibc's is safe
}

}  // namespace

std::span<const ReportKind> report_kinds() { return kKinds; }

void ReportFiles::set(std::string_view kind, std::string path) {
  for (auto& [name, place] : places_) {
    if (name != kind) continue;
    place = std::move(path);
    return;
  }
  places_.emplace_back(kind, std::move(path));
}

const std::string& ReportFiles::of(std::string_view kind) const {
  static const std::string kNowhere;
  for (const auto& [name, place] : places_) {
    if (name == kind) return place;
  }
  return kNowhere;
}

std::vector<std::string> ReportFiles::paths() const {
  std::vector<std::string> out;
  for (const auto& [name, place] : places_) {
    if (!place.empty()) out.push_back(place);
  }
  return out;
}

bool ReportFiles::piped() const {
  const std::vector<std::string> all = paths();
  return std::find(all.begin(), all.end(), kStandardOutput) != all.end();
}

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
  const std::vector<std::string> paths = files.paths();
  if (std::count(paths.begin(), paths.end(), kStandardOutput) > 1) {
    return fail(std::string("only one report can go to standard output, -"));
  }
  std::set<std::string_view> named;
  for (const std::string& path : paths) {
    if (!named.insert(path).second) {
      return fail(path + " is named for two reports; give each report a file of its own");
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

Result<void, std::string> write_reports(const ReportFiles& files,
                                        const std::vector<Renderer>& renderers) {
  std::string errors;
  for (const auto& [kind, render] : renderers) {
    const std::string& path = files.of(kind);
    if (path.empty()) continue;
    const auto written =
        render().and_then([&](const std::string& text) { return write_file(path, text); });
    if (!written) errors += (errors.empty() ? "" : "\n") + written.error();
  }
  if (!errors.empty()) return fail(std::move(errors));
  return {};
}

Result<void, std::string> write_reports(const ReportFiles& files, const run::SuiteResult& result,
                                        const scenario::Catalogue& catalogue,
                                        const ReportContext& context) {
  std::vector<Renderer> renderers;
  for (const ReportKind& kind : kKinds) {
    renderers.push_back({kind.name, [&] { return kind.render(result, catalogue, context); }});
  }
  return write_reports(files, renderers);
}

}  // namespace fencepost::report
