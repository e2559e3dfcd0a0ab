// fencepost compare: runs side by side, of reports or of endpoints.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text/output.h"
#include "base/text/text_wrap.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "endpoint/url.h"
#include "report/console.h"
#include "report/report_read.h"
#include "report/saved_run.h"
#include "report/side_by_side.h"
#include "report/site.h"
#include "suite/scenario/library.h"

namespace fencepost::cli {
namespace {

// One of the runs. Neither URL nor descriptor: a report.
struct ComparedRun {
  std::string name;  // empty: as the report says
  std::string place;
  bool is_url = false;
  bool is_descriptor = false;

  [[nodiscard]] bool is_endpoint() const { return is_url || is_descriptor; }
};

// NAME=FILE, or FILE: a file whose name has a = in it is taken as it is. URLs and descriptors are
// recognised by their form, so that a mistyped name is a missing file and not an endpoint that
// cannot be reached.
ComparedRun compared_run(const std::string& word) {
  if (endpoint::parse_url(word)) return {.name = "", .place = word, .is_url = true};
  const std::size_t sign = word.find('=');
  std::error_code ignored;
  const bool whole = sign == std::string::npos || std::filesystem::exists(word, ignored);
  ComparedRun out{.name = whole ? "" : word.substr(0, sign),
                  .place = whole ? word : word.substr(sign + 1)};
  out.is_url = endpoint::parse_url(out.place).has_value();
  out.is_descriptor = out.place.ends_with(".yaml") || out.place.ends_with(".yml");
  return out;
}

// Only the cases that are compared.
Result<scenario::SourceFile, std::string> selected_part(const std::string& path,
                                                        const run::Selection& selection,
                                                        const scenario::Library& library) {
  auto report = report::read_report(path, library);
  if (!report) return fail(std::move(report.error()));
  report->context.known_cases = std::max(report->context.known_cases, report->result.cases.size());
  std::erase_if(report->result.cases, [&](const run::CaseResult& result) {
    return !selects(selection, *result.test_case);
  });
  run::summarize(report->result, library.catalogue, report->context.strict);
  return scenario::SourceFile{path, to_json(report->result, library.catalogue, report->context)};
}

Result<report::Column, std::string> read(const ComparedRun& one, const run::Selection& selection,
                                         const scenario::Library& library) {
  std::error_code failed;
  if (!std::filesystem::exists(one.place, failed)) {
    const auto url = endpoint::parse_url(one.place);  // it may be one that was mistyped
    if (one.place.find(':') == std::string::npos) {
      return fail(fmt::format("cannot read {}: there is no such file", one.place));
    }
    return fail(fmt::format("cannot read {}: it is neither a file nor an endpoint: {}",
                            endpoint::redacted(one.place), url ? "" : url.error()));
  }
  auto file = scenario::read_file(one.place);
  if (!file) return fail(file.error());
  if (is_filtered(selection) || report::is_saved_run(*file)) {
    auto part = selected_part(one.place, selection, library);
    if (!part) return fail(std::move(part.error()));
    *file = std::move(*part);
  }
  return report::read_column(*file, one.name);
}

// How endpoints are run: as the first report was, where nothing else is said.
CertifyOptions run_options(const CompareOptions& options,
                           const std::optional<report::ReportContext>& like) {
  CertifyOptions run;
  run.no_github = true;
  run.scenarios = options.scenarios;
  run.strict = options.strict || (like && like->strict);
  run.selection = options.selection;
  run.jobs = options.jobs;
  run.timeout_scale = options.timeout_scale;
  run.seed = options.seed;
  run.program = options.program;
  run.progress_only = true;
  run.stress = "none";  // only cases can be compared
  run.depth = 0;
  if (!options.profile.empty()) run.profile = options.profile;
  if (!like) {
    if (!run.seed) run.seed = std::random_device()();
    return run;
  }
  if (options.profile.empty()) run.profile = name(like->profile);
  run.edition = name(like->edition);
  if (!run.seed) run.seed = like->seed;
  if (!is_filtered(run.selection)) run.selection = like->selection;
  return run;
}

// Runs an endpoint and adds its column. What is not kConformant ends the comparison with that exit
// code.
run::ExitCode run(const ComparedRun& one, CertifyOptions options,
                  std::vector<report::Column>& columns) {
  const std::string shown = endpoint::without_password(one.place);
  print_error("running {}\n", shown);
  (one.is_url ? options.endpoint : options.descriptor) = one.place;
  std::string document;
  options.document = &document;
  const run::ExitCode code = certify(options);
  if (stop_flag()) return run::ExitCode::kInterrupted;  // there is nothing to compare
  const bool over = code == run::ExitCode::kUsage || code == run::ExitCode::kInternal ||
                    code == run::ExitCode::kNothingSelected;
  if (over) return code;
  auto column = report::read_column({shown, document}, one.name);
  if (!column) {
    print_error(column.error());
    return run::ExitCode::kInternal;
  }
  // Nothing has run where there is no verdict at all: certify has said why.
  if (column->endpoint_lost && column->cases["not_run"] == column->results.size()) {
    return run::ExitCode::kUnreachable;
  }
  columns.push_back(std::move(*column));
  return run::ExitCode::kConformant;
}

// The columns of all; endpoints are run last, when all reports could be read.
run::ExitCode open_columns(const CompareOptions& options, const scenario::Library& library,
                           std::vector<report::Column>& out) {
  std::vector<ComparedRun> runs;
  for (const std::string& word : options.runs) runs.push_back(compared_run(word));
  std::vector<report::Column> reports;
  bool bad = false;
  for (const ComparedRun& one : runs) {
    if (one.is_endpoint()) continue;
    auto column = read(one, options.selection, library);
    if (column) {
      reports.push_back(std::move(*column));
    } else {
      print_error(column.error());
      bad = true;
    }
  }
  if (bad) return run::ExitCode::kUsage;
  std::optional<report::ReportContext> like;
  const auto first = std::find_if(runs.begin(), runs.end(),
                                  [](const ComparedRun& one) { return !one.is_endpoint(); });
  if (first != runs.end() && reports.size() < runs.size()) {
    auto report = report::read_report(first->place, library);
    if (!report) {
      print_error(report.error());
      return run::ExitCode::kUsage;
    }
    like = std::move(report->context);
  }
  const CertifyOptions how = run_options(options, like);
  auto report = reports.begin();
  for (const ComparedRun& one : runs) {
    if (!one.is_endpoint()) {
      out.push_back(std::move(*report++));
      continue;
    }
    const run::ExitCode code = run(one, how, out);
    if (code != run::ExitCode::kConformant) return code;
  }
  return run::ExitCode::kConformant;
}

// The files that are named, and the JSON files of the folders. False after an error.
bool list_certificates(const std::vector<std::string>& places, std::vector<std::string>& out) {
  namespace fs = std::filesystem;
  for (const std::string& place : places) {
    std::error_code failed;
    if (!fs::is_directory(place, failed)) {
      out.push_back(place);
      continue;
    }
    const std::size_t before = out.size();
    for (fs::directory_iterator each(place, failed), end; !failed && each != end;
         each.increment(failed)) {
      if (each->path().extension() == ".json") out.push_back(each->path().string());
    }
    if (failed) {
      print_error(fmt::format("cannot read {}: {}", place, failed.message()));
      return false;
    }
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
  }
  return true;
}

Result<report::SiteCertificate, std::string> read_certificate(const std::string& path) {
  auto content = read_whole_file(path);
  if (!content) return fail(std::move(content.error()));
  auto certificate = report::read_certificate({path, *content});
  if (!certificate) return fail(std::move(certificate.error()));
  constexpr std::size_t kMaxSignature = 65'536;
  const auto signature = read_whole_file(path + ".sig", kMaxSignature);
  return report::SiteCertificate{std::move(*certificate), std::move(*content),
                                 signature ? *signature : ""};
}

run::ExitCode write_site(const CompareOptions& options, const scenario::Library& library) {
  std::vector<std::string> files;
  if (!list_certificates(options.runs, files)) return run::ExitCode::kUsage;
  std::vector<report::SiteCertificate> read;
  for (const std::string& file : files) {
    auto certificate = read_certificate(file);
    if (certificate) {
      read.push_back(std::move(*certificate));
    } else {
      print_error(certificate.error());
    }
  }
  if (read.empty()) {
    print_error("no certificate for a site: certify --certificate FILE writes one");
    return run::ExitCode::kUsage;
  }
  const std::size_t used = read.size();
  const std::filesystem::path folder = options.site;
  for (const char* each : {"badges", "certificates"}) {
    std::error_code failed;
    std::filesystem::create_directories(folder / each, failed);
    if (failed) {
      print_error(fmt::format("cannot make {}: {}", (folder / each).string(), failed.message()));
      return run::ExitCode::kUsage;
    }
  }
  for (const report::SiteFile& file : site_of(std::move(read), library.catalogue)) {
    if (!succeeded(report::write_file((folder / file.path).string(), file.content))) {
      return run::ExitCode::kInternal;
    }
  }
  text::print("{}: {}, {} left out\n", (folder / "index.html").string(),
              text::counted(used, "certificate"), files.size() - used);
  return used == files.size() ? run::ExitCode::kConformant : run::ExitCode::kFailed;
}

}  // namespace

run::ExitCode compare(const CompareOptions& options) {
  if (!succeeded(report::check_writable(options.written))) return run::ExitCode::kUsage;
  const auto* library = open_library(options.scenarios);
  if (!library) return run::ExitCode::kUsage;
  if (!options.site.empty()) return write_site(options, *library);
  std::vector<report::Column> columns;
  const run::ExitCode opened = open_columns(options, *library, columns);
  if (opened != run::ExitCode::kConformant) return opened;
  const report::SideBySide found = report::side_by_side(std::move(columns), library->catalogue);
  if (options.quiet) {
    text::print("{}\n", side_by_side_verdict(found));
  } else {
    text::print(
        "{}", text::Lines(side_by_side_text(found, library->catalogue, text::terminal_width(stdout),
                                            report::console_options(stdout).colour)));
  }
  std::fflush(stdout);
  const auto written = report::write_reports(
      options.written, {{"json", [&] { return side_by_side_json(found, library->catalogue); }},
                        {"html", [&] { return side_by_side_html(found, library->catalogue); }}});
  return succeeded(written) ? exit_code(found) : run::ExitCode::kInternal;
}

}  // namespace fencepost::cli
