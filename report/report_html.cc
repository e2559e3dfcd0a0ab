// The HTML report: report_page/page.html with its places filled. What the head of the page says is
// text in the file, so that it is there without JavaScript too; all else is drawn by the page's
// scripts, from the same document as the JSON report.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "report/findings.h"
#include "report/page/html_page.h"
#include "report/page/report_page.h"
#include "report/phases.h"
#include "report/report.h"
#include "report/report_json.h"
#include "report/requirement_states.h"
#include "report/root_causes.h"

namespace fencepost::report {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kInterrupted = "interrupted";
constexpr std::size_t kMaxCasesWithMessages = 100;  // of a root cause

// --- text in HTML ------------------------------------------------------------------------------

// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += i + 1 == parts.size() ? " and " : ", ";
    out += parts[i];
  }
  return out;
}

std::string link(const std::string& id) {
  return fmt::format("<a class=\"id\" href=\"#{0}\">{0}</a>", page::html(id));
}

// --- the verdict in words ----------------------------------------------------------------------

std::size_t cases_run(const run::SuiteResult& result) {
  return result.cases.size() - result.summary.skipped - result.summary.not_run;
}

page::PageHeader conformant(const run::SuiteResult& result) {
  const run::Summary& summary = result.summary;
  std::vector<std::string> but;
  if (summary.warnings > 0) but.push_back(text::counted(summary.warnings, "warning"));
  if (summary.expected_failures > 0) {
    but.push_back(text::counted(summary.expected_failures, "expected failure"));
  }
  if (but.empty()) return {"conformant", "✓", "Conformant", "Every case that ran passed."};
  std::string sentence;
  if (summary.warnings > 0) sentence = "Some recommendations were not followed. ";
  if (summary.expected_failures > 0) sentence += "The baseline accepts what failed. ";
  return {"conformant", "✓", "Conformant, with " + listed(but),
          sentence + "Every other case that ran passed."};
}

page::PageHeader failed(const run::SuiteResult& result, const ReportContext& context,
                        const scenario::Catalogue& catalogue) {
  std::size_t failures = 0;
  std::size_t unexpected_passes = 0;
  for (const run::CaseResult& entry : result.cases) {
    if (entry.verdict != run::Verdict::kFailed) continue;
    if (entry.unexpected_pass) {
      ++unexpected_passes;
    } else if (!is_warning(entry, catalogue, context.strict)) {
      ++failures;
    }
  }
  const std::string found = failing_phases(result);
  if (failures == 0 && !found.empty()) {
    return {"failed", "✗", "NOT conformant", "No case failed, but " + found + "."};
  }
  if (failures == 0) {
    return {"failed", "✗", "Baseline out of date",
            fmt::format("Every failure is known to the baseline{}.",
                        unexpected_passes == 0
                            ? ", but the baseline does not match this run"
                            : fmt::format("; {} passed that it expects to fail",
                                          text::counted(unexpected_passes, "case")))};
  }
  std::string sentence =
      fmt::format("{} of {} that ran failed", failures, text::counted(cases_run(result), "case"));
  const std::vector<Difference> all = differences(result, catalogue, context.strict);
  const auto count =
      static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const Difference& one) {
        return one.kind == FindingKind::kFailure;
      }));
  if (count > 0) {
    sentence += fmt::format("; {} {} them", text::counted(count, "root cause"),
                            count == 1 ? "explains" : "explain");
  }
  sentence += ".";
  if (!result.baseline_errors.empty()) sentence += " The baseline is out of date.";
  return {"failed", "✗", "NOT conformant", sentence};
}

page::PageHeader inconclusive(const run::SuiteResult& result) {
  const run::Summary& summary = result.summary;
  std::vector<std::string> open;
  if (summary.inconclusive > 0) {
    open.push_back(
        fmt::format("{} could not be decided", text::counted(summary.inconclusive, "case")));
  }
  if (summary.not_run > 0) {
    open.push_back(
        fmt::format("{} {} not run", summary.not_run, summary.not_run == 1 ? "was" : "were"));
  }
  return {"open", "?", "Inconclusive", "No case failed, but " + listed(open) + "."};
}

page::PageHeader ended_early(const run::SuiteResult& result, std::string title, std::string why) {
  return {"open", "!", std::move(title),
          fmt::format("{} No verdict: {} of {} not run.", why, result.summary.not_run,
                      text::counted(result.cases.size(), "case"))};
}

page::PageHeader headline(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                          const ReportContext& context) {
  switch (exit_code(result)) {
    case run::ExitCode::kConformant:
      if (const std::string part = part_text(result, context); !part.empty()) {
        return {"open", "◔", "Partial run without a failure",
                part + ": not a statement of conformance. That takes a run of all cases."};
      }
      return conformant(result);
    case run::ExitCode::kFailed:
      return failed(result, context, catalogue);
    case run::ExitCode::kInconclusive:
      return inconclusive(result);
    case run::ExitCode::kUnreachable:
      return cases_run(result) == 0
                 ? ended_early(result, "Endpoint unreachable", "The run could not begin.")
                 : ended_early(result, "Endpoint lost",
                               "The connection to it was lost during the run.");
    case run::ExitCode::kInterrupted:
      return ended_early(result, "Interrupted", "The run was interrupted.");
    case run::ExitCode::kNothingSelected:
      if (result.cases.empty()) {
        return {"open", "∅", "Nothing certified", "No case was selected."};
      }
      return {"open", "∅", "Nothing certified",
              "Every selected case was skipped: the endpoint lacks what they need."};
    case run::ExitCode::kUsage:
    case run::ExitCode::kInternal:
      break;
  }
  return {"open", "!", "No verdict", "The run ended with an internal error."};
}

// --- parts of the head -------------------------------------------------------------------------

std::string alert(const std::string& title, const std::string& items) {
  if (items.empty()) return {};
  return fmt::format("<div class=\"alert\"><p><b>{}:</b></p>\n<ul>\n{}</ul></div>\n", title, items);
}

std::string list_items(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += fmt::format("<li>{}</li>\n", page::html(text));
  return out;
}

// What needs to be said before anything else: why the run stopped, and where the baseline is wrong.
std::string alerts(const run::SuiteResult& result, const ReportContext& context) {
  std::string out;
  const std::string& stopped = context.stopped_because;
  if (!stopped.empty() && stopped != kInterrupted) {  // which the headline says
    out += fmt::format("<p class=\"alert\"><b>Stopped:</b> {}</p>\n", page::html(stopped));
  }
  std::string diagnostics = list_items(result.baseline_errors);
  for (const run::CaseResult& entry : result.cases) {
    if (!entry.unexpected_pass) continue;
    diagnostics += fmt::format("<li>Unexpected pass: {}</li>\n", link(entry.test_case->id));
  }
  return out + alert("The baseline is out of date", diagnostics) +
         alert("Notes on the baseline", list_items(result.baseline_notes));
}

// What was left out of the run; nothing when that was nothing.
std::string selection_fact(const run::SuiteResult& result, const ReportContext& context) {
  const std::string options = selection_text(context.selection);
  if (options.empty()) return {};
  std::string of;
  if (context.known_cases > 0) {
    of = fmt::format(": {} of {}", result.cases.size(), text::counted(context.known_cases, "case"));
  }
  return fmt::format("<dt>Selected</dt><dd><code>{}</code>{}</dd>\n", page::html(options.substr(1)),
                     of);
}

std::string counts(const run::Summary& summary) {
  struct Count {
    std::size_t number;
    std::string_view tone;
    std::string_view sign;
    std::string_view word;
  };
  std::string out;
  for (const Count& count :
       std::initializer_list<Count>{{summary.passed, "good", "✓", "passed"},
                                    {summary.failed, "bad", "✗", "failed"},
                                    {summary.warnings, "doubt", "!", "warnings"},
                                    {summary.expected_failures, "doubt", "x", "expected failures"},
                                    {summary.inconclusive, "doubt", "?", "inconclusive"},
                                    {summary.skipped, "quiet", "–", "skipped"},
                                    {summary.not_run, "quiet", "·", "not run"}}) {
    if (count.number == 0 && count.word != "passed" && count.word != "failed") continue;
    out += fmt::format(
        "<li class=\"badge {}\"><span class=\"sign\" aria-hidden=\"true\">{}</span> <b>{}</b> "
        "{}</li>\n",
        count.number == 0 ? "quiet" : count.tone, count.sign, count.number, count.word);
  }
  return out;
}

std::string requirement_score(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                              bool strict) {
  const std::vector<RequirementFinding> states =
      requirement_states(result, differences(result, catalogue, strict), catalogue);
  const MustScore score = must_score(states, catalogue);
  std::string all = requirements_text(states);
  if (!all.empty()) all = "of all levels: " + all.substr(all.find(' ') + 1);
  return fmt::format("MUST requirements: <b>{}</b> of <b>{}</b> met{}", score.kept, score.all,
                     all.empty() ? "" : fmt::format(" <span class=\"note\">({})</span>", all));
}

// What was not checked, and what it takes: a verdict is of what ran.
std::string unchecked(const run::SuiteResult& result) {
  const SkippedCases skipped = skipped_cases(result);
  std::string items;
  for (const MissingCapability& each : skipped.missing) {
    items += fmt::format("<li><b>{}</b> {} <code>{}</code>: {}</li>\n", each.cases,
                         each.cases == 1 ? "needs" : "need", page::html(each.name),
                         page::html(each.provide));
  }
  if (skipped.too_large > 0) {
    items += fmt::format("<li><b>{}</b> {} a packet that is larger than the endpoint takes</li>\n",
                         skipped.too_large, skipped.too_large == 1 ? "sends" : "send");
  }
  if (skipped.too_slow > 0) {
    items += fmt::format("<li><b>{}</b> {} a faster endpoint</li>\n", skipped.too_slow,
                         skipped.too_slow == 1 ? "needs" : "need");
  }
  if (skipped.by_baseline > 0) {
    items += fmt::format("<li><b>{}</b> {} skipped by the baseline</li>\n", skipped.by_baseline,
                         skipped.by_baseline == 1 ? "is" : "are");
  }
  if (items.empty()) return {};
  return fmt::format(
      "<section class=\"unchecked\"><h2>Not checked: {}</h2>\n<ul>\n{}</ul></section>\n",
      text::counted(result.summary.skipped, "case"), items);
}

// What the phases have shown; nothing where there were none.
std::string phases(const run::SuiteResult& result, const scenario::Catalogue& catalogue) {
  std::string out;
  for (const Phase& phase : phases_of(result)) {
    std::string items;
    for (const run::PhaseFinding& found : phase.findings) {
      items += fmt::format("<li><b>{}</b> {}\n<pre tabindex=\"0\">{}</pre></li>\n",
                           found.fails ? "✗" : "!", page::html(finding_headline(found)),
                           page::html(finding_evidence(phase, found, catalogue)));
    }
    out += fmt::format("<section class=\"at-once\"><h2>{}</h2>\n{}</section>\n",
                       page::html(phase.text), items.empty() ? "" : "<ul>\n" + items + "</ul>\n");
  }
  return out;
}

// Where the run took place.
std::string environment_facts(const ReportContext& context) {
  std::string out;
  for (const auto& [name, value] : context.environment) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", page::html(name), page::html(value));
  }
  return out;
}

std::string seconds(std::chrono::microseconds time) {
  const double value = static_cast<double>(time.count()) / 1e6;
  return value < 120 ? fmt::format("{:.2f} s", value) : fmt::format("{:.1f} min", value / 60);
}

std::string dialect_text(const run::SuiteResult& result) {
  std::string out = observed_dialect(result);
  if (out == "unknown") out += " (no reply shows it)";
  return out;
}

// For readers without JavaScript: each root cause, and each other case that did not pass, in a
// sentence or two.
std::string static_list(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                        bool strict) {
  std::string out;
  for (const run::CaseResult& entry : result.cases) {
    if (entry.verdict != run::Verdict::kLost) continue;
    out += fmt::format("<li><b>lost</b> <code>{}</code> {}: {}</li>\n",
                       page::html(entry.test_case->id), page::html(entry.test_case->title),
                       page::html(entry.failure.message));
  }
  for (const Finding& finding : findings(result, catalogue, strict)) {
    const run::CaseResult& entry = *finding.result;
    out += fmt::format("<li><b>{}</b> <code>{}</code> {}: {}", name(entry.verdict),
                       page::html(entry.test_case->id), page::html(entry.test_case->title),
                       page::html(headline(finding)));
    if (finding.difference && finding.difference->cases.size() > 1) {
      out += page::html("; " + others_of(*finding.difference, finding.difference->cases.size()));
    }
    if (finding.rule != nullptr) {
      out += fmt::format(". Rule {} ({}): {}", page::html(finding.rule->id),
                         name(finding.rule->level), page::html(finding.rule->text));
    }
    if (!entry.failure.expected.empty() || !entry.failure.actual.empty()) {
      out += fmt::format(" Expected <code>{}</code>, actual <code>{}</code>.",
                         page::html(entry.failure.expected), page::html(entry.failure.actual));
    }
    out += "</li>\n";
  }
  return out.empty() ? "<p>Every case passed.</p>\n" : "<ul>\n" + out + "</ul>\n";
}

// --- data, scripts and what they may do ---------------------------------------------------------

ordered_json requirement_document(const scenario::Requirement& requirement) {
  return {{"id", requirement.id},
          {"level", name(requirement.level)},
          {"binds", requirement.binds},
          {"text", requirement.text},
          {"section", requirement.section},
          {"source", requirement.source},
          {"documents", requirement.documents},
          {"dialects", ordered_json(requirement.dialects)},
          {"observe", requirement.observe},
          {"untestable", requirement.untestable},
          {"open", requirement.open},
          {"outcomes", requirement.outcomes}};
}

// JSON values that stand in many places of a document, each kept once.
class SharedValues {
 public:
  // The value's place in the list.
  std::size_t place_of(const ordered_json& value) {
    const auto [known, fresh] = places_.emplace(
        value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), list_.size());
    if (fresh) list_.push_back(value);
    return known->second;
  }
  [[nodiscard]] ordered_json take() { return std::move(list_); }

 private:
  std::unordered_map<std::string, std::size_t> places_;  // by the value's text
  ordered_json list_ = ordered_json::array();
};

// A transcript as places of values: an entry is that of the list of its members' names, then that
// of each member. Topics, summaries and names are the same over and over, and a reply has the
// correlation data of its request.
ordered_json packed(const ordered_json& transcript, SharedValues& values) {
  ordered_json out = ordered_json::array();
  for (const ordered_json& entry : transcript) {
    ordered_json names = ordered_json::array();
    ordered_json places = ordered_json::array({0});
    for (const auto& [name, value] : entry.items()) {
      names.push_back(name);
      places.push_back(values.place_of(value));
    }
    places[0] = values.place_of(names);
    out.push_back(std::move(places));
  }
  return out;
}

// For a root cause that fails many cases, the page has the messages of the first ones: the others
// show the same. The JSON report has them all.
std::set<std::string> without_messages(const ordered_json& report, const ReportContext& context) {
  std::set<std::string> out;
  if (context.transcripts == Transcripts::kAll) return out;
  for (const ordered_json& found : report["differences"]) {
    const ordered_json& cases = found["cases"];
    for (std::size_t i = kMaxCasesWithMessages; i < cases.size(); ++i) out.insert(cases[i]);
  }
  return out;
}

// The report as the page has it: without what it can put together itself.
ordered_json page_report(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                         const ReportContext& context, SharedValues& values) {
  ordered_json out = report_document(result, catalogue, context);
  const std::set<std::string> left_out = without_messages(out, context);
  for (ordered_json& entry : out["cases"]) {
    if (left_out.contains(entry["id"])) entry.erase("transcript");
    if (entry.contains("transcript")) entry["transcript"] = packed(entry["transcript"], values);
    if (!context.commands.contains(entry["id"]) && !entry.contains("alone")) {
      entry.erase("reproduce");
    }
  }
  return out;
}

// What the page's scripts read.
std::string page_data(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                      const ReportContext& context) {
  ordered_json data;
  SharedValues values;
  data["report"] = page_report(result, catalogue, context, values);
  data["values"] = values.take();
  data["requirements"] = ordered_json::array();
  for (const scenario::Requirement& requirement : catalogue.all()) {
    data["requirements"].push_back(requirement_document(requirement));
  }
  // The cases of a family have the same lines: these are there once.
  data["sources"] = ordered_json::array();
  data["source_of"] = ordered_json::array();
  std::map<std::string_view, std::size_t> places;
  for (const run::CaseResult& entry : result.cases) {
    const auto [place, added] = places.emplace(entry.test_case->source, places.size());
    if (added) data["sources"].push_back(entry.test_case->source);
    data["source_of"].push_back(place->second);
  }
  return page::data_island(data);
}

}  // namespace

std::string to_html(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                    const ReportContext& context) {
  const page::PageHeader head = headline(result, catalogue, context);
  const run::Summary& summary = result.summary;
  return page::verdict_page(
      page::report_page_files(), head,
      {.product = "state store conformance report",
       .main = "results",
       .document = head.title + ": " + context.endpoint,
       .version = suite_version()},
      {{"data", page_data(result, catalogue, context)},
       {"alerts", alerts(result, context)},
       {"counts", counts(summary)},
       {"selection", selection_fact(result, context)},
       {"requirements", requirement_score(result, catalogue, context.strict)},
       {"unchecked", unchecked(result)},
       {"at_once", phases(result, catalogue)},
       {"environment", environment_facts(context)},
       {"passed", std::to_string(summary.passed)},
       {"planned", std::to_string(result.cases.size())},
       {"ran", std::to_string(cases_run(result))},
       {"skipped", std::to_string(summary.skipped)},
       {"not_run", std::to_string(summary.not_run)},
       {"endpoint", page::html(context.endpoint)},
       {"dialect", page::html(dialect_text(result))},
       {"profile", page::html(fmt::format("{}: {}", name(context.profile),
                                          basis_text(result, catalogue, context)))},
       {"started", page::html(context.started)},
       {"duration", seconds(result.duration)},
       {"seed", std::to_string(context.seed)},
       {"version", page::html(suite_version())},
       {"commit", page::html(suite_commit())},
       {"exit_code", std::to_string(static_cast<int>(exit_code(result)))},
       {"command", page::html(context.command + selection_text(context.selection))},
       {"static_list", static_list(result, catalogue, context.strict)}});
}

}  // namespace fencepost::report
