// The page of a certificate, which may be somebody else's: all of its text is escaped.

#include "report/page/certificate_page.h"

#include <vector>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "report/certificate_words.h"
#include "report/page/html_page.h"

namespace fencepost::report {
namespace {

constexpr std::size_t kMaxRules = 12;  // broken ones; more do not fit on the sheet

std::string sheet(std::string_view title, const std::string& content) {
  return fmt::format("<section class=\"sheet\"><h2>{}</h2>\n{}</section>\n", title, content);
}

std::string fact(std::string_view name, const std::string& value) {
  if (value.empty()) return {};
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, page::html(value));
}

std::string facts(const std::string& items) { return "<dl class=\"facts\">\n" + items + "</dl>\n"; }

std::string about(const Certificate& certificate) {
  const Column& column = certificate.column;
  const CertificateSubject& subject = certificate.subject;
  return sheet("What was certified",
               facts(fact("product", subject.name) + fact("version", subject.version) +
                     fact("owner", subject.owner) + fact("endpoint", column.endpoint) +
                     fact("rules", certificate.rules + (column.strict ? ", --strict" : "")) +
                     fact("dialect", column.dialect) + fact("run", column.started) +
                     fact("suite", fmt::format("fencepost {} ({})", column.suite_version,
                                               column.suite_commit)) +
                     fact("repeat", certificate.command)));
}

std::string bounds(const Certificate& certificate) {
  std::string items;
  for (const auto& [name, text] : certificate.bounds) items += fact(name, text);
  std::string counts;
  for (const auto& [word, count] : certificate.column.cases) {
    if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, word);
  }
  return sheet("What was run", facts(items + fact("verdicts", counts)));
}

std::string not_run(const Certificate& certificate) {
  std::string items;
  for (const auto& [cases, why] : certificate.not_run) {
    items += fmt::format("<li>{} {}</li>\n", text::counted(cases, "case"), page::html(why));
  }
  if (items.empty()) items = "<li>Every case ran.</li>\n";
  return sheet("What was not run, and why", "<ul class=\"plain\">\n" + items + "</ul>\n");
}

}  // namespace

std::string broken_rules_html(const Certificate& certificate,
                              const scenario::Catalogue& catalogue) {
  std::string items;
  std::size_t shown = 0;
  for (const auto& [id, finding] : certificate.column.findings) {
    if (shown++ >= kMaxRules) continue;
    const scenario::Requirement* rule = catalogue.find(id);
    items += fmt::format("<li><span class=\"id\">{}</span> {}{} ({})</li>\n", page::html(id),
                         finding.verdict == "warning" ? "(warning) " : "",
                         rule == nullptr ? "" : page::html(rule->text),
                         text::counted(finding.cases, "case"));
  }
  if (shown > kMaxRules) items += fmt::format("<li>and {} more</li>\n", shown - kMaxRules);
  if (items.empty()) return {};
  return sheet("Broken rules", "<ul class=\"plain broken-rules\">\n" + items + "</ul>\n");
}

std::string points_sheet_html(const Column& column) {
  std::string out;
  for (const auto& [id, outcomes] : column.seen) {
    out += fmt::format("<li><span class=\"id\">{}</span> {}</li>\n", page::html(id),
                       page::html(fmt::format("{}", fmt::join(outcomes, ", "))));
  }
  return sheet("Unspecified behaviour that was observed",
               out.empty() ? "<p>None.</p>\n" : "<ul class=\"points-seen\">\n" + out + "</ul>\n");
}

std::string score_text(const Certificate& certificate) {
  return fmt::format("{} of {} MUST rules met", certificate.must.kept, certificate.must.all);
}

VerdictSign sign_of(const Certificate& certificate) {
  switch (static_cast<run::ExitCode>(certificate.column.exit_code)) {
    case run::ExitCode::kConformant:
      return {"conformant", "good", "✓", "Conformant"};
    case run::ExitCode::kFailed:
      return {"failed", "bad", "✗", "Not conformant"};
    default:
      return {"open", "doubt", "?", "Inconclusive"};
  }
}

std::string certificate_html(const Certificate& certificate, const scenario::Catalogue& catalogue) {
  const VerdictSign sign = sign_of(certificate);
  const std::string subject = subject_text(certificate.subject);
  std::string worth;
  for (const std::string& sentence : worth_of(certificate)) {
    worth += fmt::format("<li>{}</li>\n", page::html(sentence));
  }
  return page::verdict_page(
      page::certificate_page_files(),
      {sign.kind, sign.sign, std::string(sign.title),
       fmt::format("{}: {}; {}", subject, score_text(certificate), certificate.rules)},
      {.product = "conformance certificate",
       .main = "certificate",
       .document = fmt::format("{}: {}", subject, sign.title),
       .version = certificate.column.suite_version},
      {{"facts", ""},
       {"differences", broken_rules_html(certificate, catalogue)},
       {"advice", fmt::format("<div class=\"sheets\">\n{}<div>\n{}{}</div></div>\n",
                              about(certificate), bounds(certificate), not_run(certificate))},
       {"cases", points_sheet_html(certificate.column) +
                     sheet("What it is worth", "<ul class=\"plain\">\n" + worth + "</ul>\n")}});
}

}  // namespace fencepost::report
