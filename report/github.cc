#include "report/github.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/text/printable.h"
#include "report/findings.h"
#include "report/markdown.h"
#include "report/phases.h"
#include "report/requirement_states.h"

namespace fencepost::report {
namespace {

constexpr std::size_t kMaxAnnotationBytes = 4'000;
constexpr std::size_t kMaxGithubIds = 20;  // of the other cases of a root cause

// ---- commands ----

std::string escape_data(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\r') {
      out += "%0D";
    } else if (c == '\n') {
      out += "%0A";
    } else {
      out += c;
    }
  }
  return out;
}

std::string escape_property(std::string_view text) {
  std::string out;
  for (const char c : escape_data(text)) {
    if (c == ':') {
      out += "%3A";
    } else if (c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

struct Annotation {
  bool error = true;
  int rank = 0;  // the lower, the worse
  scenario::Position position{};
  std::string title{};
  std::string message{};
};

std::string to_line(const Annotation& annotation) {
  std::string properties;
  if (!annotation.position.file.empty()) {
    properties +=
        fmt::format("file={},line={},", escape_property(text::printable(annotation.position.file)),
                    std::max(annotation.position.line, 1));
  }
  properties += "title=" + escape_property(text::one_line(annotation.title));
  return fmt::format(
      "::{} {}::{}\n", annotation.error ? "error" : "warning", properties,
      escape_data(text::shortened(text::printable(annotation.message), kMaxAnnotationBytes)));
}

// The runner knows files by their place in the repository.
scenario::Position in_workspace(scenario::Position position, const std::string& workspace) {
  if (!workspace.empty() && position.file.starts_with(workspace + "/")) {
    position.file.erase(0, workspace.size() + 1);
  }
  return position;
}

Annotation annotation_of(const Finding& finding, const scenario::Catalogue& catalogue,
                         const ReportContext& context) {
  const run::CaseResult& result = *finding.result;
  Annotation out;
  out.error = finding.kind == FindingKind::kFailure || finding.kind == FindingKind::kUnexpectedPass;
  out.rank = 1 + static_cast<int>(finding.level);
  if (finding.kind == FindingKind::kInconclusive) out.rank += 3;
  out.position =
      result.failure.position.line > 0 ? result.failure.position : result.test_case->position;
  out.title = fmt::format("{} {}: {}", rfc2119_keyword(finding.level), finding.rule_id,
                          result.test_case->id);
  out.message = headline(finding) + "\n" + evidence(result, finding.rule_id, catalogue, context);
  if (finding.difference && finding.difference->cases.size() > 1) {
    out.title += fmt::format(" and {} more", finding.difference->cases.size() - 1);
    out.message += "also: " + others_of(*finding.difference, kMaxGithubIds) + "\n";
  }
  return out;
}

std::vector<Annotation> all_annotations(const run::SuiteResult& result,
                                        const scenario::Catalogue& catalogue,
                                        const ReportContext& context) {
  std::vector<Annotation> out;
  if (!context.stopped_because.empty()) {
    out.push_back(
        {.title = "the run did not finish",
         .message = fmt::format("{}\n{} of {} cases were not run", context.stopped_because,
                                result.summary.not_run, result.cases.size())});
  }
  for (const std::string& diagnostic : result.baseline_errors) {
    out.push_back({.title = "baseline", .message = diagnostic});
  }
  for (const Phase& phase : phases_of(result)) {
    for (const run::PhaseFinding& found : phase.findings) {
      out.push_back({.error = found.fails,
                     .rank = 1,
                     .title = fmt::format("{}: {}", found.requirement, phase.title),
                     .message = finding_evidence(phase, found, catalogue)});
    }
  }
  for (const Finding& finding : findings(result, catalogue, context.strict)) {
    if (finding.kind == FindingKind::kExpectedFailure) continue;
    out.push_back(annotation_of(finding, catalogue, context));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Annotation& a, const Annotation& b) { return a.rank < b.rank; });
  return out;
}

std::string lines_of_kind(const std::vector<Annotation>& all, bool error) {
  std::vector<const Annotation*> wanted;
  for (const Annotation& annotation : all) {
    if (annotation.error == error) wanted.push_back(&annotation);
  }
  const bool cut = wanted.size() > kMaxAnnotationsPerLevel;
  const std::size_t shown = cut ? kMaxAnnotationsPerLevel - 1 : wanted.size();
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) out += to_line(*wanted[i]);
  if (cut) {
    out += to_line(
        {.error = error,
         .title = "and more",
         .message = fmt::format("{} more: see the summary of this step", wanted.size() - shown)});
  }
  return out;
}

// ---- the summary ----

std::string_view headline(run::ExitCode exit) {
  switch (exit) {
    case run::ExitCode::kConformant:
      return "✅ conformant";
    case run::ExitCode::kFailed:
      return "❌ NOT conformant";
    case run::ExitCode::kInconclusive:
      return "❔ no failure, but not everything could be decided";
    case run::ExitCode::kUnreachable:
      return "⚠️ no verdict: the endpoint was not reached, or lost";
    case run::ExitCode::kNothingSelected:
      return "⚠️ no verdict: no case was run";
    case run::ExitCode::kInterrupted:
      return "⚠️ no verdict: interrupted";
    case run::ExitCode::kUsage:
    case run::ExitCode::kInternal:
      break;
  }
  return "⚠️ no verdict";
}

std::string summary_head(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                         const ReportContext& context) {
  const run::Summary& summary = result.summary;
  const std::string part = part_text(result, context);
  const bool certifies = verdict_word(result, context) != "part";
  std::string out =
      fmt::format("## State store conformance: {}\n\n",
                  certifies ? headline(exit_code(result))
                            : "partial run without a failure: not a statement of conformance");
  if (!part.empty()) out += part + ".\n\n";
  out += fmt::format("Endpoint {}, profile {}, dialect seen: {}, fencepost {}, seed {}.\n\n",
                     markdown_code(context.endpoint), name(context.profile),
                     observed_dialect(result), suite_version(), context.seed);
  out += markdown_cell(basis_text(result, catalogue, context)) + ".\n\n";
  const std::string states = requirements_text(
      requirement_states(result, differences(result, catalogue, context.strict), catalogue));
  if (!states.empty()) out += markdown_cell(states) + ".\n\n";
  for (const Phase& phase : phases_of(result)) out += markdown_cell(phase.text) + ".\n\n";
  out += "To run one case again: " + markdown_code(context.command + " --run CASE") + "\n\n";
  if (!context.stopped_because.empty()) out += markdown_cell(context.stopped_because) + "\n\n";
  out +=
      "| cases | passed | failed | warnings | inconclusive | expected failures | skipped | not run "
      "|\n|--:|--:|--:|--:|--:|--:|--:|--:|\n";
  out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", result.cases.size(),
                     summary.passed, summary.failed, summary.warnings, summary.inconclusive,
                     summary.expected_failures, summary.skipped, summary.not_run);
  return out;
}

std::string row_of(const Finding& finding) {
  const run::CaseResult& result = *finding.result;
  const scenario::Position& at =
      result.failure.position.line > 0 ? result.failure.position : result.test_case->position;
  std::string what = markdown_cell(headline(finding));
  if (!result.baseline.empty()) what += "<br>" + markdown_cell(result.baseline);
  std::string cases = markdown_code(result.test_case->id);
  if (finding.difference && finding.difference->cases.size() > 1) {
    cases += "<br>" + markdown_cell(others_of(*finding.difference, kMaxGithubIds));
  }
  return fmt::format("| {} | {} {} | {} | {} | {} | {} |\n", cases, rfc2119_keyword(finding.level),
                     markdown_cell(finding.rule_id), what, markdown_code(result.failure.expected),
                     markdown_code(result.failure.actual),
                     markdown_cell(fmt::format("{}:{}", at.file, at.line)));
}

std::vector<MarkdownTable> summary_parts(const run::SuiteResult& result,
                                         const scenario::Catalogue& catalogue, bool strict) {
  constexpr std::array kTitles = {
      std::pair{FindingKind::kFailure, "Failed"},
      std::pair{FindingKind::kUnexpectedPass, "Passed, but the baseline expects a failure"},
      std::pair{FindingKind::kWarning, "Warnings"},
      std::pair{FindingKind::kInconclusive, "Inconclusive"},
      std::pair{FindingKind::kExpectedFailure, "Expected failures"}};
  std::vector<MarkdownTable> out;
  if (!result.baseline_errors.empty()) {
    MarkdownTable section{"The baseline is out of date", "| error |\n|---|\n", {}};
    for (const std::string& diagnostic : result.baseline_errors) {
      section.rows.push_back("| " + markdown_cell(diagnostic) + " |\n");
    }
    out.push_back(std::move(section));
  }
  for (const Phase& phase : phases_of(result)) {
    if (phase.findings.empty()) continue;
    std::string title(phase.title);
    title.front() = static_cast<char>(title.front() - 'a' + 'A');
    MarkdownTable section{std::move(title), "| rule | what | requests |\n|---|---|---|\n", {}};
    for (const run::PhaseFinding& found : phase.findings) {
      std::string requests;
      for (const std::string& each : finding_lines(found)) requests += markdown_code(each) + "<br>";
      section.rows.push_back(fmt::format("| {} | {} | {} |\n", markdown_cell(found.requirement),
                                         markdown_cell(found.text), requests));
    }
    out.push_back(std::move(section));
  }
  const std::vector<Finding> all = findings(result, catalogue, strict);
  for (const auto& [kind, title] : kTitles) {
    MarkdownTable section{
        title, "| case | rule | what | expected | seen | where |\n|---|---|---|---|---|---|\n", {}};
    std::size_t cases = 0;
    for (const Finding& finding : all) {
      if (finding.kind != kind) continue;
      section.rows.push_back(row_of(finding));
      cases += finding.difference ? finding.difference->failing().size() : 1;
    }
    if (section.rows.empty()) continue;
    if (cases > section.rows.size()) {
      section.count = fmt::format("{} of {} cases", section.rows.size(), cases);
    }
    out.push_back(std::move(section));
  }
  return out;
}

// ---- files ----

Result<void, std::string> append(const std::string& path, const std::string& text) {
  if (path.empty() || text.empty()) return {};
  std::ofstream stream(path, std::ios::binary | std::ios::app);
  stream << text;
  stream.close();
  if (stream) return {};
  return fail(fmt::format("cannot write to {}, which GitHub Actions named: {}", path,
                          std::strerror(errno)));  // NOLINT(concurrency-mt-unsafe): glibc's is safe
}

std::size_t size_of(const std::string& path) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  return failed ? 0 : static_cast<std::size_t>(size);
}

}  // namespace

std::optional<std::string> variable_of_this_process(const std::string& name) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nobody writes it
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Github::Github(bool wanted, const Variables& variables) {
  on_ = wanted && variables("GITHUB_ACTIONS") == "true";
  if (!on_) return;
  workspace_ = variables("GITHUB_WORKSPACE").value_or("");
  summary_file_ = variables("GITHUB_STEP_SUMMARY").value_or("");
  output_file_ = variables("GITHUB_OUTPUT").value_or("");
}

std::string Github::pause_commands(const std::string& token) const {
  return on_ ? "::stop-commands::" + token + "\n" : "";
}

std::string Github::resume_commands(const std::string& token) const {
  return on_ ? "::" + token + "::\n" : "";
}

std::string Github::annotations(const run::SuiteResult& result,
                                const scenario::Catalogue& catalogue,
                                const ReportContext& context) const {
  if (!on_) return {};
  std::vector<Annotation> all = all_annotations(result, catalogue, context);
  for (Annotation& annotation : all) {
    annotation.position = in_workspace(annotation.position, workspace_);
  }
  return lines_of_kind(all, true) + lines_of_kind(all, false);
}

Result<void, std::string> Github::write_files(const run::SuiteResult& result,
                                              const scenario::Catalogue& catalogue,
                                              const ReportContext& context) const {
  if (!on_) return {};
  const std::size_t taken = std::min(size_of(summary_file_), kMaxSummaryBytes);
  const auto summary =
      append(summary_file_, github_summary(result, catalogue, context, kMaxSummaryBytes - taken));
  const auto outputs = append(output_file_, github_outputs(result, context));
  return summary ? outputs : summary;
}

std::string github_summary(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                           const ReportContext& context, std::size_t most_bytes) {
  std::string out = summary_head(result, catalogue, context);
  if (out.size() + kRoomForNote > most_bytes) return {};
  append_tables(summary_parts(result, catalogue, context.strict), most_bytes, out);
  return out;
}

std::string github_outputs(const run::SuiteResult& result, const ReportContext& context) {
  const run::Summary& summary = result.summary;
  return fmt::format(
      "verdict={}\nexit_code={}\ncases={}\npassed={}\nfailed={}\nwarnings={}\nskipped={}\n"
      "inconclusive={}\nexpected_failures={}\nnot_run={}\n",
      verdict_word(result, context), static_cast<int>(exit_code(result)), result.cases.size(),
      summary.passed, summary.failed, summary.warnings, summary.skipped, summary.inconclusive,
      summary.expected_failures, summary.not_run);
}

}  // namespace fencepost::report
