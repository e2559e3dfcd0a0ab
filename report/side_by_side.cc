#include "report/side_by_side.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"

namespace fencepost::report {
namespace {

using nlohmann::json;

// Null where there is none.
json member(const json& object, const char* name) {
  return object.is_object() && object.contains(name) ? object[name] : json();
}

// Empty where there is none.
std::string member_text(const json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return {};
  constexpr std::size_t kMaxShown = 300;
  const auto& text = found->get_ref<const std::string&>();
  // It goes to a terminal, and anybody may have written it.
  return text::one_line(text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "...");
}

// 0 where there is none.
template <typename Number>
Number member_number(const json& object, const char* name) {
  const json found = member(object, name);
  const bool fits = std::is_floating_point_v<Number> ? found.is_number()
                    : std::is_signed_v<Number>       ? found.is_number_integer()
                                                     : found.is_number_unsigned();
  return fits ? found.get<Number>() : Number{};
}

void read_findings(const json& document, Column& out) {
  const auto list = document.find("differences");
  if (list == document.end() || !list->is_array()) return;
  for (const json& entry : *list) {
    const std::string id = member_text(entry, "requirement");
    if (id.empty()) continue;
    const auto cases = entry.find("cases");
    const auto causes = entry.find("causes");
    const std::size_t count = cases != entry.end() && cases->is_array() ? cases->size() : 0;
    const bool has_cause = causes != entry.end() && causes->is_array() && !causes->empty() &&
                           causes->front().is_string();
    const auto [known, fresh] = out.findings.emplace(
        id, ColumnFinding{member_text(entry, "verdict"),
                          has_cause ? causes->front().get<std::string>() : std::string(), count});
    if (!fresh) known->second.cases += count;
  }
}

void read_phases(const json& document, Column& out) {
  for (const char* name : {"stress", "enumeration"}) {
    const json phase = member(document, name);
    if (!phase.is_object()) continue;
    ColumnPhase& added = out.phases[name];
    added.ran = member_number<std::uint64_t>(phase, "requests") > 0;
    const json found = member(phase, "findings");
    if (!found.is_array()) continue;
    for (const json& each : found) {
      if (member_text(each, "verdict") == "failed")
        added.broken.insert(member_text(each, "requirement"));
    }
  }
}

// The ids of all texts of a list.
std::set<std::string> ids_in(const json& object, const char* list) {
  std::set<std::string> out;
  const auto found = object.is_object() ? object.find(list) : object.end();
  if (found == object.end() || !found->is_array()) return out;
  for (const json& each : *found) {
    if (each.is_string()) out.insert(each.get<std::string>());
  }
  return out;
}

// What a report says twice of its cases, and not alike; empty: nothing.
std::string contradiction_of_cases(const json& document, const Column& column) {
  const auto list = document.find("cases");
  if (list == document.end() || !list->is_array()) return "it has no cases";
  std::map<std::string, std::size_t> counted;
  std::set<std::string> failed;
  for (const json& entry : *list) {
    const std::string verdict = member_text(entry, "verdict");
    const std::string word = verdict == "warning"            ? "warnings"
                             : verdict == "expected-failure" ? "expected_failures"
                             : verdict == "lost"             ? "not_run"
                             : verdict == "not-run"          ? "not_run"
                                                             : verdict;
    ++counted[word];
    const bool fails = verdict == "failed" && member(entry, "unexpected_pass") != json(true);
    if (fails || verdict == "expected-failure") {
      failed.insert(member_text(entry, "id"));
    }
  }
  for (const auto& [word, count] : column.cases) counted.try_emplace(word, 0);
  for (const auto& [word, count] : counted) {
    const auto said = column.cases.find(word);
    const std::size_t of_summary = said == column.cases.end() ? 0 : said->second;
    if (of_summary == count) continue;
    return fmt::format("its summary says {} {}, but its cases are {}", of_summary,
                       text::one_line(word), count);
  }
  const auto differences = document.find("differences");
  if (differences != document.end() && differences->is_array()) {
    for (const json& each : *differences) {
      for (const std::string& id : ids_in(each, "cases")) failed.erase(id);
    }
    if (!failed.empty()) {
      return "no root cause explains the failure of " + text::one_line(*failed.begin());
    }
  }
  const json selected = member(document, "selected");
  if (selected.is_object() && member_number<std::size_t>(selected, "cases") != list->size()) {
    return fmt::format("it has {}, and says that others were selected",
                       text::counted(list->size(), "case"));
  }
  return {};
}

// What a report says twice and not alike, in any version of reports; empty: nothing. It was changed
// then, and shows nothing.
std::string contradiction_in(const json& document, const Column& column) {
  if (!column.is_certificate) {
    if (std::string wrong = contradiction_of_cases(document, column); !wrong.empty()) return wrong;
  }
  for (const auto& [id, finding] : column.findings) {
    const auto state = column.states.find(id);
    if (finding.verdict == "failed" && state != column.states.end() && state->second == "passed") {
      return text::one_line(id) + " has failed and also passed";
    }
  }
  const auto counted = [&](const char* word) {
    const auto found = column.cases.find(word);
    return found == column.cases.end() ? 0 : found->second;
  };
  const bool is_well = counted("failed") + counted("inconclusive") + counted("not_run") == 0;
  const bool says_so = column.exit_code == static_cast<int>(run::ExitCode::kConformant);
  if (says_so && !is_well) return "its exit code is 0, but not all of its cases passed";
  for (const auto& [name, phase] : column.phases) {
    if (says_so && !phase.broken.empty())
      return fmt::format("its exit code is 0, but `{}` found a broken rule", name);
  }
  return {};
}

// See Column::part. Reports of versions that did not count have the options alone.
std::string part_in(const json& document) {
  const auto cases = document.find("cases");
  const std::size_t count = cases == document.end() ? 0 : cases->size();
  const json selected = member(document, "selected");
  if (selected.is_object()) return part_text(count, member_number<std::size_t>(selected, "of"));
  const json selection = member(document, "selection");
  const bool filtered = std::any_of(selection.begin(), selection.end(),
                                    [](const json& each) { return !each.empty(); });
  const bool sharded = member_number<std::size_t>(member(document, "shard"), "of") > 1;
  return filtered || sharded ? text::counted(count, "case") + " selected" : "";
}

SeenWords seen_in(const json& object, const char* name) {
  SeenWords out;
  const auto places = object.find(name);
  if (places == object.end() || !places->is_object()) return out;
  for (const auto& [place, words] : places->items()) {
    if (words.is_array() && !words.empty()) out[place] = ids_in(*places, place.c_str());
  }
  return out;
}

ColumnCase case_in(const json& entry) {
  const json failure = member(entry, "failure");
  ColumnCase out{.title = member_text(entry, "title"),
                 .verdict = member_text(entry, "verdict"),
                 .requirement = member_text(failure, "requirement"),
                 .step = member_number<std::size_t>(failure, "step"),
                 .line = member_number<std::size_t>(entry, "line"),
                 .kind = member_text(failure, "kind"),
                 .message = member_text(entry, "message"),
                 .expected = member_text(failure, "expected"),
                 .actual = member_text(failure, "actual"),
                 .forms = seen_in(entry, "forms_observed"),
                 .unspecified_points = seen_in(entry, "open_points_observed")};
  out.passes = out.verdict == "passed" || member(entry, "unexpected_pass") == json(true);
  const json known_by = member(failure, "signature");
  if (known_by.is_string()) out.signature = known_by.get<std::string>();
  const json cause = member(failure, "cause");
  if (cause.is_string()) out.cause = cause.get<std::string>();
  if (failure.is_object()) out.line = member_number<std::size_t>(failure, "line");
  return out;
}

// Does any column that has something in this row say something else than another one? How strict a
// run was, and what its baseline says, is no difference between stores.
bool differing(const std::vector<std::string>& cells) {
  std::set<std::string> words(cells.begin(), cells.end());
  for (const char* judged : {"warning", "expected-failure"}) {
    if (words.erase(judged) > 0) words.insert("broken");
  }
  for (const char* undecided : {"", "skipped", "not-run", "not-shown", "inconclusive"}) {
    words.erase(undecided);
  }
  return words.size() > 1;
}

// Ids in the order of the catalogue, then those that it does not have.
std::vector<std::string> in_order(std::set<std::string> ids, const scenario::Catalogue& catalogue) {
  std::vector<std::string> out;
  for (const scenario::Requirement& rule : catalogue.all()) {
    if (ids.erase(rule.id) > 0) out.push_back(rule.id);
  }
  out.insert(out.end(), ids.begin(), ids.end());
  return out;
}

ComparedRow row_of(const std::string& id, const scenario::Catalogue& catalogue) {
  ComparedRow out{.id = id, .level = "", .text = ""};
  if (const scenario::Requirement* rule = catalogue.find(id); rule != nullptr) {
    out.level = name(rule->level);
    out.text = rule->text;
  }
  return out;
}

// `member`: what a column has, by id; `word`: what of it stands in a cell.
template <typename Member, typename Word>
std::vector<ComparedRow> rows_of(const std::vector<Column>& columns, Member member, Word word,
                                 const scenario::Catalogue& catalogue) {
  std::set<std::string> ids;
  for (const Column& column : columns) {
    for (const auto& entry : column.*member) ids.insert(entry.first);
  }
  std::vector<ComparedRow> out;
  for (const std::string& id : in_order(std::move(ids), catalogue)) {
    ComparedRow row = row_of(id, catalogue);
    for (const Column& column : columns) {
      const auto found = (column.*member).find(id);
      row.cells.push_back(found == (column.*member).end() ? std::string() : word(found->second));
    }
    row.differs = differing(row.cells);
    out.push_back(std::move(row));
  }
  return out;
}

std::string words_of(const std::set<std::string>& seen) {
  return fmt::format("{}", fmt::join(seen, ", "));
}

// Notes in the rows the cases that saw another outcome in one run than in another.
void note_cases(const std::vector<Column>& columns, SeenWords ColumnCase::*member,
                std::vector<ComparedRow>& rows) {
  for (ComparedRow& row : rows) {
    std::map<std::string, std::set<std::set<std::string>>> outcomes;
    for (const Column& column : columns) {
      for (const auto& [id, result] : column.results) {
        const auto seen = (result.*member).find(row.id);
        if (result.is_decided() && seen != (result.*member).end())
          outcomes[id].insert(seen->second);
      }
    }
    for (const auto& [id, different] : outcomes) {
      if (different.size() > 1) row.cases.push_back(id);
    }
    row.differs = !row.cases.empty();
  }
}

// How a store does in a case: what differs in it is another behaviour.
std::string behaviour(const ColumnCase& result, bool judged_alike) {
  if (result.passes) return "passes";
  return fmt::format("{} {} {} {}", result.requirement, result.step, result.kind,
                     judged_alike ? result.signature : "");
}

// What is expected, and so how a failure reads, depends on how the runs are judged.
bool judged_alike(const std::vector<Column>& columns) {
  return std::all_of(columns.begin(), columns.end(), [&](const Column& column) {
    return column.profile == columns.front().profile && column.edition == columns.front().edition;
  });
}

// Counts the case, or adds its row.
void add_case(const std::string& id, const scenario::Catalogue& catalogue, bool alike,
              SideBySide& out) {
  ComparedRow row{.id = id, .level = "", .text = ""};
  std::set<std::string> behaviours;
  std::size_t decided = 0;
  std::size_t skipped = 0;
  for (const Column& column : out.columns) {
    const auto found = column.results.find(id);
    row.cells.push_back(found == column.results.end() ? "" : found->second.verdict);
    if (found == column.results.end()) continue;
    const ColumnCase& result = found->second;
    if (row.text.empty()) row.text = result.title;
    if (result.verdict == "skipped") ++skipped;
    if (!result.is_decided()) continue;
    ++decided;
    behaviours.insert(behaviour(result, alike));
    if (row.level.empty() && !result.passes)
      row.level = row_of(result.requirement, catalogue).level;
  }
  const std::size_t all = out.columns.size();
  if (decided == all) ++out.compared;
  if (skipped == all) ++out.skipped;
  row.differs = behaviours.size() > 1;
  if (row.differs || (decided < all && skipped < all)) out.cases.push_back(std::move(row));
}

void add_cases(const scenario::Catalogue& catalogue, SideBySide& out) {
  std::set<std::string> ids;
  for (const Column& column : out.columns) {
    for (const auto& entry : column.results) ids.insert(entry.first);
  }
  const bool alike = judged_alike(out.columns);
  for (const std::string& id : ids) add_case(id, catalogue, alike, out);
  std::stable_sort(out.cases.begin(), out.cases.end(), [](const auto& a, const auto& b) {
    return std::pair(!a.differs, a.level != "must") < std::pair(!b.differs, b.level != "must");
  });
}

void make_names_differ(std::vector<Column>& columns) {
  std::map<std::string, std::size_t> uses;
  for (const Column& column : columns) ++uses[column.name];
  for (Column& column : columns) {
    if (uses[column.name] > 1) column.name += fmt::format(" ({})", column.file);
  }
}

}  // namespace

Result<Column, std::string> read_column(const scenario::SourceFile& file, const std::string& name) {
  const auto wrong = [&](const std::string& what) {
    return fail(fmt::format("{}: {}: name a file that `fencepost certify --json FILE` has written",
                            file.name, what));
  };
  if (const auto limit = json_limit_broken(file.content); !limit.empty()) return wrong(limit);
  const json document = read_json(file.content);
  if (document.is_discarded()) return wrong("this is not JSON");
  const auto states = document.is_object() ? document.find("requirements") : document.end();
  if (states == document.end() || !states->is_array()) {
    return wrong("this is not a report of certify with the states of requirements");
  }
  Column out{.name = name.empty() ? member_text(document, "endpoint") : name,
             .file = file.name,
             .endpoint = member_text(document, "endpoint"),
             .suite_version = member_text(document, "suite_version"),
             .suite_commit = member_text(document, "suite_commit"),
             .started = member_text(document, "started"),
             .profile = member_text(document, "profile"),
             .edition = member_text(document, "wording"),
             .dialect = member_text(document, "dialect_observed"),
             .stopped_because = member_text(document, "stopped_because"),
             .is_certificate = member_text(document, "format") == kCertificateFormat,
             .strict = member(document, "strict") == json(true),
             .endpoint_lost = member(document, "endpoint_lost") == json(true),
             .seed = member_number<std::uint64_t>(document, "seed"),
             .clock_offset_ms = member_number<std::int64_t>(document, "clock_offset_ms")};
  const json latency = member(document, "latency_ms");
  out.round_trip_ms = member_number<double>(latency, "p50");
  out.unloaded_round_trip_ms = member_number<double>(latency, "unloaded_p50");
  const auto code = document.find("exit_code");
  if (out.endpoint.empty() || code == document.end() || !code->is_number_integer()) {
    return wrong("it has no endpoint or no exit_code");
  }
  out.exit_code = code->get<int>();
  if (const auto summary = document.find("summary"); summary != document.end()) {
    for (const auto& [word, count] : summary->items()) {
      if (count.is_number_unsigned()) out.cases[word] = count.get<std::size_t>();
    }
  }
  for (const json& entry : *states) {
    const std::string state = member_text(entry, "state");
    // The outcomes say what is left unspecified.
    if (!state.empty() && state != "open") out.states[member_text(entry, "id")] = state;
  }
  read_findings(document, out);
  read_phases(document, out);
  if (const json judged_by = member(document, "judged_by"); judged_by.is_object()) {
    out.judged_by = member_text(judged_by, "dialect") + ", " + member_text(judged_by, "wording");
  }
  out.forms = seen_in(document, "forms_observed");
  out.seen = seen_in(document, "open_points_observed");
  if (const std::string wrong_in_it = contradiction_in(document, out); !wrong_in_it.empty()) {
    return wrong(wrong_in_it + "; the file was changed after it was written");
  }
  out.part = part_in(document);
  if (out.is_certificate) return out;
  for (const json& entry : document["cases"]) {
    if (entry.is_object()) out.results.emplace(member_text(entry, "id"), case_in(entry));
  }
  return out;
}

bool ColumnCase::is_decided() const {
  return passes || verdict == "failed" || verdict == "warning" || verdict == "expected-failure";
}

bool SideBySide::differs() const {
  const auto any = [](const std::vector<ComparedRow>& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.differs; });
  };
  return any(requirements) || any(cases) || any(forms) || any(unspecified_points);
}

SideBySide side_by_side(std::vector<Column> columns, const scenario::Catalogue& catalogue) {
  make_names_differ(columns);
  SideBySide out;
  out.findings = rows_of(
      columns, &Column::findings, [](const ColumnFinding& one) { return one.verdict; }, catalogue);
  // What one store alone does otherwise is what the table is for.
  for (ComparedRow& row : out.findings) {
    row.differs = std::set(row.cells.begin(), row.cells.end()).size() > 1;
  }
  out.requirements = rows_of(
      columns, &Column::states, [](const std::string& state) { return state; }, catalogue);
  out.forms = rows_of(columns, &Column::forms, words_of, catalogue);
  out.unspecified_points = rows_of(columns, &Column::seen, words_of, catalogue);
  out.certificates = std::all_of(columns.begin(), columns.end(),
                                 [](const Column& column) { return column.is_certificate; });
  if (!out.certificates) {
    note_cases(columns, &ColumnCase::forms, out.forms);
    note_cases(columns, &ColumnCase::unspecified_points, out.unspecified_points);
  }
  out.columns = std::move(columns);
  add_cases(catalogue, out);
  return out;
}

run::ExitCode exit_code(const SideBySide& found) {
  if (found.differs()) return run::ExitCode::kFailed;
  const bool lost = std::any_of(found.columns.begin(), found.columns.end(),
                                [](const Column& column) { return column.endpoint_lost; });
  if (lost) return run::ExitCode::kUnreachable;
  if (found.compared == 0 && !found.certificates) return run::ExitCode::kNothingSelected;
  return found.cases.empty() ? run::ExitCode::kConformant : run::ExitCode::kInconclusive;
}

ColumnScore score_of(const Column& column, const scenario::Catalogue& catalogue) {
  ColumnScore out;
  for (const auto& [id, state] : column.states) {
    const scenario::Requirement* rule = catalogue.find(id);
    if (rule == nullptr || rule->level != scenario::Level::kMust || !rule->untestable.empty())
      continue;
    ++out.all;
    if (state == "passed") ++out.kept;
  }
  return out;
}

std::string_view verdict_of(const Column& column) {
  switch (static_cast<run::ExitCode>(column.exit_code)) {
    case run::ExitCode::kConformant:
      return column.part.empty() ? "conformant" : "no failure in a part";
    case run::ExitCode::kFailed:
      return "NOT conformant";
    case run::ExitCode::kUnreachable:
      return "unreachable";
    case run::ExitCode::kInconclusive:
      return "inconclusive";
    case run::ExitCode::kNothingSelected:
      return "nothing ran";
    case run::ExitCode::kInterrupted:
      return "interrupted";
    case run::ExitCode::kUsage:
    case run::ExitCode::kInternal:
      break;
  }
  return "no verdict";
}

}  // namespace fencepost::report
