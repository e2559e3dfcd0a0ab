#include "selftest/matrix/explain.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/text/colour.h"
#include "base/text/text_wrap.h"
#include "codec/dialect.h"
#include "concurrency/history/requirements.h"

namespace fencepost::matrix {
namespace {

using enum text::Colour;
constexpr std::size_t kLabelWidth = 13;  // of the words on the left
constexpr std::size_t kFormWidth = 12;   // of the name of a dialect
constexpr std::size_t kIndent = 2;

using Outcomes = std::vector<std::string>;

std::string form(codec::Divergence divergence, const codec::Dialect& dialect) {
  switch (divergence) {
    case codec::Divergence::kSetNotApplied:
      return escape(dialect.set_not_applied);
    case codec::Divergence::kVdelMismatch:
      return escape(dialect.vdel_mismatch);
    case codec::Divergence::kDeleteOperation:
      return escape(dialect.delete_operation);
    case codec::Divergence::kLowerTokenText:
      return escape(dialect.lower_token_text);
    case codec::Divergence::kKeynotifyError:
      return escape(std::string(dialect.keynotify_error_prefix)) + "...";
  }
  return {};
}

std::string_view document_name(std::string_view id) {
  if (id == "ga") return "general availability";
  return id;
}

// Writes labels on the left and wrapped text on the right.
class Page {
 public:
  explicit Page(const ExplainOptions& options) : options_(options), paint_(options.colour) {}

  void title(const std::string& id, const std::string& rest) {
    out_ += paint_(kBold, id) + "  " + rest + "\n\n";
  }
  void paragraph(std::string_view text) { text_at(kIndent, text, ""); }
  // On one line, however wide, so that it can be copied into a shell.
  void command(std::string_view label, std::string_view text) {
    line(fmt::format("{:{}}{}: {}", "", kIndent, label, text));
  }

  // Only the first of several texts has the label.
  void item(std::string_view label, std::string_view text) {
    const std::string left = std::string(kIndent, ' ') + text::padded(label, kLabelWidth);
    text_at(text::columns(left), text, left);
  }

  // A name of `name_width` columns and a text, both on the right.
  void entry(std::string_view label, std::string_view entry_name, std::size_t name_width,
             std::string_view text) {
    const std::string left = std::string(kIndent, ' ') + text::padded(label, kLabelWidth) +
                             text::padded(entry_name, name_width) + "  ";
    text_at(text::columns(left), text, left);
  }

  void line(std::string_view text = "") { out_ += std::string(text) + "\n"; }
  void dim(std::string_view text) { out_ += paint_(kDim, std::string(text)) + "\n"; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void text_at(std::size_t indent, std::string_view text, const std::string& left) {
    out_ += left.empty() ? std::string(indent, ' ') : left;
    out_ += text::wrap(text, {.width = options_.width, .indent = indent, .first = indent}) + "\n";
  }
  const ExplainOptions& options_;
  text::Paint paint_;
  std::string out_;
};

std::vector<const scenario::Case*> cases_of(const scenario::Library& library,
                                            const std::string& requirement) {
  std::vector<const scenario::Case*> out;
  for (const scenario::Case& test_case : library.cases) {
    const auto& ids = test_case.requirements;
    if (std::find(ids.begin(), ids.end(), requirement) != ids.end()) out.push_back(&test_case);
  }
  return out;
}

// The divergences that all of these cases depend on.
std::set<codec::Divergence> shared_divergences(const std::vector<const scenario::Case*>& cases) {
  std::set<codec::Divergence> out;
  if (cases.empty()) return out;
  for (const codec::Divergence divergence : cases.front()->divergences) {
    const bool shared =
        std::all_of(cases.begin(), cases.end(), [&](const scenario::Case* test_case) {
          return test_case->divergences.contains(divergence);
        });
    if (shared) out.insert(divergence);
  }
  return out;
}

void add_divergences(Page& page, const std::set<codec::Divergence>& divergences) {
  std::string label = "divergence";
  for (const codec::Divergence divergence : divergences) {
    page.item(std::exchange(label, ""), codec::name(divergence));
    for (const codec::DialectId id : codec::kDialects) {
      const codec::Dialect& dialect = codec::dialect(id);
      page.entry("", "  " + std::string(dialect.name), kFormWidth, form(divergence, dialect));
    }
  }
}

// The public article whose sections the catalogue names.
constexpr std::string_view kArticle =
    "https://learn.microsoft.com/azure/iot-operations/develop-edge-apps/"
    "reference-state-store-protocol";

std::string place_of(const scenario::Requirement& requirement) {
  if (requirement.documents.empty()) {
    return requirement.section + "; in no edition of the article: observed in the deployed service";
  }
  std::string list;
  for (const std::string& document : requirement.documents) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", document_name(document));
  }
  return fmt::format("{} ({})", requirement.section, list);
}

std::string position_text(const scenario::Position& position) {
  return fmt::format("{}:{}", position.file, position.line);
}

void add_outcomes(Page& page, const scenario::Requirement& requirement) {
  if (!requirement.open) return;
  const bool seen = requirement.untestable.empty();
  page.item("open",
            seen ? "The documents leave this unspecified. Each of these passes, and a run reports "
                   "which it saw:"
                 : "The documents leave this unspecified. Each of these conforms:");
  for (const std::string& outcome : requirement.outcomes) page.item("", "- " + outcome);
}

// Of a member of a family: what all its members have, without the values in which they differ.
std::string_view family_title(const scenario::Case& member) {
  return std::string_view(member.title).substr(0, member.title.rfind(" ("));
}

void add_cases(Page& page, const scenario::Requirement& requirement,
               const std::vector<const scenario::Case*>& cases) {
  page.line();
  if (cases.empty()) {
    if (requirement.untestable.empty()) page.paragraph("no case checks it");
    return;
  }
  page.paragraph("checked by " + text::counted(cases.size(), "case"));
  // The members of a family as one.
  for (auto at = cases.begin(); at != cases.end();) {
    const scenario::Case& first = **at;
    const auto end = std::find_if(at + 1, cases.end(), [&](const scenario::Case* each) {
      return first.family.empty() || each->family != first.family;
    });
    const bool many = end - at > 1;
    page.line(many ? fmt::format("    {}.*  ({} cases)", first.family, end - at)
                   : "    " + first.id);
    page.dim(fmt::format("      {}", many ? family_title(first) : first.title));
    at = end;
  }
}

// Open requirement -> the outcomes that the steps of a case name for it.
void collect_outcomes(const scenario::Case& test_case, const scenario::RequestStep& request,
                      std::vector<std::pair<std::string, Outcomes>>& out) {
  if (!request.expect.open) return;
  const std::string& id =
      request.expect.cites.empty() ? test_case.requirements.front() : request.expect.cites;
  auto found =
      std::find_if(out.begin(), out.end(), [&](const auto& entry) { return entry.first == id; });
  if (found == out.end()) found = out.insert(out.end(), {id, {}});
  for (const scenario::Outcome& outcome : request.expect.outcomes) {
    if (outcome.name.empty()) continue;
    Outcomes& names = found->second;
    if (std::find(names.begin(), names.end(), outcome.name) == names.end()) {
      names.push_back(outcome.name);
    }
  }
}

std::vector<std::pair<std::string, Outcomes>> outcomes_of(const scenario::Case& test_case) {
  std::vector<std::pair<std::string, Outcomes>> out;
  for (const scenario::Step& step : test_case.steps) {
    if (const auto* request = std::get_if<scenario::RequestStep>(&step.what)) {
      collect_outcomes(test_case, *request, out);
    }
    if (const auto* pipeline = std::get_if<scenario::PipelineStep>(&step.what)) {
      for (const scenario::RequestStep& request : pipeline->requests) {
        collect_outcomes(test_case, request, out);
      }
    }
  }
  return out;
}

void add_rules(Page& page, const scenario::Case& test_case, const scenario::Catalogue& catalogue) {
  std::size_t width = 0;
  for (const std::string& id : test_case.requirements) width = std::max(width, text::columns(id));
  std::string label = "checks";
  for (const std::string& id : test_case.requirements) {
    const scenario::Requirement* requirement = catalogue.find(id);
    const std::string text =
        requirement == nullptr
            ? std::string("not in the catalogue")
            : fmt::format("({}) {}", name(requirement->level), requirement->text);
    page.entry(std::exchange(label, ""), id, width, text);
  }
}

// The lines of the case, moved to the left as far as they go.
void add_source(Page& page, const scenario::Case& test_case) {
  if (test_case.source.empty()) return;
  std::vector<std::string_view> lines;
  std::string_view rest = test_case.source;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  // A case begins behind the dash of its list entry, so its other lines tell the indentation.
  std::size_t indent = std::string_view::npos;
  for (const std::string_view text : lines) {
    const std::size_t blanks = text.find_first_not_of(' ');
    if (blanks != std::string_view::npos) indent = std::min(indent, blanks);
  }
  page.line();
  page.paragraph(fmt::format("source, {}", position_text(test_case.position)));
  for (const std::string_view text : lines) {
    page.dim(text.size() <= indent ? "" : fmt::format("    {}", text.substr(indent)));
  }
}

}  // namespace

std::string explain_requirement(const scenario::Requirement& requirement,
                                const scenario::Library& library, const ExplainOptions& options) {
  const std::vector<const scenario::Case*> cases = cases_of(library, requirement.id);
  Page page(options);
  page.title(requirement.id,
             fmt::format("{}, applies to the {}", name(requirement.level), requirement.binds));
  page.paragraph(requirement.text);
  page.line();
  page.item("section", place_of(requirement));
  if (!requirement.documents.empty()) page.item("article", std::string(kArticle));
  std::string label = "dialects";
  for (const codec::DialectId id : codec::kDialects) {
    const auto text = requirement.dialects.find(std::string(codec::dialect(id).name));
    if (text == requirement.dialects.end()) continue;
    page.entry(std::exchange(label, ""), text->first, kFormWidth, text->second);
  }
  if (!requirement.dialects.empty()) add_divergences(page, shared_divergences(cases));
  if (!requirement.observe.empty()) page.item("observed by", requirement.observe);
  if (!requirement.of_clients.empty()) page.item("clients", requirement.of_clients);
  if (!requirement.untestable.empty()) {
    page.item(requirement.of_clients.empty() ? "untestable" : "no case", requirement.untestable);
  }
  add_outcomes(page, requirement);
  page.item("defined at", position_text(requirement.position));
  add_cases(page, requirement, cases);
  if (history::is_judged_by_histories(requirement.id)) {
    page.paragraph("also checked with concurrent clients: fencepost stress");
  }
  if (!requirement.of_clients.empty()) {
    page.paragraph("clients are checked for it: fencepost serve --judge-clients");
  }
  if (!cases.empty()) {
    page.line();
    page.command("run them with", options.certify + " --requirement " + requirement.id);
  }
  return page.take();
}

std::string explain_case(const scenario::Case& test_case, const scenario::Library& library,
                         const ExplainOptions& options) {
  Page page(options);
  page.title(test_case.id, fmt::format("{}, area {}", name(library.catalogue.level_of(test_case)),
                                       test_case.area));
  page.paragraph(test_case.title);
  page.line();
  add_rules(page, test_case, library.catalogue);
  add_divergences(page, test_case.divergences);
  for (const auto& [id, names] : outcomes_of(test_case)) {
    page.item("open", fmt::format("{}: passes with any of {}", id, fmt::join(names, ", ")));
  }
  for (const scenario::AxisBinding& binding : test_case.axes) {
    page.item(&binding == &test_case.axes.front() ? "member" : "",
              binding.axis + ": " + binding.value);
  }
  if (!test_case.requires_.empty()) {
    page.item("needs", fmt::format("{}", fmt::join(test_case.requires_, ", ")));
  }
  if (test_case.exclusive) page.item("alone", "runs while no other case is running");
  if (!test_case.tags.empty())
    page.item("tags", fmt::format("{}", fmt::join(test_case.tags, ", ")));
  add_source(page, test_case);
  page.line();
  page.command("run it with", options.certify + " --run " + test_case.id + " --trace");
  return page.take();
}

}  // namespace fencepost::matrix
