// The matrix as Markdown: docs/COVERAGE.md.

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "concurrency/history/requirements.h"
#include "selftest/matrix/matrix_formats.h"

namespace fencepost::matrix {
namespace {

constexpr std::string_view kRegenerate =
    "build/release/bin/fencepost matrix --markdown docs/COVERAGE.md";

struct Language {
  std::string_view code;
  std::string_view name;
};
// One edition of the article, and its translations that the catalogue was checked against.
struct Generation {
  std::string_view id;
  std::string_view title;
  std::vector<Language> languages;
};

const std::vector<Generation>& generations() {
  static const std::vector<Generation> all = {
      {"ga", "General availability", {{"cs", "Czech"}, {"es", "Spanish"}, {"pt", "Portuguese"}}},
      {"preview", "Preview", {{"id", "Indonesian"}, {"it", "Italian"}}},
  };
  return all;
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// As one cell of a table. Text between back-ticks is unchanged.
std::string cell(std::string_view text) {
  std::string out;
  bool code = false;
  for (const char c : text) {
    if (c == '`') code = !code;
    const bool special = c == '*' || c == '_' || c == '<' || c == '\\';
    if (c == '|' || (special && !code)) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// The name that a heading has in links.
std::string anchor(std::string_view heading) {
  std::string out;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-') out += static_cast<char>(std::tolower(byte));
    if (c == ' ') out += '-';
  }
  return out;
}

std::string link(const MatrixSection& section) {
  return fmt::format("[{}](#{})", cell(section.title), anchor(section.title));
}

void append_numbers(std::string& out, const Matrix& matrix) {
  out += "## In numbers\n\n";
  out += "| level | rules | testable | covered | of clients | untestable | open |\n";
  out += "|---|--:|--:|--:|--:|--:|--:|\n";
  const auto row = [&](std::string_view label, const MatrixTotals& totals) {
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", label, totals.requirements,
                       totals.testable, totals.covered, totals.of_clients, totals.untestable,
                       totals.open);
  };
  for (const auto& [level, totals] : matrix.levels) row(name(level), totals);
  row("all", matrix.totals);
  out += fmt::format("\n{} cases, {} without a requirement.\n\n", matrix.totals.cases,
                     matrix.cases_without_requirement.size());
}

// A line of the table of one edition: only its rules, and the number of those of the service.
void append_heading(std::string& out, const MatrixSection& section, const Generation& generation) {
  MatrixTotals printed;
  std::size_t deployed = 0;
  for (const MatrixRow* row : section.rows) {
    if (contains(row->requirement->documents, generation.id)) printed.add(*row);
    if (row->requirement->documents.empty()) ++deployed;
  }
  out += "| " + (section.rows.empty() ? cell(section.title) : link(section)) + " |";
  for (const Language& language : generation.languages) {
    const auto found = section.section->headings.find(std::string(language.code));
    out +=
        fmt::format(" {} |", found == section.section->headings.end() ? "" : cell(found->second));
  }
  out += fmt::format(" {} | {} | {} | {} | {} | {} | {} |\n", printed.requirements,
                     printed.testable, printed.covered, printed.of_clients, printed.untestable,
                     deployed, section.rows.empty() ? cell(section.section->note) : "");
}

void append_generation(std::string& out, const std::vector<MatrixSection>& sections,
                       const Generation& generation) {
  out += fmt::format("### {}\n\n| heading |", generation.title);
  for (const Language& language : generation.languages) out += fmt::format(" {} |", language.name);
  out +=
      " rules | testable | covered | of clients | untestable | deployed | no rule because |\n|---|";
  for (std::size_t i = 0; i < generation.languages.size(); ++i) out += "---|";
  out += "--:|--:|--:|--:|--:|--:|---|\n";
  for (const MatrixSection& section : sections) {
    if (section.section == nullptr) continue;
    if (contains(section.section->documents, generation.id)) {
      append_heading(out, section, generation);
    }
  }
  out += "\n";
}

std::string origin(const scenario::Requirement& requirement) {
  if (requirement.documents.empty()) return requirement.source;
  return fmt::format("{}", fmt::join(requirement.documents, ", "));
}

void append_rule(std::string& out, const MatrixRow& row) {
  const scenario::Requirement& requirement = *row.requirement;
  std::string checked =
      fmt::format("{} case{}", row.cases.size(), row.cases.size() == 1 ? "" : "s");
  if (row.cases.empty()) checked = "**none**";
  if (history::is_judged_by_histories(requirement.id)) checked += ", concurrent checks";
  if (!row.testable()) checked = "untestable: " + cell(requirement.untestable);
  if (row.judged_of_clients()) {
    checked =
        row.testable() ? checked + ", of clients" : "of clients: " + cell(requirement.untestable);
  }
  out += fmt::format("| {} | {}{} | {} | {} | {} | {} |\n", requirement.id, name(requirement.level),
                     requirement.open ? ", open" : "", requirement.binds, origin(requirement),
                     cell(requirement.text), checked);
}

// Derived from the cases for clients and from the marks of the catalogue.
void append_clients(std::string& out, const Matrix& matrix) {
  out +=
      "## Clients\n\n"
      "How clients are checked for each rule: *passively* by what they send (`fencepost serve "
      "--judge-clients`), *actively* by cases of\n`fencepost certify-client` whose failures can be "
      "attributed to the rule. Rules for clients that neither checks state why. For a rule of\nthe "
      "store, a client is checked by its reaction to what the store does.\n\n"
      "| rule | applies to | clients are checked |\n|---|---|---|\n";
  for (const MatrixRow& row : matrix.rows) {
    const scenario::Requirement& requirement = *row.requirement;
    std::string how = row.how_of_clients();
    if (how.empty() && requirement.binds != "client") continue;
    if (how.empty()) {
      how = row.testable() ? "**not**" : "untestable: " + cell(requirement.untestable);
    }
    out += fmt::format("| {} | {} | {} |\n", requirement.id, requirement.binds, how);
  }
  out += "\n";
}

void append_section(std::string& out, const MatrixSection& section) {
  if (section.rows.empty()) return;
  out += fmt::format("### {}\n\n", section.title);
  if (section.section != nullptr && !section.section->note.empty()) {
    out += section.section->note + "\n\n";
  }
  out += "| rule | level | applies to | in | text | checked by |\n|---|---|---|---|---|---|\n";
  for (const MatrixRow* row : section.rows) append_rule(out, *row);
  out += "\n";
}

}  // namespace

std::string matrix_markdown(const Matrix& matrix) {
  const std::vector<MatrixSection> sections = sections_of(matrix);
  std::string out = fmt::format(
      "# Coverage\n\n"
      "<!-- Generated from scenarios/. Regenerate with: {} -->\n\n"
      "Each rule of the protocol, by the heading of the article that states it, and the number of "
      "cases that check it. The file is\ngenerated from the catalogue and the cases; regenerate it "
      "with\n\n    {}\n\n"
      "The article has two editions: general availability and preview. The catalogue was checked "
      "against five translations,\nsentence by sentence; notes and diagrams belong to the heading "
      "above them. *Deployed* rules are in neither edition: they\nare the observed behaviour of "
      "the "
      "deployed service and of its public client SDKs. An *open* point is one that the article\n"
      "leaves unspecified: each of its outcomes passes, and a run reports which it saw.\nRules "
      "with "
      "*concurrent checks* are also checked with concurrent clients: docs/STRESS.md. Rules *of "
      "clients* are checked by\nwhat clients send to `fencepost serve --judge-clients` and in "
      "recorded packets: docs/CLIENTS.md.\n`fencepost explain ID` explains a rule; `fencepost "
      "matrix` "
      "shows the same table with the results of a run.\n\n",
      kRegenerate, kRegenerate);
  append_numbers(out, matrix);
  out += "## Headings\n\n";
  for (const Generation& generation : generations()) append_generation(out, sections, generation);
  out += "## Rules\n\n";
  for (const MatrixSection& section : sections) append_section(out, section);
  append_clients(out, matrix);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace fencepost::matrix
