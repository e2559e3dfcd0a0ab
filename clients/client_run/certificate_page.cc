// The page of a certified client: all of it is there without JavaScript.

#include "report/page/certificate_page.h"

#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "clients/client_run/certificate_words.h"
#include "clients/client_run/client_certificate.h"
#include "report/page/html_page.h"

namespace fencepost::client_run {
namespace {

constexpr std::size_t kMaxRootCauses = 400;  // beyond these, the list of cases has the rest
constexpr std::size_t kMaxOpen = 3;          // whose packets are in view

std::string plain(std::string_view text) { return page::html(text::printable(text)); }

std::string problem_html(const ClientProblem& problem) {
  // For a packet, the rule says what is expected.
  const std::string expected =
      problem.expected.empty()
          ? ""
          : fmt::format("<dt>expected</dt><dd>{}</dd>\n", plain(problem.expected));
  return fmt::format(
      "<dl class=\"differs\"><dt>step</dt><dd class=\"step\">{}</dd>\n{}<dt>seen</dt><dd "
      "class=\"actual\">{}</dd></dl>\n",
      page::html(place_of(problem)), expected, plain(problem.actual));
}

std::string lines_html(std::string_view title, const auto& lines, bool open) {
  std::string text;
  for (const std::string& line : lines) text += line_text(line) + '\n';
  if (text.empty()) return "";
  return fmt::format(
      "<details class=\"wire\"{}><summary>{}</summary>\n<pre tabindex=\"0\">{}</pre>"
      "</details>\n",
      open ? " open" : "", title, page::html(text));
}

// A failed case: the rule first, then what else is wrong in it, and all that shows it.
std::string root_cause_html(const CaseOutcome& outcome, const CertificateContext& context,
                            bool open) {
  const ClientCase& test_case = *outcome.test_case;
  const PlayResult& played = outcome.played;
  std::string out = fmt::format("<section class=\"judged bad\" id=\"case-{}\" aria-label=\"{}\">\n",
                                test_case.id, test_case.id);
  bool first = true;
  for (const ClientProblem& each : played.problems) {
    const std::string sentence = page::html(sentence_of(each, context.catalogue));
    if (first) {
      out += fmt::format(
          "<h2><span class=\"id\">{}</span> <span class=\"count\">{}</span></h2>\n"
          "<blockquote>{}</blockquote>\n<p class=\"case\">{}</p>\n",
          page::html(each.requirement), test_case.id, sentence, plain(test_case.title));
    } else {
      out += fmt::format("<p class=\"more\"><span class=\"id\">{}</span> {}</p>\n",
                         page::html(each.requirement), sentence);
    }
    out += problem_html(each);
    first = false;
  }
  out +=
      lines_html("packets: &gt; from the client, &lt; from Fencepost's broker", played.wire, open);
  out += lines_html("output of the adapter", played.reports, false);
  if (!played.last_words.empty()) {
    out += fmt::format(
        "<p class=\"label\">The end of its standard error:</p>\n<pre class=\"words\" "
        "tabindex=\"0\">{}</pre>\n",
        plain(played.last_words));
  }
  return out + fmt::format("<p class=\"again\"><code>{}</code></p>\n</section>\n",
                           page::html(again_command(outcome, context)));
}

// One case of each rule in full, and the others after it.
std::string root_causes_html(const ClientSuiteResult& result, const CertificateContext& context) {
  std::string out;
  std::size_t shown = 0;
  std::size_t opened = 0;
  for (const ClientRootCause& each : differences(result)) {
    if (shown >= kMaxRootCauses) break;
    out += root_cause_html(*each.cases.front(), context, opened++ < kMaxOpen);
    ++shown;
    if (each.cases.size() == 1) continue;
    out += fmt::format("<details class=\"others\"><summary>{} with {} first</summary>\n",
                       text::counted(each.cases.size() - 1, "other case"), page::html(each.rule));
    for (std::size_t i = 1; i < each.cases.size() && shown < kMaxRootCauses; ++i, ++shown) {
      out += root_cause_html(*each.cases[i], context, false);
    }
    out += "</details>\n";
  }
  const std::size_t failed = result.count(CaseVerdict::kFailed);
  if (shown < failed) {
    out += fmt::format("<p class=\"label\">{} of {} failed cases are shown.</p>\n", shown, failed);
  }
  return out;
}

std::string advice_html(const ClientSuiteResult& result) {
  std::string out;
  for (const auto& [rule, because] : advice_of(result)) {
    out += fmt::format(
        "<section class=\"judged doubt\" aria-label=\"{}\"><h2><span class=\"id\">{}</span> "
        "<span class=\"level should\">should</span></h2><p class=\"why\">{}</p></section>\n",
        rule, rule, page::html(because));
  }
  return out;
}

std::string row_html(const CaseOutcome& outcome) {
  const ClientCase& test_case = *outcome.test_case;
  std::string_view tone = "good";
  std::string verdict = "✓ passed";
  std::string title = plain(test_case.title);
  if (outcome.verdict == CaseVerdict::kFailed) {
    tone = "bad";
    verdict = "✗ failed";
  } else if (outcome.verdict == CaseVerdict::kSkipped) {
    tone = "quiet";
    verdict = "skipped";
    title += " <span class=\"label\">(the adapter lacks";
    for (const std::string& each : outcome.lacks) title += ' ' + page::html(each);
    title += ")</span>";
  }
  std::string id = test_case.id;
  if (outcome.verdict == CaseVerdict::kFailed)
    id = fmt::format("<a href=\"#case-{0}\">{0}</a>", id);
  return fmt::format(
      "<tr class=\"{}\"><td class=\"verdict\">{}</td><th scope=\"row\" class=\"id\">{}</th>"
      "<td class=\"title\">{}</td><td>{} ms</td></tr>\n",
      tone, verdict, id, title, outcome.played.time.count());
}

struct Area {
  std::size_t failed = 0;
  std::size_t cases = 0;
  std::string rows{};
};

std::string cases_html(const ClientSuiteResult& result) {
  std::vector<std::string> order;
  std::map<std::string, Area> areas;
  for (const CaseOutcome& each : result.outcomes) {
    const std::string& name = each.test_case->area;
    if (!areas.contains(name)) order.push_back(name);
    Area& area = areas[name];
    ++area.cases;
    if (each.verdict == CaseVerdict::kFailed) ++area.failed;
    area.rows += row_html(each);
  }
  std::string out = "<h2 id=\"p_cases\">All cases</h2>\n";
  for (const std::string& name : order) {
    const Area& area = areas[name];
    const std::string failed =
        area.failed == 0 ? "" : fmt::format(", <b class=\"bad\">{} failed</b>", area.failed);
    out += fmt::format(
        "<details class=\"area\"{}><summary>{}: {}{}</summary>\n<div class=\"table\"><table><thead>"
        "<tr><th scope=\"col\">verdict</th><th scope=\"col\">case</th><th "
        "scope=\"col\">title</th><th "
        "scope=\"col\">time</th></tr></thead>\n<tbody>\n{}</tbody></table></div>"
        "</details>\n",
        area.failed > 0 ? " open" : "", page::html(name), text::counted(area.cases, "case"), failed,
        area.rows);
  }
  return out;
}

std::string facts_html(const ClientSuiteResult& result, const CertificateContext& context) {
  std::string command;
  for (const std::string& word : context.command) command += ' ' + text::shell_word(word);
  std::string out = fmt::format("<span>adapter <b>{}</b></span> ", plain(command));
  if (const std::string selection = selection_text(context); !selection.empty()) {
    out += fmt::format("<span>selected <b>{}</b></span> ", selection);
  }
  if (result.ended_by) out += "<span>" + plain(result.ended_by->text) + "</span> ";
  for (const auto& [capability, cases] : lacking(result)) {
    out += fmt::format("<span>missing capability <b>{}</b>: {} skipped</span> ",
                       page::html(capability), text::counted(cases, "case"));
  }
  if (result.restarts > 0) {
    out += fmt::format("<span>adapter restarted <b>{}</b></span> ",
                       text::counted(result.restarts, "time"));
  }
  return "<p class=\"of\">" + out + "</p>\n";
}

page::PageHeader page_header_of(const ClientSuiteResult& result,
                                const CertificateContext& context) {
  std::string sentence = fmt::format(
      "{} with {}, {} dialect: {} passed, {} failed, {} skipped; {:.1f} s",
      text::counted(result.outcomes.size(), "case"), text::one_line(result.greeting.name),
      context.profile, result.count(CaseVerdict::kPassed), result.count(CaseVerdict::kFailed),
      result.count(CaseVerdict::kSkipped), result.seconds);
  if (result.ended_by && result.ended_by->kind == SuiteErrorKind::kAdapter) {
    return {"open", "?", "Adapter error", std::move(sentence)};
  }
  if (result.count(CaseVerdict::kFailed) > 0) {
    return {"failed", "✗", "Not conformant", std::move(sentence)};
  }
  if (result.stopped) return {"open", "?", "Stopped early", std::move(sentence)};
  if (result.count(CaseVerdict::kPassed) > 0 && !selection_text(context).empty()) {
    return {"open", "◔", "A part without a failure",
            selection_text(context) + " selected, which certifies nothing. " + sentence};
  }
  if (result.count(CaseVerdict::kPassed) > 0) {
    return {"conformant", "✓", "Conformant", std::move(sentence)};
  }
  return {"open", "?", "Nothing judged", std::move(sentence)};
}

}  // namespace

std::string html_of(const ClientSuiteResult& result, const CertificateContext& context) {
  const page::PageHeader head = page_header_of(result, context);
  return page::verdict_page(
      page::certificate_page_files(), head,
      {.product = "client certification",
       .main = "differences",
       .document = fmt::format("Client {}: {}", text::one_line(result.greeting.name), head.title)},
      {{"facts", facts_html(result, context)},
       {"differences", root_causes_html(result, context)},
       {"advice", advice_html(result)},
       {"cases", cases_html(result)}});
}

}  // namespace fencepost::client_run
