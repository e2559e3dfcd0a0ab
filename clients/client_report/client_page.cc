// The page of judged clients: all of it is there without JavaScript.

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "clients/client_report/client_report.h"
#include "clients/client_report/finding_text.h"
#include "report/page/clients_page.h"
#include "report/page/html_page.h"

namespace fencepost::client_report {
namespace {

using clients::Finding;
using clients::Rule;

constexpr std::size_t kMaxOnPage = 1'000;
constexpr std::size_t kMaxShownBytes = 512;
constexpr std::size_t kRow = 16;

std::string plain(std::string_view text) { return page::html(text::printable(text)); }

// "0000  2a 31 0d 0a ...  *1..": sixteen bytes a line.
std::string hex_view(std::string_view bytes) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += kRow) {
    const std::string_view row = bytes.substr(at, kRow);
    std::string hex;
    std::string letters;
    for (const char c : row) {
      hex += fmt::format("{:02x} ", static_cast<unsigned char>(c));
      letters += c >= ' ' && c <= '~' ? c : '.';
    }
    out += fmt::format("{:04x}  {:<48} {}\n", at, hex, letters);
  }
  return page::html(out);
}

std::string packet_html(const Finding& finding, bool open) {
  if (finding.packet.empty())
    return "<p class=\"label\">It concerns packets that were not sent.</p>\n";
  const std::string_view shown = std::string_view(finding.packet).substr(0, kMaxShownBytes);
  std::string label = fmt::format("{} of {} bytes", packet_name(finding), finding.packet_bytes);
  if (shown.size() < finding.packet_bytes) label += fmt::format(", the first {}", shown.size());
  return fmt::format("<details{}><summary>{}</summary>\n<pre tabindex=\"0\">{}</pre></details>\n",
                     open ? " open" : "", label, hex_view(shown));
}

// The bytes of the first finding of a rule are visible.
std::string finding_html(const Finding& finding, bool first) {
  return fmt::format(
      "<li class=\"seen\"><p class=\"why\">{}</p>\n<p class=\"who\"><span>client "
      "<b>{}</b></span> <span>connection {}</span> <time>{}</time></p>\n{}</li>\n",
      plain(finding.because), page::html(client_of(finding)), finding.connection,
      time_text(finding.at), packet_html(finding, first));
}

std::string rule_html(const Rule& rule, std::size_t times, const std::string& findings,
                      std::size_t shown) {
  const bool must = rule.level == clients::RuleLevel::kMust;
  std::string out = fmt::format(
      "<section class=\"judged {}\" aria-label=\"{}\">\n<h2><span class=\"id\">{}</span> "
      "<span class=\"level {}\">{}</span> <span class=\"count\">{}</span></h2>\n"
      "<blockquote>{}</blockquote>\n<ul>\n{}</ul>\n",
      must ? "bad" : "doubt", rule.id, rule.id, level_name(rule), level_name(rule),
      text::counted(times, "finding"), page::html(sentence_of(rule)), findings);
  if (shown < times) {
    out += fmt::format("<p class=\"label\">{} shown.</p>\n", shown);
  }
  return out + "</section>\n";
}

// The rules that are broken, those of level must first, each with its findings.
std::string findings_html(const JudgedClients& judged) {
  std::map<std::string_view, std::pair<std::string, std::size_t>> of_rules;
  std::size_t shown = 0;
  for (const Finding& finding : judged.findings) {
    if (++shown > kMaxOnPage) break;
    auto& [text, count] = of_rules[finding.rule->id];
    text += finding_html(finding, count == 0);
    ++count;
  }
  std::string out;
  for (const clients::RuleLevel level : {clients::RuleLevel::kMust, clients::RuleLevel::kShould}) {
    for (const Rule& rule : clients::rules()) {
      const std::size_t count = times(judged.tally, rule);
      if (rule.level != level || count == 0) continue;
      const auto& [text, on_page] = of_rules[rule.id];
      out += rule_html(rule, count, text, on_page);
    }
  }
  return out;
}

std::string kept_html(const JudgedClients& judged) {
  std::string rows;
  std::size_t count = 0;
  for (const Rule& rule : clients::rules()) {
    if (times(judged.tally, rule) > 0) continue;
    ++count;
    rows += fmt::format("<tr><th scope=\"row\" class=\"id\">{}</th><td>{}</td><td>{}</td></tr>\n",
                        rule.id, level_name(rule), page::html(sentence_of(rule)));
  }
  return fmt::format(
      "<details class=\"kept\"><summary>{} that no client breaks</summary>\n<div class=\"table\">"
      "<table><thead><tr><th scope=\"col\">rule</th><th scope=\"col\">level</th><th "
      "scope=\"col\">requirement</th></tr></thead>\n<tbody>\n{}</tbody></table></div>"
      "</details>\n",
      text::counted(count, "rule"), rows);
}

// What a conforming client may do, too.
std::string undecided_html(const clients::Tally& tally) {
  if (tally.undecided.empty()) return {};
  std::string rows;
  for (const auto& [id, doubt] : tally.undecided) {
    rows += fmt::format("<tr><th scope=\"row\" class=\"id\">{}</th><td>{}</td><td>{}</td></tr>\n",
                        id, doubt.times, plain(doubt.because));
  }
  return fmt::format(
      "<details class=\"kept\"><summary>{} undecided: a conforming client may do the "
      "same</summary>\n<div class=\"table\"><table><thead><tr><th scope=\"col\">rule</th><th "
      "scope=\"col\">times</th><th scope=\"col\">first occurrence</th></tr></thead>\n<tbody>\n{}"
      "</tbody></table></div></details>\n",
      text::counted(tally.undecided.size(), "rule"), rows);
}

std::string facts_html(const JudgedClients& judged) {
  std::string out;
  if (judged.tally.not_judged > 0) {
    out += fmt::format("<span>judged only in part <b>{}</b></span> ",
                       text::counted(judged.tally.not_judged, "connection"));
  }
  for (const CommandEnd& end : judged.commands) {
    out += fmt::format("<span>command <b>{}</b></span> <span>its exit code <b>{}</b></span> ",
                       page::html(command_text(end)), end.exit_code);
  }
  return out.empty() ? out : "<p class=\"of\">" + out + "</p>\n";
}

page::PageHeader page_header_of(const clients::Tally& tally) {
  std::string sentence =
      fmt::format("{} of {} over {}, judged by {} rules", text::counted(tally.requests, "request"),
                  text::counted(tally.clients, "client"),
                  text::counted(tally.connections, "connection"), clients::rules().size());
  switch (verdict_of(tally)) {
    case ClientVerdict::kConformant:
      return {"conformant", "✓", "No rule broken", std::move(sentence)};
    case ClientVerdict::kBroken:
      return {"failed", "✗", "Not conformant", std::move(sentence)};
    case ClientVerdict::kNothingJudged:
      break;
  }
  return {"open", "?", "Nothing judged", std::move(sentence)};
}

}  // namespace

std::string html_of(const JudgedClients& judged) {
  const page::PageHeader head = page_header_of(judged.tally);
  return page::verdict_page(page::clients_page_files(), head,
                            {.product = "clients, judged by what they send",
                             .main = "findings",
                             .document = "Clients: " + head.title},
                            {{"facts", facts_html(judged)},
                             {"findings", findings_html(judged) + undecided_html(judged.tally)},
                             {"kept", kept_html(judged)}});
}

}  // namespace fencepost::client_report
