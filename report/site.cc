// The certificates of a site may be anybody's: all of their text is escaped, and no path has any.

#include "report/site.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "report/certificate_words.h"
#include "report/page/certificate_page.h"
#include "report/page/html_page.h"

namespace fencepost::report {
namespace {

constexpr std::size_t kMaxSlug = 60;
constexpr std::string_view kOtherRules = "Other rules";  // that this suite does not know

// Its certificates, the latest first.
struct Implementation {
  std::string slug{};
  std::vector<SiteCertificate> history{};
  std::vector<std::string> files{};  // of each certificate, without its ending

  [[nodiscard]] const Certificate& latest() const { return history.front().certificate; }
  [[nodiscard]] const std::string& name() const { return latest().subject.name; }
  [[nodiscard]] std::string page() const { return "store-" + slug + ".html"; }
};

// "Example broker" -> "example-broker".
std::string slug_of(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool upper = c >= 'A' && c <= 'Z';
    if (kept || upper) {
      out += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
    if (out.size() == kMaxSlug) break;
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "unnamed" : out;
}

// By name; a certificate that is given twice counts once.
std::vector<Implementation> implementations(std::vector<SiteCertificate> all) {
  std::map<std::string, Implementation> by_name;
  std::set<std::string> seen;
  for (SiteCertificate& each : all) {
    if (!seen.insert(each.json).second) continue;
    by_name[each.certificate.subject.name].history.push_back(std::move(each));
  }
  std::vector<Implementation> out;
  std::set<std::string> slugs;
  for (auto& [name, one] : by_name) {
    std::stable_sort(one.history.begin(), one.history.end(), [](const auto& a, const auto& b) {
      return a.certificate.column.started > b.certificate.column.started;
    });
    const std::string slug = slug_of(name);
    one.slug = slug;
    for (std::size_t i = 2; !slugs.insert(one.slug).second; ++i) {
      one.slug = fmt::format("{}-{}", slug, i);
    }
    for (std::size_t i = one.history.size(); i > 0; --i) {
      one.files.push_back(fmt::format("certificates/{}-{}", one.slug, i));
    }
    out.push_back(std::move(one));
  }
  return out;
}

// --- parts of pages -----------------------------------------------------------------------------

std::string link(const std::string& target, const std::string& text) {
  return fmt::format("<a href=\"{}\">{}</a>", target, page::html(text));
}

std::string long_text(const std::string& text) {
  return "<div class=\"long\">" + page::html(text) + "</div>";
}

// The same picture in pages and in badges/, which others show.
std::string badge_svg(const Certificate& certificate) {
  constexpr std::size_t kColumn = 7;  // pixels of a character
  constexpr std::size_t kMargin = 12;
  const VerdictSign sign = sign_of(certificate);
  const char* colour = sign.tone == "good" ? "#0b6636" : sign.tone == "bad" ? "#b01e17" : "#7d5100";
  const std::string label = "state store";
  const std::string message = fmt::format("{}, {}/{} MUST", verdict_word(certificate),
                                          certificate.must.kept, certificate.must.all);
  const std::size_t left = label.size() * kColumn + kMargin;
  const std::size_t right = message.size() * kColumn + kMargin;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"20\" viewBox=\"0 0 {0} "
      "20\" role=\"img\" aria-label=\"{1}: {2}\"><rect width=\"{3}\" height=\"20\" "
      "fill=\"#3b424b\"/><rect x=\"{3}\" width=\"{4}\" height=\"20\" fill=\"{5}\"/>"
      "<g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">"
      "<text x=\"6\" y=\"14\" textLength=\"{6}\">{1}</text>"
      "<text x=\"{7}\" y=\"14\" textLength=\"{8}\">{2}</text></g></svg>",
      left + right, label, message, left, right, colour, left - kMargin, left + kMargin / 2,
      right - kMargin);
}

std::string verdict_html(const Certificate& certificate) {
  const VerdictSign sign = sign_of(certificate);
  return fmt::format(
      "<span class=\"badge {}\"><span class=\"sign\" aria-hidden=\"true\">{}</span> "
      "{}</span>",
      sign.tone, sign.sign, sign.title);
}

// The first cell of each row is its head.
std::string table(std::string_view label, const std::vector<std::string>& heads,
                  const std::vector<std::vector<std::string>>& rows) {
  std::string out = fmt::format(
      "<div class=\"table site-table\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>"
      "<thead><tr>",
      label);
  for (const std::string& head : heads) out += "<th scope=\"col\">" + head + "</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? "<th scope=\"row\">" + row[i] + "</th>" : "<td>" + row[i] + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string section(std::string_view title, const std::string& content) {
  return fmt::format("<section class=\"part-of-site\"><h2>{}</h2>\n{}</section>\n", title, content);
}

std::string site_page(const page::PageHeader& head, const std::string& document,
                      const std::string& content) {
  return page::verdict_page(
      page::certificate_page_files(), head,
      {.product = "conformance results",
       .main = "results",
       .document = document,
       .version = suite_version()},
      {{"facts", kSiteLinks}, {"differences", content}, {"advice", ""}, {"cases", ""}});
}

// --- index.html ---------------------------------------------------------------------------------

std::string implementations_table(const std::vector<Implementation>& all) {
  std::vector<std::vector<std::string>> rows;
  for (const Implementation& one : all) {
    const Certificate& latest = one.latest();
    rows.push_back({link(one.page(), one.name()), badge_svg(latest),
                    page::html(latest.subject.version), page::html(latest.subject.owner),
                    page::html(latest.column.started), long_text(latest.rules)});
  }
  return table("Implementations", {"Implementation", "Result", "Version", "Owner", "Run", "Rules"},
               rows);
}

struct GroupCount {
  std::size_t kept = 0;
  std::size_t all = 0;
  bool broken = false;
};

// Of the rules that can be broken and that the run is about.
std::map<std::string, GroupCount> groups_of(const Column& column,
                                            const scenario::Catalogue& catalogue) {
  std::map<std::string, GroupCount> out;
  for (const auto& [id, state] : column.states) {
    const scenario::Requirement* rule = catalogue.find(id);
    if (rule != nullptr && !can_be_broken(*rule)) continue;
    GroupCount& group = out[rule == nullptr ? std::string(kOtherRules) : rule->section];
    ++group.all;
    if (state == "passed") ++group.kept;
    if (state == "broken") group.broken = true;
  }
  return out;
}

std::string group_cell(const std::map<std::string, GroupCount>& groups, const std::string& title) {
  const auto found = groups.find(title);
  if (found == groups.end()) return "<span class=\"quiet badge\">–</span>";
  const GroupCount& group = found->second;
  const bool all = group.kept == group.all;
  return fmt::format(
      "<span class=\"badge {}\"><span class=\"sign\" aria-hidden=\"true\">{}</span> {}/{}</span>",
      group.broken ? "bad"
      : all        ? "good"
                   : "doubt",
      group.broken ? "✗"
      : all        ? "✓"
                   : "◔",
      group.kept, group.all);
}

std::string groups_table(const std::vector<Implementation>& all,
                         const scenario::Catalogue& catalogue) {
  std::vector<std::map<std::string, GroupCount>> columns;
  std::vector<std::string> heads{"Rules"};
  for (const Implementation& one : all) {
    columns.push_back(groups_of(one.latest().column, catalogue));
    heads.push_back(link(one.page(), one.name()));
  }
  std::vector<std::string> titles;
  for (const scenario::Section& each : catalogue.sections()) titles.push_back(each.title);
  titles.emplace_back(kOtherRules);
  std::vector<std::vector<std::string>> rows;
  for (const std::string& title : titles) {
    std::vector<std::string> row{page::html(title)};
    bool any = false;
    for (const auto& column : columns) {
      any = any || column.contains(title);
      row.push_back(group_cell(column, title));
    }
    if (any) rows.push_back(std::move(row));
  }
  return table("Rules by implementation", heads, rows);
}

std::string index_page(const std::vector<Implementation>& all,
                       const scenario::Catalogue& catalogue) {
  const auto conformant = std::count_if(all.begin(), all.end(), [](const Implementation& one) {
    return one.latest().column.exit_code == 0;
  });
  const std::string title = text::counted(all.size(), "implementation");
  return site_page(
      {"list", "▦", title,
       fmt::format("{} of them conformant in the latest run. The verdicts are those of the "
                   "certificates; `fencepost verify` says what one is worth.",
                   conformant)},
      "State store conformance: " + title,
      section("Implementations", implementations_table(all)) +
          section("Rules",
                  "<p class=\"hint\">Headings of the article, and how many of their rules the "
                  "latest run has shown to be kept. ✗: a rule is broken; ◔: some were not "
                  "checked. " +
                      link("rules.html", "Each rule") + ".</p>\n" + groups_table(all, catalogue)));
}

// --- store-NAME.html ----------------------------------------------------------------------------

std::set<std::string> broken_in(const Certificate& certificate) {
  std::set<std::string> out;
  for (const auto& [id, finding] : certificate.column.findings) {
    if (finding.verdict == "failed") out.insert(id);
  }
  return out;
}

// What is otherwise than in the run before: rules, and unspecified behaviour.
std::string changes_text(const Certificate& now, const Certificate& before) {
  std::vector<std::string> parts;
  const auto add = [&](const char* word, const std::set<std::string>& from,
                       const std::set<std::string>& without) {
    std::vector<std::string> ids;
    std::set_difference(from.begin(), from.end(), without.begin(), without.end(),
                        std::back_inserter(ids));
    if (!ids.empty()) parts.push_back(fmt::format("{}: {}", word, fmt::join(ids, ", ")));
  };
  add("newly broken", broken_in(now), broken_in(before));
  add("no longer broken", broken_in(before), broken_in(now));
  std::vector<std::string> otherwise;
  for (const auto& [id, outcomes] : now.column.seen) {
    const auto then = before.column.seen.find(id);
    if (then != before.column.seen.end() && then->second != outcomes) otherwise.push_back(id);
  }
  if (!otherwise.empty()) {
    parts.push_back(fmt::format("other choices: {}", fmt::join(otherwise, ", ")));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, "; "));
}

std::string history_table(const Implementation& one) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < one.history.size(); ++i) {
    const Certificate& each = one.history[i].certificate;
    const bool first = i + 1 == one.history.size();
    const std::string& file = one.files[i];
    std::string links = link(file + ".html", "page") + " " + link(file + ".json", "JSON");
    if (!one.history[i].signature.empty()) links += " " + link(file + ".json.sig", "signature");
    rows.push_back(
        {"<span class=\"short\">" + page::html(each.column.started) + "</span>",
         page::html(each.subject.version), verdict_html(each),
         fmt::format("{}/{}", each.must.kept, each.must.all),
         long_text(first ? "first run" : changes_text(each, one.history[i + 1].certificate)), links,
         page::html(each.column.suite_version), long_text(each.rules)});
  }
  return table("History",
               {"Run", "Version", "Verdict", "MUST", "Changes since the run before", "Certificate",
                "Fencepost", "Rules"},
               rows);
}

std::string store_page(const Implementation& one, const scenario::Catalogue& catalogue) {
  const Certificate& latest = one.latest();
  const VerdictSign sign = sign_of(latest);
  const std::string subject = subject_text(latest.subject);
  return site_page(
      {sign.kind, sign.sign, subject,
       fmt::format("{}: {}; {}", sign.title, score_text(latest), latest.rules)},
      subject,
      section("History", history_table(one)) + broken_rules_html(latest, catalogue) +
          points_sheet_html(latest.column) +
          section("Badge", "<p>" + badge_svg(latest) + " " +
                               link("badges/" + one.slug + ".svg", "as a file") + "</p>\n"));
}

}  // namespace

std::vector<SiteFile> site_of(std::vector<SiteCertificate> all,
                              const scenario::Catalogue& catalogue) {
  const std::vector<Implementation> found = implementations(std::move(all));
  std::vector<SiteFile> out{{"index.html", index_page(found, catalogue)}};
  std::vector<Column> columns;
  for (const Implementation& one : found) {
    columns.push_back(one.latest().column);
    out.push_back({one.page(), store_page(one, catalogue)});
    out.push_back({"badges/" + one.slug + ".svg", badge_svg(one.latest()) + "\n"});
    for (std::size_t i = 0; i < one.history.size(); ++i) {
      const SiteCertificate& each = one.history[i];
      out.push_back({one.files[i] + ".json", each.json});
      out.push_back({one.files[i] + ".html", certificate_html(each.certificate, catalogue)});
      if (!each.signature.empty()) out.push_back({one.files[i] + ".json.sig", each.signature});
    }
  }
  out.push_back({"rules.html", side_by_side_html(side_by_side(std::move(columns), catalogue),
                                                 catalogue, kSiteLinks)});
  return out;
}

}  // namespace fencepost::report
