#include "conformance/report/report_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

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

std::string writing_place(const std::string& path) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  const bool replaceable =
      !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
  return replaceable ? path + ".partial" : path;
}

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

// A pipe that nobody reads is refused: opened as other files are, it would wait for a reader, for
// ever perhaps.
Result<void, std::string> write_to_pipe(const std::string& path, const std::string& content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return fail(cannot_write(path));
  ::fcntl(descriptor, F_SETFL, O_WRONLY);  // a reader that is slow is waited for
  std::FILE* stream = ::fdopen(descriptor, "wb");
  const bool written = std::fwrite(content.data(), 1, content.size(), stream) == content.size();
  if (std::fclose(stream) == 0 && written) return {};
  return fail(cannot_write(path));
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
  // To open a pipe and to close it again would end its reader.
  if (is_pipe(path)) {
    if (::access(path.c_str(), W_OK) != 0) return fail(cannot_write(path));
    return {};
  }
  const std::string place = writing_place(path);
  std::ofstream stream(place, std::ios::binary | std::ios::app);
  if (!stream.is_open()) return fail(cannot_write(path));
  stream.close();
  if (place != path) std::remove(place.c_str());
  return {};
}

Result<void, std::string> check_writable(const ReportFiles& files) {
  const auto on_output = std::count_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) {
    return files.*kind.path == kStandardOutput;
  });
  if (on_output > 1) return fail(std::string("only one report can go to standard output, -"));
  for (const Kind& kind : kKinds) {
    const std::string& path = files.*kind.path;
    if (path.empty()) continue;
    if (auto checked = check_writable(path); !checked) return checked;
  }
  return {};
}

Result<void, std::string> write_file(const std::string& path, const std::string& content) {
  if (path == kStandardOutput) {
    std::FILE* output = kept_output == nullptr ? stdout : kept_output;
    const bool written = std::fwrite(content.data(), 1, content.size(), output) == content.size() &&
                         std::fflush(output) == 0;
    if (!written) return fail(cannot_write("to standard output"));
    return {};
  }
  if (is_pipe(path)) return write_to_pipe(path, content);
  const std::string place = writing_place(path);
  std::ofstream stream(place, std::ios::binary | std::ios::trunc);
  stream << content;
  stream.close();
  if (stream && (place == path || std::rename(place.c_str(), path.c_str()) == 0)) return {};
  std::string error = cannot_write(path);
  if (place != path) std::remove(place.c_str());
  return fail(std::move(error));
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
