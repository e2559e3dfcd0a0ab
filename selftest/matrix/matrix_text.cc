// The matrix as a table for a terminal.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text/colour.h"
#include "base/text/text_wrap.h"
#include "concurrency/history/requirements.h"
#include "report/report.h"
#include "selftest/matrix/matrix_formats.h"

namespace fencepost::matrix {
namespace {

using enum text::Colour;

class Writer {
 public:
  Writer(const Matrix& matrix, const MatrixTextOptions& options)
      : matrix_(matrix), options_(options), paint_(options.colour) {}

  std::string write() {
    line(paint_(kBold, fmt::format("fencepost matrix {}", report::suite_version())));
    if (matrix_.run) write_run(*matrix_.run);
    write_sections();
    write_areas();
    if (options_.full) write_rows();
    write_untestable();
    write_findings();
    write_gaps();
    write_totals();
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_ += text + "\n"; }

  void heading(const std::string& text) { line("\n" + paint_(kBold, text)); }

  // `text`, wrapped, with `label` before it, in `colour` when there is one.
  void item(const std::string& label, std::string_view text,
            std::optional<text::Colour> colour = std::nullopt) {
    constexpr std::size_t kLabelIndent = 4;
    out_ += colour ? paint_(*colour, label) : label;
    line(text::wrap(
        text, {.width = options_.width, .indent = kLabelIndent, .first = text::columns(label)}));
  }

  void write_run(const RunFindings& run) {
    line(fmt::format("with the run of {} against {}, profile {}", run.started, run.endpoint,
                     run.profile));
    if (matrix_.absent_cases > 0) {
      line(text::counted(matrix_.absent_cases, "case") + " of this library: not in the report");
    }
    if (matrix_.unknown_cases > 0) {
      line(text::counted(matrix_.unknown_cases, "case") + " of the report: unknown here");
    }
  }

  [[nodiscard]] std::size_t title_width() const {
    constexpr std::size_t kNumbers = 64;  // columns of the seven numbers
    return std::clamp<std::size_t>(options_.width - kNumbers, 24, 64);
  }

  [[nodiscard]] std::string shortened(const std::string& text) const {
    if (text::columns(text) <= title_width()) return text;
    return text.substr(0, title_width() - 3) + "...";  // titles are ASCII
  }

  void write_sections() {
    heading(fmt::format("{}{:>7}{:>10}{:>9}{:>12}{:>12}{:>6}{:>7}",
                        text::padded("section", title_width()), "rules", "testable", "covered",
                        "of clients", "untestable", "open", "cases"));
    for (const MatrixSection& section : sections_of(matrix_)) {
      const MatrixTotals& totals = section.totals;
      const std::string text =
          fmt::format("{}{:>7}{:>10}{:>9}{:>12}{:>12}{:>6}{:>7}",
                      text::padded(shortened(section.title), title_width()), totals.requirements,
                      totals.testable, totals.covered, totals.of_clients, totals.untestable,
                      totals.open, totals.cases);
      line(totals.covered < totals.testable ? paint_(kRed, text) : text);
    }
  }

  void write_areas() {
    heading(fmt::format("{}{:>10}{:>14}", text::padded("area", 24), "cases", "rules cited"));
    for (const MatrixArea& area : areas_of(matrix_)) {
      line(fmt::format("{}{:>10}{:>14}", text::padded(area.name, 24), area.cases,
                       area.requirements.size()));
    }
  }

  void write_rows() {
    for (const MatrixSection& section : sections_of(matrix_)) {
      heading(section.title);
      for (const MatrixRow* row : section.rows) write_row(*row);
    }
  }

  void write_row(const MatrixRow& row) {
    const scenario::Requirement& requirement = *row.requirement;
    item(fmt::format("  {} ({}, {}{})  ", requirement.id, name(requirement.level),
                     requirement.binds, requirement.open ? ", open" : ""),
         requirement.text);
    if (!row.testable() && !row.judged_of_clients()) {
      item("    untestable: ", requirement.untestable);
    }
    if (row.judged_of_clients()) item("    of clients: ", requirement.of_clients);
    if (row.client_cases > 0) item("    clients: ", row.how_of_clients());
    if (row.finding) item("    the run: ", finding_text(*row.finding));
    if (history::is_judged_by_histories(requirement.id)) {
      line(paint_(kDim, "    also with concurrent clients (fencepost stress)"));
    }
    for (const scenario::Case* test_case : row.cases) line(paint_(kDim, "    " + test_case->id));
  }

  static std::string finding_text(const RowFinding& finding) {
    std::string counts;
    for (const auto& [verdict, count] : finding.cases) {
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, verdict);
    }
    std::string out = fmt::format("{} ({})", finding.verdict, counts);
    if (!finding.observed.empty()) {
      out += fmt::format("; seen: {}", fmt::join(finding.observed, ", "));
    }
    return out;
  }

  void write_untestable() {
    heading(fmt::format("untestable: {}", matrix_.totals.untestable));
    for (const MatrixRow& row : matrix_.rows) {
      const scenario::Requirement& requirement = *row.requirement;
      if (row.testable() || row.judged_of_clients()) continue;
      item(fmt::format("  {} ({}, {})  ", requirement.id, name(requirement.level),
                       requirement.binds),
           requirement.untestable);
    }
  }

  // The findings of the run, except those that are as expected.
  void write_findings() {
    if (!matrix_.run) return;
    std::map<std::string, std::size_t> verdicts;
    heading("findings of the run");
    for (const MatrixRow& row : matrix_.rows) {
      const std::string verdict = row.finding ? row.finding->verdict : "not in the run";
      if (row.testable()) ++verdicts[verdict];
      if (!row.finding || verdict == "passed" || verdict == "open") continue;
      const bool failed = verdict == "failed" || verdict == "broken";
      item(fmt::format("  {}  ", row.requirement->id), finding_text(*row.finding),
           failed ? kRed : kYellow);
    }
    std::string counts;
    for (const auto& [verdict, count] : verdicts) {
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, verdict);
    }
    line(fmt::format("  {} testable requirements: {}", matrix_.totals.testable, counts));
  }

  void write_gaps() {
    const auto gaps = matrix_.gaps();
    if (gaps.empty()) return;
    heading(fmt::format("testable, but without a case: {}", gaps.size()));
    for (const MatrixRow* row : gaps) {
      const scenario::Requirement& requirement = *row->requirement;
      const bool must = requirement.level == scenario::Level::kMust;
      item(fmt::format("  {} ({}) {}:{}  ", requirement.id, name(requirement.level),
                       requirement.position.file, requirement.position.line),
           requirement.text, must ? kRed : kYellow);
    }
  }

  void write_totals() {
    const MatrixTotals& totals = matrix_.totals;
    line("");
    line(fmt::format(
        "{} requirements: {} testable, {} of them covered; {} of clients; {} untestable; "
        "{} unspecified",
        totals.requirements, totals.testable, totals.covered, totals.of_clients, totals.untestable,
        totals.open));
    line(fmt::format("{}, {} without a requirement", text::counted(totals.cases, "case"),
                     matrix_.cases_without_requirement.size()));
    const std::size_t musts = matrix_.gaps(scenario::Level::kMust).size();
    if (musts > 0) {
      line(paint_(kRed, fmt::format("incomplete: {} testable must{} without a case", musts,
                                    musts == 1 ? " is" : "s are")));
    } else {
      line(paint_(kGreen, "complete: every testable must has a case"));
    }
    if (!matrix_.run) return;
    const auto broken =
        std::count_if(matrix_.rows.begin(), matrix_.rows.end(), [](const auto& row) {
          return row.finding &&
                 (row.finding->verdict == "failed" || row.finding->verdict == "broken");
        });
    const std::string text = fmt::format(
        "the run: {} broken, exit code {}",
        text::counted(static_cast<std::size_t>(broken), "requirement"), matrix_.run->exit_code);
    line(paint_(broken > 0 ? kRed : kGreen, text));
  }

  const Matrix& matrix_;
  const MatrixTextOptions& options_;
  text::Paint paint_;
  std::string out_;
};

}  // namespace

std::string matrix_text(const Matrix& matrix, const MatrixTextOptions& options) {
  return Writer(matrix, options).write();
}

}  // namespace fencepost::matrix
