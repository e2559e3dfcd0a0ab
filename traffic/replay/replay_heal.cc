// Edits `recorded` of a case in the text of its file. scenario::to_yaml() would write the file
// again, and comments, layout, axes and parts of families are a person's work that no Case holds: a
// saved case is often edited by hand before it is healed. So what has to change is changed in
// place. Where a member stands is what the YAML parser says, where it ends is looked for here, and
// the result is loaded again to see that nothing else has become of it.

#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/yaml_quote.h"
#include "suite/scenario/recorded.h"
#include "suite/scenario/yaml_reader.h"
#include "traffic/replay/replay.h"

namespace fencepost::replay {
namespace {

using Edited = Result<std::string, std::string>;

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kBlanksAndLineEnds = " \t\r\n";

// A member of `recorded`, as places in the text.
struct Member {
  std::size_t line = 0;       // begin of its line
  std::size_t key = 0;        // begin
  std::size_t value = 0;      // begin
  std::size_t value_end = 0;  // behind it
  bool in_braces = false;
  std::string text{};  // the value, as it is read
};

std::optional<std::size_t> place_of(const std::string& text, scenario::YamlPlace place) {
  std::size_t begin = 0;
  for (int line = 1; line < place.line; ++line) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return std::nullopt;
    ++begin;
  }
  begin += static_cast<std::size_t>(place.column - 1);
  if (begin >= text.size()) return std::nullopt;
  return begin;
}

// Behind the scalar on one line that begins here; nothing for one of several lines.
std::optional<std::size_t> end_of_scalar(const std::string& text, std::size_t begin,
                                         bool in_braces) {
  const char quote = text[begin];
  if (quote == '|' || quote == '>') return std::nullopt;
  const std::size_t line_end = std::min(text.find('\n', begin), text.size());
  if (quote != '\'' && quote != '"') {
    std::size_t end = begin;
    while (end < line_end && !(in_braces && (text[end] == ',' || text[end] == '}')) &&
           !(text[end] == '#' && kBlanks.find(text[end - 1]) != std::string_view::npos)) {
      ++end;
    }
    return text.find_last_not_of(kBlanksAndLineEnds, end - 1) + 1;
  }
  for (std::size_t at = begin + 1; at < line_end; ++at) {
    const bool escapes = quote == '"' ? text[at] == '\\' : text.compare(at, 2, "''") == 0;
    if (escapes) {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;
    }
  }
  return std::nullopt;
}

// The mapping `recorded` of this case; undefined when there is none.
scenario::YamlNode find_recorded(scenario::YamlNode root, const std::string& id) {
  for (const scenario::YamlNode node : root.member("cases").items()) {
    if (node.member("id").scalar() == id) return node.member("recorded");
  }
  return {};
}

// Nothing when the case has no such member; the error says how it is written.
Result<std::optional<Member>, std::string> find_member(const std::string& text,
                                                       const std::string& id,
                                                       std::string_view name) {
  std::vector<scenario::LoadError> errors;
  scenario::YamlReader reader("", errors);
  const scenario::YamlNode recorded =
      find_recorded(reader.parse(text).value_or(scenario::YamlNode()), id);
  if (!recorded.is_map()) return fail(std::string("its recorded failure is not in the file"));
  for (const auto& entry : recorded.entries()) {
    if (entry.key.scalar() != name) continue;
    if (!entry.value.is_scalar()) break;
    const auto key = place_of(text, entry.key.place());
    const auto value = place_of(text, entry.value.place());
    if (!key || !value || text.compare(*key, name.size(), name) != 0) break;
    Member out{.line = text.rfind('\n', *key) + 1,  // npos + 1 is 0
               .key = *key,
               .value = *value,
               .in_braces = recorded.is_flow(),
               .text = entry.value.scalar()};
    const auto end = end_of_scalar(text, *value, out.in_braces);
    const bool on_one_line = text.find('\n', *key) > *value;
    if (!end || !on_one_line) break;
    out.value_end = *end;
    return std::optional(out);
  }
  if (recorded.member(name).is_defined()) {
    return fail(fmt::format("\"{}\" is not written on one line: edit it by hand", name));
  }
  return std::optional<Member>();
}

// Its line goes, but for a comment on it.
Edited without_line(const std::string& text, const Member& member) {
  const std::string_view before(text.data() + member.line, member.key - member.line);
  if (before.find_first_not_of(kBlanks) != std::string_view::npos) {
    return fail(std::string("its line has other content: edit it by hand"));
  }
  const std::size_t rest = text.find_first_not_of(kBlanks, member.value_end);
  if (rest != std::string::npos && text[rest] == '#') {
    return text.substr(0, member.key) + text.substr(rest);
  }
  const std::size_t end = text.find('\n', member.value_end);
  return text.substr(0, member.line) + (end == std::string::npos ? "" : text.substr(end + 1));
}

// It goes with the comma behind it, or else with the one before it.
Edited without_entry(const std::string& text, const Member& member) {
  const std::size_t behind = text.find_first_not_of(kBlanksAndLineEnds, member.value_end);
  if (behind != std::string::npos && text[behind] == ',') {
    const std::size_t next = text.find_first_not_of(kBlanksAndLineEnds, behind + 1);
    return text.substr(0, member.key) + text.substr(next);
  }
  const std::size_t before = text.find_last_not_of(kBlanksAndLineEnds, member.key - 1);
  if (text[before] != ',') return fail(std::string("it cannot be removed: edit it by hand"));
  return text.substr(0, before) + text.substr(member.value_end);
}

bool is_plain_id(const std::string& text) {
  return text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == std::string::npos &&
         text.front() >= 'A' && text.front() <= 'Z';
}

Edited with_member(const std::string& text, const Member& member, const std::string& value) {
  if (value.empty()) {
    return member.in_braces ? without_entry(text, member) : without_line(text, member);
  }
  const bool quoted = text[member.value] == '\'' || text[member.value] == '"';
  return text.substr(0, member.value) +
         (!quoted && is_plain_id(value) ? value : text::yaml_quoted(value)) +
         text.substr(member.value_end);
}

// Does the text say this of the case, and nothing else than before of the others?
bool edit_changed_only(const scenario::SourceFile& before, const std::string& text,
                       const std::string& id, const scenario::Recorded& to,
                       const std::set<std::string>& requirements) {
  std::vector<scenario::LoadError> errors;
  const std::vector<scenario::Case> old_cases = load_scenario(before, requirements, errors);
  const std::vector<scenario::Case> new_cases =
      load_scenario({before.name, text}, requirements, errors);
  if (!errors.empty() || old_cases.size() != new_cases.size()) return false;
  for (std::size_t i = 0; i < old_cases.size(); ++i) {
    scenario::Case expected = old_cases[i];
    if (expected.id == id) expected.recorded = to;
    if (!(new_cases[i] == expected)) return false;
  }
  return true;
}

}  // namespace

Result<std::string, std::string> heal(const scenario::SourceFile& file, const std::string& id,
                                      const scenario::Recorded& to,
                                      const std::set<std::string>& requirements) {
  const std::array<std::pair<std::string_view, const std::string&>, 5> members = {
      {{"requirement", to.requirement},
       {"signature", to.signature},
       {"message", to.message},
       {"expected", to.expected},
       {"actual", to.actual}}};
  std::string text = file.content;
  for (const auto& [name, value] : members) {
    auto found = find_member(text, id, name);
    if (!found) return fail(std::move(found.error()));
    if (!*found || (*found)->text == value) continue;
    auto edited = with_member(text, **found, value);
    if (!edited) return edited;
    text = std::move(*edited);
  }
  if (!edit_changed_only(file, text, id, to, requirements)) {
    return fail(std::string("its recorded failure has an unusual layout: edit it by hand"));
  }
  return text;
}

}  // namespace fencepost::replay
