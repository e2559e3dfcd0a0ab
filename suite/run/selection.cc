#include "suite/run/selection.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/glob.h"
#include "base/text/printable.h"
#include "suite/scenario/moves_clock.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::run {
namespace {

bool any_glob(const std::vector<std::string>& globs, const std::string& id) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return glob_matches(glob, id); });
}

bool intersects(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& entry) {
    return std::find(b.begin(), b.end(), entry) != b.end();
  });
}

}  // namespace

bool is_filtered(const Selection& selection) {
  return !selection.run.empty() || !selection.skip.empty() || !selection.tags.empty() ||
         !selection.requirements.empty();
}

bool selects(const Selection& selection, const scenario::Case& test_case) {
  if (!selection.run.empty() && !any_glob(selection.run, test_case.id)) return false;
  if (any_glob(selection.skip, test_case.id)) return false;
  const std::vector<std::string> tags = scenario::tags_of(test_case);
  if (intersects(selection.skip, tags)) return false;
  if (!selection.tags.empty() && !intersects(selection.tags, tags)) return false;
  if (!selection.requirements.empty() &&
      !intersects(selection.requirements, test_case.requirements)) {
    return false;
  }
  return stable_hash(test_case.id) % selection.shards == selection.shard - 1;
}

std::vector<const scenario::Case*> select(const std::vector<scenario::Case>& cases,
                                          const Selection& selection) {
  std::vector<const scenario::Case*> out;
  for (const scenario::Case& test_case : cases) {
    if (selects(selection, test_case)) out.push_back(&test_case);
  }
  return out;
}

std::string selection_text(const Selection& selection) {
  std::string out;
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      out += fmt::format(" {} {}", option, text::shell_word(value));
    }
  };
  add("--run", selection.run);
  add("--skip", selection.skip);
  add("--tag", selection.tags);
  add("--requirement", selection.requirements);
  if (selection.shards > 1) out += fmt::format(" --shard {}/{}", selection.shard, selection.shards);
  return out;
}

std::string why_empty(const Selection& selection, const scenario::Library& library) {
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
    if (!select(library.cases, {.run = {glob}}).empty()) continue;
    std::vector<std::string_view> cases;
    for (const scenario::Case& each : library.cases) cases.push_back(each.id);
    std::string guess = scenario::nearest(glob, cases);
    const std::string below = glob + (glob.ends_with('.') ? "*" : ".*");
    if (!select(library.cases, {.run = {below}}).empty()) guess = text::shell_word(below);
    return fmt::format("{}no id matches --run {}; {}", none, glob,
                       guess.empty() ? "see fencepost list cases" : "did you mean " + guess + "?");
  }
  return none + "none matches" + selection_text(selection);
}

std::optional<Shard> parse_shard(std::string_view text) {
  Shard out;
  const char* end = text.data() + text.size();
  const auto [slash, code] = std::from_chars(text.data(), end, out.index);
  if (code != std::errc{} || slash == end || *slash != '/') return std::nullopt;
  const auto [stop, code2] = std::from_chars(slash + 1, end, out.total);
  if (code2 != std::errc{} || stop != end || out.index < 1 || out.index > out.total) {
    return std::nullopt;
  }
  return out;
}

}  // namespace fencepost::run
