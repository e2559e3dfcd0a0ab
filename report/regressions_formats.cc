// What people see of regressions: on a terminal, and in a pull request.

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "report/findings.h"
#include "report/markdown.h"
#include "report/phases.h"
#include "report/regressions.h"

namespace fencepost::report {
namespace {

// A table of the comment, and some lines of the text, which has the first columns only. The cells
// are as they came: both formats make them harmless.
struct RegressionTable {
  const char* word;  // of the text
  const char* title;
  std::vector<std::string_view> columns;
  std::size_t in_text;
  std::vector<std::vector<std::string>> rows{};
  std::size_t cases = 0;  // that the rows stand for, where that is another number
};

std::string sentence_of(const scenario::Catalogue& catalogue, const std::string& id) {
  const scenario::Requirement* rule = catalogue.find(id);
  return rule == nullptr ? "" : rule->text;
}

std::string seen_in(const Finding& finding) {
  const run::Failure& failure = finding.result->failure;
  const std::string seen = failure.expected.empty() ? headline(finding)
                                                    : fmt::format("expected {}, got {}",
                                                                  failure.expected, failure.actual);
  const std::string& remark = finding.result->baseline;
  return remark.empty() ? seen : seen + "; " + remark;
}

// New failures and known ones, a row for each root cause.
std::vector<RegressionTable> failures_of(const Regressions& found,
                                         const scenario::Catalogue& catalogue,
                                         const ReportContext& context) {
  RegressionTable fresh{.word = "new",
                        .title = "New failures",
                        .columns = {"rule", "case", "seen", "sentence", "reproduce"},
                        .in_text = 3,
                        .cases = found.fresh};
  RegressionTable known{.word = "known",
                        .title = "Known failures",
                        .columns = {"rule", "case", "since"},
                        .in_text = 3,
                        .cases = found.known};
  for (const Finding& each : findings(found.judged, catalogue, context.strict)) {
    if (!each.difference) continue;
    std::vector<std::string> ids;
    for (const run::CaseResult* one : each.difference->cases) ids.push_back(one->test_case->id);
    if (each.kind == FindingKind::kFailure) {
      fresh.rows.push_back({each.rule_id, listed_cases(ids), seen_in(each),
                            sentence_of(catalogue, each.rule_id),
                            reproduce_command(context, *each.result)});
    } else if (each.kind == FindingKind::kExpectedFailure) {
      known.rows.push_back({each.rule_id, listed_cases(ids), each.result->baseline});
    }
  }
  for (const Phase& phase : phases_of(found.judged)) {
    for (const run::PhaseFinding& each : phase.findings) {
      if (!each.fails) continue;
      fresh.rows.push_back({each.requirement, phase.subject, each.text,
                            sentence_of(catalogue, each.requirement), command_of(phase, each)});
    }
  }
  return {std::move(fresh), std::move(known)};
}

RegressionTable grouped(const char* word, const char* title, const char* what,
                        const GroupedCases& groups) {
  RegressionTable out{.word = word, .title = title, .columns = {what, "case"}, .in_text = 2};
  for (const auto& [name, cases] : groups) {
    out.rows.push_back({name, listed_cases(cases)});
    out.cases += cases.size();
  }
  return out;
}

std::vector<RegressionTable> tables_of(const Regressions& found,
                                       const scenario::Catalogue& catalogue,
                                       const ReportContext& context) {
  std::vector<RegressionTable> out = failures_of(found, catalogue, context);
  RegressionTable changed{.word = "warning",
                          .title = "Changed unspecified behaviour",
                          .columns = {"point", "then", "now", "case", "sentence"},
                          .in_text = 4};
  for (const ComparedRow& each : found.changed) {
    changed.rows.push_back({each.id + " has changed", each.cells.front(), each.cells.back(),
                            listed_cases(each.cases), each.text});
  }
  out.insert(out.end() - 1, {grouped("undecided", "Undecided", "what", found.undecided),
                             grouped("fixed", "Fixed", "rule", found.fixed), std::move(changed),
                             grouped("flaky", "Flaky", "what", found.flaky)});
  return out;
}

MarkdownTable markdown_of(const RegressionTable& table) {
  MarkdownTable out{table.title, "|", {}};
  for (const std::string_view column : table.columns) out.header += fmt::format(" {} |", column);
  out.header += "\n|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) out.header += "---|";
  out.header += "\n";
  for (const std::vector<std::string>& row : table.rows) {
    std::string line = "|";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_command = table.columns[i] == "reproduce";
      line += fmt::format(" {} |", is_command ? markdown_code(row[i]) : markdown_cell(row[i]));
    }
    out.rows.push_back(line + "\n");
  }
  if (table.cases > table.rows.size()) out.count = std::to_string(table.cases);
  return out;
}

const char* sign_of(run::ExitCode exit) {
  return exit == run::ExitCode::kConformant     ? "✅"
         : exit == run::ExitCode::kFailed       ? "❌"
         : exit == run::ExitCode::kInconclusive ? "❔"
                                                : "⚠️";
}

// The day of a time, which anybody may have written.
std::string date_of(const std::string& time) {
  const std::string day = time.substr(0, std::string_view("2026-11-20").size());
  const bool is_day = !day.empty() && day.find_first_not_of("0123456789-") == std::string::npos;
  return is_day ? day : "an unknown time";
}

}  // namespace

std::string regressions_verdict(const Regressions& found) {
  const std::string in =
      found.compared < found.of ? fmt::format(" in {} of {} cases", found.compared, found.of) : "";
  const std::string behind = fmt::format("{} since {} ({} known, {} fixed)", in,
                                         date_of(found.since), found.known, found.fixed_cases);
  if (found.fresh > 0) {
    const std::string flaky =
        found.flaky_fresh == 0 ? "" : fmt::format(", {} of them flaky,", found.flaky_fresh);
    return text::counted(found.fresh, "new failure") + flaky + behind;
  }
  switch (found.exit) {
    case run::ExitCode::kConformant:
      return "no new failure" + behind;
    case run::ExitCode::kFailed:
      return "no new failure" + behind + ", but unspecified behaviour has changed (--strict)";
    case run::ExitCode::kInconclusive:
      return "no new failure" + behind + ", but not everything could be decided";
    default:
      return fmt::format("no verdict, {}: no new failure{} until then", name(found.exit), behind);
  }
}

std::string regressions_text(const Regressions& found, const scenario::Catalogue& catalogue,
                             const ReportContext& context, std::size_t width) {
  constexpr std::size_t kColumn = 13;
  std::string out;
  const auto add = [&](const char* word, const std::string& line) {
    out += text::wrap("  " + text::padded(word, kColumn - 2) + text::one_line(line),
                      {.width = width, .indent = kColumn}) +
           "\n";
  };
  add("compared",
      fmt::format(
          "with {}{}", found.file,
          found.reports == 1 ? "" : fmt::format(", the newest of {} reports", found.reports)));
  for (const RegressionTable& table : tables_of(found, catalogue, context)) {
    for (const std::vector<std::string>& row : table.rows) {
      std::string line = row.front();
      for (std::size_t i = 1; i < table.in_text; ++i) {
        line += fmt::format("; {} {}", table.columns[i], row[i]);
      }
      add(table.word, line);
    }
  }
  for (const std::string& note : found.notes) add("note", note);
  return "\n" + out + regressions_verdict(found) + "\n";
}

std::string regressions_comment(const Regressions& found, const scenario::Catalogue& catalogue,
                                const ReportContext& context, std::size_t most_bytes) {
  std::string out =
      fmt::format("## {} State store: {}\n\n", sign_of(found.exit), regressions_verdict(found));
  out += fmt::format("Endpoint {}, profile {}, fencepost {}, seed {}.\n",
                     markdown_code(context.endpoint), name(context.profile), suite_version(),
                     context.seed);
  for (const std::string& note : found.notes) out += "\n- " + markdown_cell(note);
  if (!found.notes.empty()) out += "\n";
  std::vector<MarkdownTable> tables;
  for (const RegressionTable& each : tables_of(found, catalogue, context)) {
    tables.push_back(markdown_of(each));
  }
  append_tables(tables, most_bytes, out);
  return out;
}

}  // namespace fencepost::report
