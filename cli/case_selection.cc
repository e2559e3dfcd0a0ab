#include "cli/case_selection.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/glob.h"
#include "base/json_reader.h"
#include "cli/command_support.h"
#include "conformance/report/report.h"
#include "conformance/scenario/moves_clock.h"
#include "conformance/scenario/yaml_reader.h"
#include "conformance/text/text_wrap.h"

namespace fencepost::cli {
namespace {

// Empty where there is none, or where it is no text: the file may be anybody's.
std::string text_member(const nlohmann::json& entry, const char* name) {
  if (!entry.is_object()) return {};
  const auto member = entry.find(name);
  return member != entry.end() && member->is_string() ? member->get<std::string>() : std::string();
}

}  // namespace

bool parse_shard(const std::string& text, run::Selection& selection) {
  if (text.empty()) return true;
  const char* end = text.data() + text.size();
  const auto [slash, code] = std::from_chars(text.data(), end, selection.shard);
  if (code != std::errc{} || slash == end || *slash != '/') return false;
  const auto [stop, code2] = std::from_chars(slash + 1, end, selection.shards);
  return code2 == std::errc{} && stop == end && selection.shard >= 1 &&
         selection.shard <= selection.shards;
}

bool select_last_failed(const std::string& path, run::Selection& selection) {
  const auto file = scenario::read_file(path);
  if (!file) {
    complain("--last-failed " + file.error());
    return false;
  }
  if (has_too_many_values(file->content)) {
    complain("--last-failed " + path + ": " + kTooManyValues);
    return false;
  }
  const auto document = nlohmann::json::parse(file->content, nullptr, false);
  const auto cases = document.is_object() ? document.find("cases") : document.end();
  if (cases == document.end() || !cases->is_array()) {
    complain("--last-failed " + path + ": this is no JSON report of certify");
    return false;
  }
  std::vector<std::string> ids;
  for (const nlohmann::json& entry : *cases) {
    const std::string verdict = text_member(entry, "verdict");
    if (verdict != "failed" && verdict != "inconclusive") continue;
    std::string id = text_member(entry, "id");
    const bool wanted =
        selection.run.empty() ||
        std::any_of(selection.run.begin(), selection.run.end(),
                    [&](const std::string& glob) { return glob_matches(glob, id); });
    if (wanted) ids.push_back(std::move(id));
  }
  if (ids.empty()) complain("--last-failed " + path + ": nothing failed there");
  selection.run = std::move(ids);
  return true;
}

std::string why_empty(const run::Selection& selection, const scenario::Library& library) {
  const std::size_t all = library.cases.size();
  const std::string none = fmt::format("no case selected; there are {}: ", all);
  std::set<std::string> tags;
  for (const scenario::Case& each : library.cases) {
    for (std::string& tag : scenario::tags_of(each)) tags.insert(std::move(tag));
  }
  for (const std::string& tag : selection.tags) {
    if (tags.contains(tag)) continue;
    return fmt::format("{}none has the tag {}; the tags are {}", none, tag, fmt::join(tags, ", "));
  }
  std::vector<std::string_view> ids;
  for (const scenario::Requirement& rule : library.catalogue.all()) ids.push_back(rule.id);
  for (const std::string& id : selection.requirements) {
    if (library.catalogue.find(id) != nullptr) continue;
    const std::string guess = scenario::nearest(id, ids);
    return fmt::format("{}there is no requirement {}{}", none, id,
                       guess.empty() ? "" : "; did you mean " + guess + "?");
  }
  for (const std::string& glob : selection.run) {
    if (!run::select(library.cases, {.run = {glob}}).empty()) continue;
    return fmt::format("{}no id matches --run {}; see fencepost list cases", none, glob);
  }
  return none + "none matches" + report::selection_text(selection);
}

run::ExitCode dry_run(const std::vector<const scenario::Case*>& cases,
                      const scenario::Library& library) {
  for (const scenario::Case* test_case : cases) fmt::print("{}\n", test_case->id);
  fmt::print("{} of {} would run; nothing was sent\n", text::counted(cases.size(), "case"),
             library.cases.size());
  return run::ExitCode::kConformant;
}

}  // namespace fencepost::cli
