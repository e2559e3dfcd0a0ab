#include "report/baseline/baseline_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "base/text/printable.h"
#include "base/text/yaml_quote.h"
#include "suite/scenario/file_kind.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::baseline {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kDifferences = "differences";
constexpr std::array kLists = {BaselineList::kFail, BaselineList::kFlaky, BaselineList::kSkip};
constexpr std::array kStatuses = {run::Verdict::kPassed, run::Verdict::kFailed,
                                  run::Verdict::kInconclusive};
constexpr std::int64_t kMaxCases = 100'000;
// Each entry is matched with each case: of a file with more, nobody would see the end.
constexpr std::size_t kMaxEntries = 20'000;
constexpr int kMaxLines = 1'000'000;   // of a list: each comment, and each blank line, is kept
constexpr std::size_t kMaxGlob = 300;  // bytes

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Views into the content.
std::vector<std::string_view> lines_of(std::string_view content) {
  std::vector<std::string_view> out;
  while (!content.empty()) {
    const std::size_t end = content.find('\n');
    out.push_back(content.substr(0, end));
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
  }
  return out;
}

// What may stand in a case id, and in a glob of them.
bool is_case_glob(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-*?[]!";
  return !text.empty() && text.size() <= kMaxGlob &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

// What a line of the file has may be megabytes.
std::string shown(const std::string& text) {
  return text::shortened(text::printable(text), kMaxGlob);
}

std::optional<Date> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t length) {
    int value = -1;
    const char* end = text.data() + at + length;
    const auto [stop, code] = std::from_chars(text.data() + at, end, value);
    return code == std::errc{} && stop == end ? value : -1;
  };
  const int year = number(0, 4);
  const int month = number(5, 2);
  const int day = number(8, 2);
  if (year < 0 || month < 0 || day < 0) return std::nullopt;
  const Date date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                  std::chrono::day{static_cast<unsigned>(day)}};
  return date.ok() ? std::optional(date) : std::nullopt;
}

// --- comments of a YAML file ------------------------------------------------------------------

// The comment behind the content of a line, with its #; empty when there is none. A # within quotes
// or within a word begins no comment.
std::string_view comment_behind(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool after_blank = i == 0 || kBlank.find(line[i - 1]) != std::string_view::npos;
    const bool opens = after_blank || std::string_view("{[,:").find(line[i - 1]) != line.npos;
    if (quote != 0) {
      const bool doubled = quote == '\'' && line.substr(i, 2) == "''";
      if (doubled || (quote == '"' && c == '\\')) {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
    } else if ((c == '"' || c == '\'') && opens) {
      quote = c;
    } else if (c == '#' && after_blank) {
      return trimmed(line.substr(i));
    }
  }
  return {};
}

// A key or an entry of the file: where it begins, and where its comments go.
struct CommentTarget {
  int line = 0;
  std::vector<std::string>* above = nullptr;
};

// Gives each comment to the target below it, one behind content to the target on its line.
void keep_comments(const std::vector<std::string_view>& lines, std::vector<CommentTarget> targets,
                   Baseline& baseline) {
  std::stable_sort(targets.begin(), targets.end(),
                   [](const CommentTarget& a, const CommentTarget& b) { return a.line < b.line; });
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    const std::string_view line = trimmed(lines[i]);
    // The first thing that begins below this line.
    const auto below = std::upper_bound(targets.begin(), targets.end(), number,
                                        [](int at, const CommentTarget& t) { return at < t.line; });
    if (line.empty() || line[0] == '#') {
      std::vector<std::string>& place = below == targets.begin() ? baseline.header
                                        : below == targets.end() ? baseline.footer
                                                                 : *below->above;
      place.emplace_back(line);
    } else if (const std::string_view comment = comment_behind(line);
               !comment.empty() && below != targets.begin()) {
      std::prev(below)->above->emplace_back(comment);
    }
  }
}

// --- YAML -------------------------------------------------------------------------------------

class BaselineLoader {
 public:
  BaselineLoader(const scenario::SourceFile& file, std::vector<scenario::LoadError>& errors)
      : file_(file), errors_(errors), reader_(file.name, errors) {}

  std::optional<Baseline> load() {
    const std::size_t before = errors_.size();
    const auto root = reader_.parse(file_.content);
    if (!root) return std::nullopt;
    static constexpr std::array<std::string_view, 6> kKeys = {"version", "sut",   "differences",
                                                              "fail",    "flaky", "skip"};
    if (!reader_.check_map(*root, "a baseline", kKeys, {"version"})) return std::nullopt;
    baseline_.file = file_.name;
    load_version(root->member("version"));
    load_sut(root->member("sut"));
    load_root_causes(root->member(kDifferences));
    for (const BaselineList list : kLists) load_list(root->member(name(list)), list);
    if (baseline_.entries.size() + baseline_.differences.size() > kMaxEntries) {
      reader_.diagnose(*root, "the file has more than 20,000 entries");
    }
    if (errors_.size() > before) return std::nullopt;
    in_order_of_the_file();
    std::vector<CommentTarget> targets;
    for (const auto& [key, value] : root->entries()) {
      targets.push_back({key.place().line, &baseline_.above[key.scalar()]});
    }
    for (BaselineEntry& entry : baseline_.entries) {
      targets.push_back({entry.position.line, &entry.above});
    }
    for (KnownRootCause& known : baseline_.differences) {
      targets.push_back({known.position.line, &known.above});
    }
    keep_comments(lines_of(file_.content), targets, baseline_);
    return std::move(baseline_);
  }

 private:
  void load_version(scenario::YamlNode node) {
    const auto version = reader_.integer(node, "version", 1, 1'000);
    if (version && *version != 1) reader_.diagnose(node, "version: this program knows version 1");
  }

  void load_sut(scenario::YamlNode node) {
    static constexpr std::array<std::string_view, 2> kKeys = {"name", "version"};
    if (!node.is_defined() || !reader_.check_map(node, "sut", kKeys)) return;
    baseline_.sut_name = text_of(node, "name");
    baseline_.sut_version = text_of(node, "version");
  }

  void load_root_causes(scenario::YamlNode node) {
    if (!node.is_defined() || node.is_null()) return;
    if (!node.is_list()) {
      reader_.diagnose(node, "differences must be a list of entries");
      return;
    }
    for (const scenario::YamlNode item : node.items()) load_root_cause(item);
  }

  void load_root_cause(scenario::YamlNode node) {
    static constexpr std::array<std::string_view, 7> kKeys = {
        "requirement", "case", "failures", "causes", "reason", "ticket", "expires"};
    if (!reader_.check_map(node, "an entry of differences", kKeys,
                           {"requirement", "case", "failures", "causes"})) {
      return;
    }
    KnownRootCause known{.requirement = text_of(node, "requirement"),
                         .case_id = text_of(node, "case")};
    known.position = reader_.position(node);
    const auto failures = reader_.integer(node.member("failures"), "failures", 1, kMaxCases);
    known.failures = static_cast<std::size_t>(failures.value_or(0));
    reader_.for_each_text(
        node.member("causes"), "causes",
        [&](const std::string& cause, scenario::YamlNode item) { load_cause(cause, item, known); });
    if (node.member("causes").is_list() && node.member("causes").items().empty()) {
      reader_.diagnose(node, "causes must have at least one entry");
    }
    const scenario::YamlNode reason = node.member("reason");
    if (reason.is_defined() && !reason.is_null()) {
      known.reason = std::string(trimmed(text_of(node, "reason")));
    }
    known.ticket = text_of(node, "ticket");
    load_expires(node.member("expires"), known.expires);
    baseline_.differences.push_back(std::move(known));
  }

  // Which entry would count that a second one has as well?
  void load_cause(const std::string& cause, scenario::YamlNode node, KnownRootCause& known) {
    check_printable(node, "causes", cause);
    if (const auto [place, added] = places_of_causes_.emplace(cause, known.position.line); added) {
      known.causes.push_back(cause);
    } else {
      reader_.diagnose(
          node, fmt::format("this is already in the entry at line {}: {}", place->second, cause));
    }
  }

  void load_list(scenario::YamlNode node, BaselineList list) {
    if (!node.is_defined() || node.is_null()) return;
    if (!node.is_list()) {
      reader_.diagnose(node, std::string(name(list)) + " must be a list of entries");
      return;
    }
    for (const scenario::YamlNode item : node.items()) load_entry(item, list);
  }

  bool check_keys(scenario::YamlNode node, BaselineList list) {
    static constexpr std::array<std::string_view, 6> kFail = {"case",   "signature", "reason",
                                                              "ticket", "expires",   "max"};
    static constexpr std::array<std::string_view, 7> kFlaky = {
        "case", "statuses", "signature", "reason", "ticket", "expires", "max"};
    static constexpr std::array<std::string_view, 5> kSkip = {"case", "reason", "ticket", "expires",
                                                              "max"};
    switch (list) {
      case BaselineList::kFail:
        return reader_.check_map(node, "an entry of fail", kFail, {"case"});
      case BaselineList::kFlaky:
        return reader_.check_map(node, "an entry of flaky", kFlaky, {"case", "statuses"});
      case BaselineList::kSkip:
        return reader_.check_map(node, "an entry of skip", kSkip, {"case"});
    }
    return false;
  }

  void load_entry(scenario::YamlNode node, BaselineList list) {
    if (!check_keys(node, list)) return;
    const scenario::YamlNode id = node.member("case");
    const auto cases = reader_.text(id, "case");
    if (!cases) return;
    if (!is_case_glob(*cases)) {
      reader_.diagnose(id,
                       "case: \"" + shown(*cases) + "\" is not a case id or a glob of case ids");
    }
    BaselineEntry entry{.list = list, .cases = *cases};
    entry.position = reader_.position(node);
    entry.signature = text_of(node, "signature");
    check_printable(node.member("signature"), "signature", entry.signature);
    const scenario::YamlNode reason = node.member("reason");
    // A missing reason fails the run, whichever way it is missing.
    if (reason.is_defined() && !reason.is_null()) {
      entry.reason = std::string(trimmed(text_of(node, "reason")));
    }
    entry.ticket = text_of(node, "ticket");
    load_expires(node.member("expires"), entry.expires);
    load_max(node.member("max"), entry);
    load_statuses(node.member("statuses"), entry);
    baseline_.entries.push_back(std::move(entry));
  }

  std::string text_of(scenario::YamlNode map, std::string_view key) {
    const scenario::YamlNode node = map.member(key);
    return node.is_defined() ? reader_.text(node, key).value_or("") : "";
  }

  void check_printable(scenario::YamlNode node, std::string_view what, const std::string& text) {
    const bool printable =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
    if (printable) return;
    reader_.diagnose(node,
                     fmt::format("{}: a {} cannot have these characters; YAML changes \\r and "
                                 "\\n in double quotes: copy it with the single quotes that "
                                 "it is printed with",
                                 what, what));
  }

  void load_expires(scenario::YamlNode node, std::optional<Date>& expires) {
    if (!node.is_defined()) return;
    const std::string text = node.is_scalar() ? node.scalar() : "";
    expires = parse_date(text);
    if (expires) return;
    reader_.diagnose(node,
                     "expires must be a day that exists, such as 2026-03-01, not \"" + text + "\"");
  }

  void load_max(scenario::YamlNode node, BaselineEntry& entry) {
    if (!node.is_defined()) return;
    const auto most = reader_.integer(node, "max", 1, kMaxCases);
    if (!most) return;
    entry.max = static_cast<std::size_t>(*most);
    if (!is_glob(entry)) {
      reader_.diagnose(node, "max is only for globs, and \"" + entry.cases + "\" is not a glob");
    }
  }

  void load_statuses(scenario::YamlNode node, BaselineEntry& entry) {
    if (!node.is_defined()) return;
    const std::size_t before = errors_.size();
    reader_.for_each_text(node, "statuses", [&](const std::string& word, scenario::YamlNode item) {
      const auto found = std::find_if(kStatuses.begin(), kStatuses.end(),
                                      [&](run::Verdict verdict) { return name(verdict) == word; });
      if (found == kStatuses.end()) {
        reader_.diagnose(item,
                         "statuses may have passed, failed and inconclusive, not \"" + word + "\"");
      } else {
        entry.statuses.insert(*found);
      }
    });
    if (node.is_list() && errors_.size() == before && entry.statuses.size() < 2) {
      reader_.diagnose(node,
                       "statuses must name at least two of passed, failed and inconclusive: a case "
                       "that always has the same verdict is not flaky");
    }
  }

  // The lists may stand in any order.
  void in_order_of_the_file() {
    std::stable_sort(baseline_.entries.begin(), baseline_.entries.end(),
                     [](const BaselineEntry& a, const BaselineEntry& b) {
                       return std::pair(a.position.line, a.position.column) <
                              std::pair(b.position.line, b.position.column);
                     });
  }

  const scenario::SourceFile& file_;
  std::vector<scenario::LoadError>& errors_;
  scenario::YamlReader reader_;
  Baseline baseline_;
  std::map<std::string, int> places_of_causes_;  // line of the entry
};

// --- lists ------------------------------------------------------------------------------------

std::optional<Baseline> load_list(const scenario::SourceFile& file,
                                  std::vector<scenario::LoadError>& errors) {
  const std::size_t before = errors.size();
  Baseline baseline = empty_baseline(file.name);
  if (const std::string_view kind = scenario::kind_of_file(file.content); !kind.empty()) {
    errors.push_back({{file.name, 1, 1}, fmt::format("this is {}, not a list of cases", kind)});
    return std::nullopt;
  }
  std::vector<std::string> loose;
  int number = 0;
  for (const std::string_view whole : lines_of(file.content)) {
    if (++number > kMaxLines) {
      errors.push_back({{file.name, number, 1}, "the file has more than 1,000,000 lines"});
      return std::nullopt;
    }
    const std::string_view line = trimmed(whole);
    if (line.empty() || line[0] == '#') {
      (baseline.entries.empty() ? baseline.header : loose).emplace_back(line);
      continue;
    }
    if (baseline.entries.size() == kMaxEntries) {
      errors.push_back({{file.name, number, 1}, "the file has more than 20,000 entries"});
      return std::nullopt;
    }
    const std::size_t hash = line.find('#');
    BaselineEntry entry{.cases = std::string(trimmed(line.substr(0, hash)))};
    if (hash != std::string_view::npos) entry.reason = std::string(trimmed(line.substr(hash + 1)));
    entry.position = {file.name, number, static_cast<int>(whole.find_first_not_of(kBlank)) + 1};
    if (!is_case_glob(entry.cases)) {
      errors.push_back(
          {entry.position, "\"" + shown(entry.cases) +
                               "\" is not a case id or a glob of case ids; the name of a "
                               "baseline in YAML ends in .yaml"});
    }
    entry.above.swap(loose);
    baseline.entries.push_back(std::move(entry));
  }
  baseline.footer = std::move(loose);
  if (errors.size() > before) return std::nullopt;
  return baseline;
}

// --- writing ----------------------------------------------------------------------------------

void append_lines(std::string& out, const std::vector<std::string>& lines, const char* indent) {
  for (const std::string& line : lines) out += line.empty() ? "\n" : indent + line + "\n";
}

// As YAML, plain only when it cannot be misread.
std::string scalar(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const bool plain = !text.empty() && text[0] != '-' && !text::is_retyped(text) &&
                     text.find_first_not_of(kPlain) == std::string::npos;
  return plain ? text : text::yaml_quoted(text);
}

void append_entry(std::string& out, const BaselineEntry& entry) {
  append_lines(out, entry.above, "  ");
  out += "  - case: " + scalar(entry.cases) + "\n";
  if (entry.max) out += fmt::format("    max: {}\n", *entry.max);
  if (!entry.statuses.empty()) {
    std::string words;
    for (const run::Verdict status : entry.statuses) {
      words += (words.empty() ? "" : ", ") + std::string(name(status));
    }
    out += "    statuses: [" + words + "]\n";
  }
  if (!entry.signature.empty()) out += "    signature: " + scalar(entry.signature) + "\n";
  out += "    reason: " + scalar(entry.reason) + "\n";
  if (!entry.ticket.empty()) out += "    ticket: " + scalar(entry.ticket) + "\n";
  if (entry.expires) out += "    expires: " + to_string(*entry.expires) + "\n";
}

void append_difference(std::string& out, const KnownRootCause& known) {
  append_lines(out, known.above, "  ");
  out += "  - requirement: " + scalar(known.requirement) + "\n";
  out += "    case: " + scalar(known.case_id) + "\n";
  out += fmt::format("    failures: {}\n", known.failures);
  out += "    causes:\n";
  for (const std::string& cause : known.causes) out += "      - " + scalar(cause) + "\n";
  out += "    reason: " + scalar(known.reason) + "\n";
  if (!known.ticket.empty()) out += "    ticket: " + scalar(known.ticket) + "\n";
  if (known.expires) out += "    expires: " + to_string(*known.expires) + "\n";
}

std::string to_list(const Baseline& baseline) {
  std::string out;
  append_lines(out, baseline.header, "");
  for (const BaselineEntry& entry : baseline.entries) {
    append_lines(out, entry.above, "");
    out += entry.cases + (entry.reason.empty() ? "" : "  # " + entry.reason) + "\n";
  }
  append_lines(out, baseline.footer, "");
  return out;
}

std::string to_yaml(const Baseline& baseline) {
  std::string out;
  append_lines(out, baseline.header, "");
  const auto append_above = [&](std::string_view key) {
    const auto found = baseline.above.find(std::string(key));
    if (found != baseline.above.end()) append_lines(out, found->second, "");
  };
  append_above("version");
  out += "version: 1\n";
  if (!baseline.sut_name.empty() || !baseline.sut_version.empty()) {
    append_above("sut");
    out += "sut:\n";
    if (!baseline.sut_name.empty()) out += "  name: " + scalar(baseline.sut_name) + "\n";
    if (!baseline.sut_version.empty()) out += "  version: " + scalar(baseline.sut_version) + "\n";
  }
  if (!baseline.differences.empty()) {
    append_above(kDifferences);
    out += std::string(kDifferences) + ":\n";
    for (const KnownRootCause& known : baseline.differences) append_difference(out, known);
  }
  for (const BaselineList list : kLists) {
    bool first = true;
    for (const BaselineEntry& entry : baseline.entries) {
      if (entry.list != list) continue;
      if (first) {
        append_above(name(list));
        out += std::string(name(list)) + ":\n";
      }
      first = false;
      append_entry(out, entry);
    }
  }
  append_lines(out, baseline.footer, "");
  return out;
}

}  // namespace

std::optional<Baseline> load_baseline(const scenario::SourceFile& file,
                                      std::vector<scenario::LoadError>& errors) {
  if (empty_baseline(file.name).text_list) return load_list(file, errors);
  return BaselineLoader(file, errors).load();
}

Baseline empty_baseline(const std::string& file) {
  return {.file = file, .text_list = !file.ends_with(".yaml") && !file.ends_with(".yml")};
}

void check_overlaps(const Baseline& baseline, const std::vector<scenario::Case>& cases,
                    std::vector<scenario::LoadError>& errors) {
  std::set<std::pair<const BaselineEntry*, const BaselineEntry*>> reported;
  const auto diagnose = [&](const BaselineEntry& first, const BaselineEntry& second,
                            const std::string& id) {
    if (!reported.emplace(&first, &second).second) return;
    errors.push_back({second.position,
                      fmt::format("{} is in {} here, and already in {} at {}: keep one of the two",
                                  id, name(second.list), name(first.list), place(first))});
  };
  for (const scenario::Case& test_case : cases) {
    const BaselineEntry* first = nullptr;
    for (const BaselineEntry& entry : baseline.entries) {
      if (!matches(entry, test_case.id)) continue;
      if (first != nullptr) diagnose(*first, entry, test_case.id);
      if (first == nullptr) first = &entry;
    }
  }
  // Twins that match no case are a mistake all the same.
  std::map<std::string, const BaselineEntry*> seen;
  for (const BaselineEntry& entry : baseline.entries) {
    const auto [twin, fresh] = seen.emplace(entry.cases, &entry);
    if (!fresh) diagnose(*twin->second, entry, entry.cases);
  }
}

std::string to_text(const Baseline& baseline) {
  return baseline.text_list ? to_list(baseline) : to_yaml(baseline);
}

}  // namespace fencepost::baseline
