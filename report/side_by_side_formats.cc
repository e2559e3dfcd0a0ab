// What runs side by side have in common and what not: for people, for programs, and as a page.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/colour.h"
#include "base/text/text_wrap.h"
#include "report/page/compare_page.h"
#include "report/page/html_page.h"
#include "report/side_by_side.h"

namespace fencepost::report {
namespace {

using nlohmann::ordered_json;
using enum text::Colour;

constexpr std::size_t kRowColumns = 25;  // for the id of a requirement
constexpr std::size_t kMaxShownCases = 20;
constexpr std::size_t kCellColumns = 13;  // "outside 1839 " is the widest

// "A", "B", ..., "Z", "27", ...
std::string letter_of(std::size_t column) {
  return column < 26 ? std::string(1, static_cast<char>('A' + column)) : std::to_string(column + 1);
}

std::size_t differing_rows(const std::vector<ComparedRow>& rows) {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.differs; }));
}

class SideBySideText {
 public:
  SideBySideText(const SideBySide& found, const scenario::Catalogue& catalogue, std::size_t width,
                 bool colour)
      : found_(found), catalogue_(catalogue), width_(width), paint_(colour) {}

  std::string all() {
    columns();
    findings();
    requirements();
    cases();
    seen("where the dialects differ, and the runs do not agree", found_.forms);
    seen("unspecified behaviour, where the runs do not agree", found_.unspecified_points);
    not_compared();
    line("");
    line(paint_(found_.differs()                                  ? kRed
                : exit_code(found_) == run::ExitCode::kConformant ? kGreen
                                                                  : kYellow,
                side_by_side_verdict(found_)));
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }
  void wrapped(const std::string& first, const std::string& text) {
    line(first + text::wrap(text, {.width = width_, .indent = 6, .first = text::columns(first)}));
  }

  void columns() {
    line(fmt::format("fencepost compare {}", suite_version()));
    for (std::size_t i = 0; i < found_.columns.size(); ++i) {
      const Column& column = found_.columns[i];
      const ColumnScore score = score_of(column, catalogue_);
      const bool bad = column.exit_code == static_cast<int>(run::ExitCode::kFailed);
      const bool good = column.exit_code == 0;
      line(paint_(
          bad    ? kRed
          : good ? kGreen
                 : kYellow,
          fmt::format("  {}  {}: {}{}{}, {}/{} MUST", letter_of(i), column.name, verdict_of(column),
                      column.part.empty() ? "" : ": ", column.part, score.kept, score.all)));
      wrapped("     ",
              fmt::format("{}, profile {}, dialect {}, {}, fencepost {}", column.endpoint,
                          column.profile, column.dialect, column.started, column.suite_version));
      wrapped(
          "     ",
          fmt::format("edition {}, {}seed {}, round trip (p50) {:.3f} ms, {:.3f} ms before the "
                      "run, clock offset {} ms",
                      column.edition, column.strict ? "--strict, " : "", column.seed,
                      column.round_trip_ms, column.unloaded_round_trip_ms, column.clock_offset_ms));
      if (!column.stopped_because.empty()) wrapped("     ", column.stopped_because);
    }
  }

  // As many columns beside each other as there is room for, then the next ones.
  template <typename Cell>
  void table(const std::string& title, const std::vector<ComparedRow>& rows, Cell cell) {
    if (rows.empty()) return;
    line("");
    line(paint_(kBold, title));
    const std::size_t room = width_ > kRowColumns ? (width_ - kRowColumns) / kCellColumns : 0;
    const std::size_t at_once = std::max<std::size_t>(1, room);
    for (std::size_t from = 0; from < found_.columns.size(); from += at_once) {
      const std::size_t to = std::min(found_.columns.size(), from + at_once);
      std::string head = text::padded("", kRowColumns);
      for (std::size_t i = from; i < to; ++i) head += text::padded(letter_of(i), kCellColumns);
      line(trimmed(head));
      for (const ComparedRow& row : rows) {
        std::string out = text::padded("  " + row.id + " ", kRowColumns);
        for (std::size_t i = from; i < to; ++i) out += text::padded(cell(row, i), kCellColumns);
        line(trimmed(out));
      }
    }
  }

  static std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  void findings() {
    table("failures by rule: cases", found_.findings,
          [&](const ComparedRow& row, std::size_t i) -> std::string {
            const auto found = found_.columns[i].findings.find(row.id);
            if (found == found_.columns[i].findings.end()) return "-";
            return fmt::format("{} {}", short_word(found->second.verdict), found->second.cases);
          });
    for (const ComparedRow& row : found_.findings) {
      if (!row.text.empty()) wrapped(fmt::format("  {}: ", row.id), row.text);
    }
  }

  static std::string short_word(const std::string& word) {
    if (word == "expected-failure") return "expected";
    return word == "inconclusive" ? "undecided" : word;
  }

  void requirements() {
    std::vector<ComparedRow> rows;
    for (const ComparedRow& row : found_.requirements) {
      if (row.differs) rows.push_back(row);
    }
    table("requirements with different states", rows,
          [](const ComparedRow& row, std::size_t i) -> std::string {
            return row.cells[i].empty() ? "-" : short_word(row.cells[i]);
          });
  }

  // "A, C: passed": who has which of the words.
  static std::map<std::string, std::string> letters_by_cell(const ComparedRow& row) {
    std::map<std::string, std::string> out;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      std::string& all = out[row.cells[i]];
      all += (all.empty() ? "" : ", ") + letter_of(i);
    }
    return out;
  }

  // If runs fail in the same way, the first one is shown.
  void cases() {
    const std::size_t all = differing_rows(found_.cases);
    if (all == 0) return;
    line("");
    line(paint_(kBold, "cases with different verdicts"));
    for (std::size_t i = 0; i < std::min(all, kMaxShownCases); ++i) {
      const ComparedRow& row = found_.cases[i];
      wrapped(fmt::format("  {}: ", row.id), row.text);
      std::set<std::string> shown;
      for (std::size_t place = 0; place < row.cells.size(); ++place) outcome(row, place, shown);
    }
    if (all > kMaxShownCases) {
      wrapped("  ", fmt::format("... and {} more: see --html or --json", all - kMaxShownCases));
    }
  }

  void outcome(const ComparedRow& row, std::size_t place, std::set<std::string>& shown) {
    const auto found = found_.columns[place].results.find(row.id);
    if (found == found_.columns[place].results.end()) return;
    const ColumnCase& result = found->second;
    const std::string reason =
        fmt::format("{}: {}, step {}", result.requirement, result.message, result.step);
    std::string all = result.verdict;
    if (result.is_decided() && !result.passes && shown.insert(reason + result.actual).second) {
      all += fmt::format(", {} at line {}; expected {}, got {}", reason, result.line,
                         result.expected, result.actual);
    }
    wrapped(fmt::format("      {}: ", letter_of(place)), all);
  }

  // Outcomes are words of their own, and long: who has which.
  void seen(const char* title, const std::vector<ComparedRow>& rows) {
    if (differing_rows(rows) == 0) return;
    line("");
    line(paint_(kBold, title));
    for (const ComparedRow& row : rows) {
      if (!row.differs) continue;
      wrapped(fmt::format("  {}: ", row.id),
              row.text + (row.text.empty() ? "" : "; ") + some_of(row.cases));
      for (const auto& [outcome, letters] : letters_by_cell(row)) {
        if (!outcome.empty()) wrapped("      " + letters + ": ", outcome);
      }
    }
  }

  static std::string some_of(const std::vector<std::string>& cases) {
    constexpr std::size_t kMaxNamed = 5;
    const bool all = cases.size() <= kMaxNamed;
    const std::vector<std::string> named(cases.begin(),
                                         all ? cases.end() : cases.begin() + kMaxNamed);
    return fmt::format("{}: {}{}", text::counted(cases.size(), "case"), fmt::join(named, ", "),
                       all ? "" : ", ...");
  }

  void not_compared() {
    std::map<std::string, std::vector<std::string>> groups;
    for (const ComparedRow& row : found_.cases) {
      if (row.differs) continue;
      std::vector<std::string> parts;
      for (const auto& [word, letters] : letters_by_cell(row)) {
        parts.push_back(fmt::format("{} in {}", word.empty() ? "missing" : word, letters));
      }
      groups[fmt::format("{}", fmt::join(parts, ", "))].push_back(row.id);
    }
    if (groups.empty()) return;
    line("");
    line(paint_(kBold, "could not be compared"));
    for (const auto& [why, cases] : groups) wrapped("  " + why + ": ", some_of(cases));
  }

  const SideBySide& found_;
  const scenario::Catalogue& catalogue_;
  std::size_t width_;
  text::Paint paint_;
  std::string text_;
};

ordered_json json_of(const Column& column, const scenario::Catalogue& catalogue) {
  const ColumnScore score = score_of(column, catalogue);
  ordered_json out = {
      {"name", column.name},
      {"file", column.file},
      {"endpoint", column.endpoint},
      {"suite_version", column.suite_version},
      {"suite_commit", column.suite_commit},
      {"started", column.started},
      {"profile", column.profile},
      {"wording", column.edition},
      {"strict", column.strict},
      {"seed", column.seed},
      {"dialect_observed", column.dialect},
      {"clock_offset_ms", column.clock_offset_ms},
      {"latency_ms",
       {{"p50", column.round_trip_ms}, {"unloaded_p50", column.unloaded_round_trip_ms}}},
      {"exit_code", column.exit_code},
      {"verdict", verdict_of(column)},
      {"must", {{"kept", score.kept}, {"all", score.all}}},
      {"cases", column.cases}};
  if (!column.part.empty()) out["part"] = column.part;
  if (!column.stopped_because.empty()) out["stopped_because"] = column.stopped_because;
  return out;
}

template <typename Cell>
ordered_json json_of(const std::vector<ComparedRow>& rows, Cell cell) {
  ordered_json out = ordered_json::array();
  for (const ComparedRow& row : rows) {
    ordered_json cells = ordered_json::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i) cells.push_back(cell(row, i));
    out.push_back({{"id", row.id},
                   {"level", row.level},
                   {"text", row.text},
                   {"differs", row.differs},
                   {"cells", std::move(cells)}});
    if (!row.cases.empty()) out.back()["cases"] = row.cases;
  }
  return out;
}

// What each run has seen.
ordered_json json_of_seen(const std::vector<Column>& columns, const std::vector<ComparedRow>& rows,
                          SeenWords Column::*member) {
  return json_of(rows, [&](const ComparedRow& row, std::size_t i) {
    const auto cell = (columns[i].*member).find(row.id);
    return cell == (columns[i].*member).end() ? ordered_json() : ordered_json(cell->second);
  });
}

ordered_json compare_document(const SideBySide& found, const scenario::Catalogue& catalogue) {
  ordered_json out;
  out["suite_version"] = suite_version();
  out["exit_code"] = static_cast<int>(exit_code(found));
  out["differs"] = found.differs();
  out["compared"] = found.compared;
  out["skipped_in_all"] = found.skipped;
  out["columns"] = ordered_json::array();
  for (const Column& column : found.columns) out["columns"].push_back(json_of(column, catalogue));
  const auto& columns = found.columns;
  out["findings"] = json_of(found.findings, [&](const ComparedRow& row, std::size_t i) {
    const auto cell = columns[i].findings.find(row.id);
    if (cell == columns[i].findings.end()) return ordered_json();
    return ordered_json{{"verdict", cell->second.verdict},
                        {"cause", cell->second.cause},
                        {"cases", cell->second.cases}};
  });
  out["requirements"] = json_of(found.requirements, [](const ComparedRow& row, std::size_t i) {
    return row.cells[i].empty() ? ordered_json() : ordered_json(row.cells[i]);
  });
  out["cases"] = json_of(found.cases, [&](const ComparedRow& row, std::size_t i) {
    const auto cell = columns[i].results.find(row.id);
    if (cell == columns[i].results.end()) return ordered_json();
    const ColumnCase& result = cell->second;
    ordered_json shown = {{"verdict", result.verdict}};
    if (!result.message.empty()) shown["message"] = result.message;
    if (result.requirement.empty()) return shown;
    shown.update({{"requirement", result.requirement},
                  {"step", result.step},
                  {"line", result.line},
                  {"expected", result.expected},
                  {"actual", result.actual}});
    return shown;
  });
  out["forms"] = json_of_seen(columns, found.forms, &Column::forms);
  out["open_points"] = json_of_seen(columns, found.unspecified_points, &Column::seen);
  return out;
}

// "1 requirement, 2 cases and 1 choice".
std::string what_differs(const SideBySide& found) {
  std::vector<std::string> parts;
  const auto add = [&](const std::vector<ComparedRow>& rows, const char* noun) {
    const std::size_t number = differing_rows(rows);
    if (number > 0) parts.push_back(text::counted(number, noun));
  };
  add(found.requirements, "requirement");
  add(found.cases, "case");
  add(found.forms, "dialect form");
  add(found.unspecified_points, "choice");
  if (parts.size() < 2) return fmt::format("{}", fmt::join(parts, ""));
  const std::string last = parts.back();
  parts.pop_back();
  return fmt::format("{} and {}", fmt::join(parts, ", "), last);
}

page::PageHeader page_header_of(const SideBySide& found) {
  const auto runs = [&](std::string_view verdict) {
    return std::count_if(found.columns.begin(), found.columns.end(),
                         [&](const Column& column) { return verdict_of(column) == verdict; });
  };
  const auto good = runs("conformant");
  const bool all = good == std::ssize(found.columns);
  const auto parts = runs("no failure in a part");
  const bool bad = runs("NOT conformant") > 0;
  return {all   ? "conformant"
          : bad ? "failed"
                : "open",
          all   ? "✓"
          : bad ? "✗"
                : "?",
          fmt::format("{} of {} conformant{}", good, found.columns.size(),
                      parts == 0 ? "" : fmt::format(", {} no failure in a part", parts)),
          side_by_side_verdict(found) + "."};
}

}  // namespace

std::string side_by_side_text(const SideBySide& found, const scenario::Catalogue& catalogue,
                              std::size_t width, bool colour) {
  return SideBySideText(found, catalogue, width, colour).all();
}

std::string side_by_side_verdict(const SideBySide& found) {
  if (found.certificates) {
    const std::string all = text::counted(found.columns.size(), "certificate");
    return found.differs() ? fmt::format("{} differ in {}", all, what_differs(found))
                           : all + ": no difference";
  }
  const std::string runs = text::counted(found.columns.size(), "run");
  const std::string compared = text::counted(found.compared, "case") + " compared";
  if (found.differs())
    return fmt::format("{} differ in {}; {}", runs, what_differs(found), compared);
  if (found.compared == 0) return runs + ": nothing was compared";
  if (found.cases.empty()) return fmt::format("{}: no difference; {}", runs, compared);
  return fmt::format("{}: no difference, but not everything could be compared; {}, {} not", runs,
                     compared, found.cases.size());
}

std::string side_by_side_json(const SideBySide& found, const scenario::Catalogue& catalogue) {
  return compare_document(found, catalogue)
             .dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

std::string side_by_side_html(const SideBySide& found, const scenario::Catalogue& catalogue,
                              const std::string& links) {
  const page::PageHeader head = page_header_of(found);
  return page::verdict_page(
      page::compare_page_files(), head,
      {.product = found.certificates ? "conformance results" : "runs side by side",
       .main = "tables",
       .document = head.title + ": runs side by side"},
      {{"links", links}, {"data", page::data_island(compare_document(found, catalogue))}});
}

}  // namespace fencepost::report
