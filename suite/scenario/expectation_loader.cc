#include "suite/scenario/expectation_loader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "suite/scenario/bytes_loader.h"
#include "suite/scenario/scenario_fields.h"
#include "suite/scenario/timestamp_expression.h"

namespace fencepost::scenario {
namespace {

using codec::DialectId;
using codec::ReplyKind;

constexpr std::string_view kReplyForms =
    "a reply is ok, not-applied, missing, error, none or disconnect, or one of {value: ...}, "
    "{count: 1}, {error: name}, {bytes: ...}, {documented: ..., deployed: ...}, {any_of: [...]}, "
    "{open: {name: ...}}, {by: {mark: {outcome: ...}}}";

constexpr std::string_view kElse = "else";  // of {by: ...}: all outcomes that are not named

using Outcomes = std::vector<Outcome>;

std::optional<Outcomes> load_outcomes(YamlReader& reader, YamlNode node);

std::optional<Outcomes> load_plain_outcome(YamlReader& reader, YamlNode node) {
  const auto word = reader.text(node, "reply");
  if (!word) return std::nullopt;
  if (*word == "ok") return Outcomes{{PlainReply{ReplyKind::kOk}}};
  if (*word == "not-applied") return Outcomes{{PlainReply{ReplyKind::kNotApplied}}};
  if (*word == "missing") return Outcomes{{PlainReply{ReplyKind::kMissing}}};
  if (*word == "error") return Outcomes{{AnyError{}}};
  if (*word == "none") return Outcomes{{NoReply{}}};
  if (*word == "disconnect") return Outcomes{{Disconnection{}}};
  constexpr std::array<std::string_view, 6> kWords = {"ok",    "not-applied", "missing",
                                                      "error", "none",        "disconnect"};
  std::string lower = *word;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const std::string guess = nearest(lower, kWords);
  reader.diagnose(node, "\"" + *word + "\" is not a reply" +
                            (guess.empty() ? ": " + std::string(kReplyForms)
                                           : "; did you mean " + guess + "?"));
  return std::nullopt;
}

std::optional<Outcomes> load_error_outcome(YamlReader& reader, YamlNode node) {
  const auto name = reader.text(node, "error");
  if (!name) return std::nullopt;
  const auto code = codec::error_named(*name);
  if (!code) {
    std::vector<std::string_view> names;
    for (const codec::ErrorCode known : codec::kErrorCodes) names.push_back(codec::name(known));
    const std::string guess = nearest(*name, names);
    std::string list;
    for (const std::string_view known : names)
      list += (list.empty() ? "" : ", ") + std::string(known);
    reader.diagnose(
        node, "there is no error \"" + *name + "\"" +
                  (guess.empty() ? "; there are: " + list : "; did you mean \"" + guess + "\"?"));
    return std::nullopt;
  }
  return Outcomes{{ErrorReply{*code}}};
}

// {documented: x, deployed: y}
std::optional<Outcomes> load_dialect_outcomes(YamlReader& reader, YamlNode node) {
  Outcomes all;
  if (node.size() > codec::kDialects.size()) {
    reader.diagnose(node, "documented and deployed exclude any other reply");
    return std::nullopt;
  }
  for (const DialectId id : codec::kDialects) {
    const YamlNode branch = node.member(codec::dialect(id).name);
    if (!branch.is_defined()) {
      reader.diagnose(node, "documented and deployed go together: give both");
      return std::nullopt;
    }
    auto outcomes = load_outcomes(reader, branch);
    if (!outcomes) return std::nullopt;
    for (Outcome& outcome : *outcomes) {
      if (outcome.only_in) {
        reader.diagnose(branch, "documented and deployed must not be nested");
        return std::nullopt;
      }
      outcome.only_in = id;
      all.push_back(std::move(outcome));
    }
  }
  return all;
}

std::optional<Outcomes> load_any_of(YamlReader& reader, YamlNode node) {
  if (!node.is_list() || node.size() < 2) {
    reader.diagnose(node, "any_of must be a list of at least two replies");
    return std::nullopt;
  }
  Outcomes all;
  for (const YamlNode item : node.items()) {
    auto outcomes = load_outcomes(reader, item);
    if (!outcomes) return std::nullopt;
    std::move(outcomes->begin(), outcomes->end(), std::back_inserter(all));
  }
  return all;
}

// {open: {name: reply, ...}}
std::optional<Outcomes> load_open(YamlReader& reader, YamlNode node) {
  if (!node.is_map() || node.size() < 2) {
    reader.diagnose(node, "open must be a mapping of at least two names to replies");
    return std::nullopt;
  }
  if (!reader.check_names(node, "open")) return std::nullopt;
  Outcomes all;
  for (const auto& entry : node.entries()) {
    if (entry.key.scalar() == kElse) {
      reader.diagnose(entry.key, "else means all other outcomes; choose another name");
      return std::nullopt;
    }
    auto outcomes = load_outcomes(reader, entry.value);
    if (!outcomes) return std::nullopt;
    for (Outcome& outcome : *outcomes) {
      outcome.name = entry.key.scalar();
      all.push_back(std::move(outcome));
    }
  }
  return all;
}

std::optional<Outcomes> load_outcomes(YamlReader& reader, YamlNode node) {
  if (!node.is_map()) return load_plain_outcome(reader, node);
  if (!reader.check_map(node, "reply", fields::kReply)) return std::nullopt;
  if (node.member("documented").is_defined() || node.member("deployed").is_defined()) {
    return load_dialect_outcomes(reader, node);
  }
  if (node.size() != 1) {
    reader.diagnose(node, std::string(kReplyForms));
    return std::nullopt;
  }
  const auto [key, value] = *node.entries().begin();
  const std::string& form = key.scalar();
  if (form == "error") return load_error_outcome(reader, value);
  if (form == "any_of") return load_any_of(reader, value);
  if (form == "open" || form == "by") {
    reader.diagnose(node, form + " must be directly under reply, not inside another reply");
    return std::nullopt;
  }
  if (form == "count") {
    const auto count = reader.integer(value, "count", 0, std::numeric_limits<std::int64_t>::max());
    if (!count) return std::nullopt;
    return Outcomes{{CountReply{*count}}};
  }
  auto bytes = load_bytes(reader, value, form);
  if (!bytes) return std::nullopt;
  if (form == "value") return Outcomes{{ValueReply{std::move(*bytes)}}};
  return Outcomes{{ExactBytes{std::move(*bytes)}}};
}

// The mapping under `reply: {open: ...}` or `{by: ...}`, or nothing defined.
YamlNode member_of(YamlNode reply, std::string_view form) {
  if (!reply.is_map() || reply.size() != 1) return YamlNode();
  return reply.member(form);
}

// The open outcomes of the request with this mark.
const std::vector<std::string>* outcomes_of(YamlReader& reader, YamlNode mark,
                                            const KnownNames& known) {
  const std::string& name = mark.scalar();
  const auto found = known.outcomes.find(name);
  if (found != known.outcomes.end()) return &found->second;
  if (known.marks_of_failed_steps.contains(name)) return nullptr;
  reader.diagnose(mark, known.marks.contains(name)
                            ? "the request with mark: " + name + " has no open outcomes"
                            : "no earlier step has mark: " + name);
  return nullptr;
}

bool check_outcome(YamlReader& reader, YamlNode node, const std::string& name,
                   const std::string& mark, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return true;
  std::string list;
  for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
  reader.diagnose(node,
                  "\"" + name + "\" is not an outcome of " + mark + "; its outcomes are " + list);
  return false;
}

// The reply, or open replies, after one outcome of an earlier request.
std::optional<Outcomes> load_branch(YamlReader& reader, YamlNode node) {
  const YamlNode open = member_of(node, "open");
  return open.is_defined() ? load_open(reader, open) : load_outcomes(reader, node);
}

// {by: {mark: {outcome: reply, ..., else: reply}}}
std::optional<Outcomes> load_by(YamlReader& reader, YamlNode node, const KnownNames& known,
                                std::string& by) {
  if (!node.is_map() || node.size() != 1) {
    reader.diagnose(node,
                    "by must be a mapping of one mark to replies, e.g. "
                    "by: {m: {refused: missing, else: {value: v}}}");
    return std::nullopt;
  }
  if (!reader.check_names(node, "by")) return std::nullopt;
  const auto [mark, branches] = *node.entries().begin();
  const std::vector<std::string>* names = outcomes_of(reader, mark, known);
  if (names == nullptr) return std::nullopt;
  by = mark.scalar();
  if (!reader.check_names(branches, by)) return std::nullopt;
  Outcomes all;
  const auto add = [&](const std::string& name, const Outcomes& outcomes) {
    for (Outcome outcome : outcomes) {
      outcome.after = name;
      all.push_back(std::move(outcome));
    }
  };
  std::vector<std::string> rest = *names;
  std::optional<Outcomes> others;
  for (const auto& entry : branches.entries()) {
    const std::string name = entry.key.scalar();
    if (name != kElse && !check_outcome(reader, entry.key, name, by, *names)) return std::nullopt;
    auto outcomes = load_branch(reader, entry.value);
    if (!outcomes) return std::nullopt;
    if (name == kElse) {
      others = std::move(outcomes);
      continue;
    }
    add(name, *outcomes);
    std::erase(rest, name);
  }
  if (rest.empty() == others.has_value()) {
    reader.diagnose(branches, others ? "else covers no outcome of " + by + "; remove it"
                                     : "by lacks the outcome \"" + rest.front() + "\" of " + by +
                                           "; add it, or else");
    return std::nullopt;
  }
  for (const std::string& name : rest) add(name, *others);
  return all;
}

// A name saved by an earlier step.
bool check_saved_name(YamlReader& reader, YamlNode node, const std::string& name,
                      const KnownNames& known) {
  if (known.timestamps.contains(name)) return true;
  reader.diagnose(node, "no earlier step saves a timestamp as \"" + name +
                            "\"; add ts: {save: " + name + "} to the step that receives it");
  return false;
}

void load_properties(YamlReader& reader, YamlNode node, Expectation& out) {
  if (!reader.check_names(node, "properties")) return;
  for (const auto& entry : node.entries()) {
    const auto value = reader.text(entry.value, "the value of a user property");
    if (value) out.user_properties[entry.key.scalar()] = *value;
  }
}

// What is said of a reply needs one.
bool check_reply_possible(YamlReader& reader, YamlNode node, const Expectation& expect) {
  if (expect.outcomes.empty()) return true;
  const bool possible =
      std::any_of(expect.outcomes.begin(), expect.outcomes.end(), [](const Outcome& outcome) {
        return !std::holds_alternative<NoReply>(outcome.what) &&
               !std::holds_alternative<Disconnection>(outcome.what);
      });
  if (possible) return true;
  for (const auto& entry : node.entries()) {
    const std::string key = entry.key.scalar();
    if (key == "reply" || key == "cites") continue;
    reader.diagnose(entry.key, key + " needs a reply, and this step expects none; remove it");
    return false;
  }
  return true;
}

bool load_of_value(YamlReader& reader, YamlNode node, const KnownNames& known,
                   TimestampCheck& check) {
  if (!node.is_map() || node.size() == 0) {
    reader.diagnose(node, "of_value must map values to the saved timestamps of their versions");
    return false;
  }
  for (const auto& entry : node.entries()) {
    const auto value = reader.text(entry.key, "a value");
    const auto name = reader.text(entry.value, "of_value");
    if (!value || !name || !check_saved_name(reader, entry.value, *name, known)) return false;
    check.of_value[*value] = *name;
  }
  return true;
}

}  // namespace

std::optional<TimestampCheck> load_timestamp_check(YamlReader& reader, YamlNode node,
                                                   KnownNames& known) {
  TimestampCheck check;
  if (!node.is_map()) {
    const auto word = reader.text(node, "ts");
    if (!word) return std::nullopt;
    check.absent = *word == "absent";
    check.present = *word == "present";
    if (check.absent || check.present) return check;
    reader.diagnose(node,
                    "ts must be absent, present, or {save: name, equals: name, "
                    "greater_than: [names]}, not \"" +
                        *word + "\"");
    return std::nullopt;
  }
  if (!reader.check_map(node, "ts", fields::kTimestampCheck)) return std::nullopt;
  check.present = true;
  if (const YamlNode equals = node.member("equals"); equals.is_defined()) {
    check.equals = reader.text(equals, "equals");
    if (!check.equals || !check_saved_name(reader, equals, *check.equals, known)) {
      return std::nullopt;
    }
  }
  if (const YamlNode versions = node.member("of_value"); versions.is_defined()) {
    if (!load_of_value(reader, versions, known, check)) return std::nullopt;
  }
  if (const YamlNode list = node.member("greater_than"); list.is_defined()) {
    bool good = true;
    reader.for_each_text(list, "greater_than", [&](const std::string& name, YamlNode item) {
      check.greater_than.push_back(name);
      good = (name == "sent" || check_saved_name(reader, item, name, known)) && good;
    });
    if (!good) return std::nullopt;
  }
  if (const YamlNode save = node.member("save"); save.is_defined()) {
    check.save = reader.text(save, "save");
    // In the place of a timestamp these words mean something else.
    if (check.save == "now" || check.save == "sent" || check.save == "none" ||
        check.save == kSkewLimit) {
      reader.diagnose(save,
                      *check.save + " is taken; choose another name to save the timestamp as");
      return std::nullopt;
    }
    if (check.save && !is_name(*check.save)) {
      reader.diagnose(save, "\"" + *check.save +
                                "\" cannot be named in a timestamp; use letters, "
                                "digits, _ and -, and begin with a letter");
      return std::nullopt;
    }
    if (check.save) known.timestamps.insert(*check.save);
  }
  return check;
}

std::optional<TimePoint> load_time_point(YamlReader& reader, YamlNode node, const KnownNames& known,
                                         std::string_view what) {
  const auto text = reader.text(node, what);
  if (!text) return std::nullopt;
  const std::size_t plus = text->find(" + ");
  TimePoint point;
  point.mark = text->substr(0, plus);
  if (point.mark.ends_with(".reply")) {
    point.after_reply = true;
    point.mark.resize(point.mark.size() - 6);
  }
  const auto offset = plus == std::string::npos
                          ? std::optional(std::chrono::milliseconds{0})
                          : parse_duration(std::string_view(*text).substr(plus + 3));
  if (!offset || !is_name(point.mark)) {
    reader.diagnose(node, std::string(what) + " must look like `t1 + 900ms` or `t1.reply + 250ms`");
    return std::nullopt;
  }
  if (!known.marks.contains(point.mark)) {
    reader.diagnose(node, "no earlier step has mark: " + point.mark);
    return std::nullopt;
  }
  point.offset = *offset;
  return point;
}

std::optional<OutcomeSeen> load_outcome_seen(YamlReader& reader, YamlNode node,
                                             const KnownNames& known) {
  if (!node.is_map() || node.size() != 1) {
    reader.diagnose(node, "when must be a mapping of one mark to outcomes, e.g. when: {m: [ok]}");
    return std::nullopt;
  }
  if (!reader.check_names(node, "when")) return std::nullopt;
  const auto [mark, outcomes] = *node.entries().begin();
  const std::vector<std::string>* names = outcomes_of(reader, mark, known);
  if (names == nullptr) return std::nullopt;
  OutcomeSeen out{.mark = mark.scalar(), .outcomes = {}};
  bool good = true;
  reader.for_each_text(outcomes, "when", [&](const std::string& name, YamlNode item) {
    good = check_outcome(reader, item, name, out.mark, *names) && good;
    out.outcomes.push_back(name);
  });
  if (good && !out.outcomes.empty()) return out;
  if (good) reader.diagnose(outcomes, "when needs at least one outcome of " + out.mark);
  return std::nullopt;
}

std::vector<std::string> open_outcomes(const Expectation& expectation) {
  std::vector<std::string> out;
  for (const Outcome& outcome : expectation.outcomes) {
    const bool known = std::find(out.begin(), out.end(), outcome.name) != out.end();
    if (!outcome.name.empty() && !known) out.push_back(outcome.name);
  }
  return out;
}

std::string load_citation(YamlReader& reader, YamlNode node, const KnownNames& known) {
  const auto id = reader.text(node, "cites");
  if (!id) return {};
  if (!known.requirements.contains(*id)) {
    reader.diagnose(node, "cites: " + *id + " is not among the requirements of this case");
  }
  return *id;
}

std::optional<Expectation> load_expectation(YamlReader& reader, YamlNode node, KnownNames& known) {
  Expectation out;
  if (!node.is_map()) {
    auto outcomes = load_outcomes(reader, node);
    if (!outcomes) return std::nullopt;
    out.outcomes = std::move(*outcomes);
    return out;
  }
  for (const auto& entry : node.entries()) {
    const std::string key = entry.key.is_scalar() ? entry.key.scalar() : "";
    if (std::find(fields::kReply.begin(), fields::kReply.end(), key) == fields::kReply.end())
      continue;
    reader.diagnose(entry.key,
                    "expect has no key \"" + key + "\"; write reply: {" + key + ": ...}");
    return std::nullopt;
  }
  if (!reader.check_map(node, "expect", fields::kExpect)) return std::nullopt;
  if (const YamlNode reply = node.member("reply"); reply.is_defined()) {
    const YamlNode by = member_of(reply, "by");
    auto outcomes =
        by.is_defined() ? load_by(reader, by, known, out.by) : load_branch(reader, reply);
    if (!outcomes) return std::nullopt;
    out.outcomes = std::move(*outcomes);
    out.open = !open_outcomes(out).empty();
  }
  if (!check_reply_possible(reader, node, out)) return std::nullopt;
  if (const YamlNode ts = node.member("ts"); ts.is_defined()) {
    out.timestamp = load_timestamp_check(reader, ts, known);
  }
  if (const YamlNode properties = node.member("properties"); properties.is_defined()) {
    load_properties(reader, properties, out);
  }
  if (const YamlNode type = node.member("content_type"); type.is_defined()) {
    out.content_type = reader.text(type, "content_type");
  }
  if (const YamlNode format = node.member("payload_format"); format.is_defined()) {
    const auto number = reader.integer(format, "payload_format", 0, 1);
    if (number) out.payload_format = static_cast<int>(*number);
  }
  if (const YamlNode before = node.member("before"); before.is_defined()) {
    out.before = load_time_point(reader, before, known, "before");
  }
  if (const YamlNode cites = node.member("cites"); cites.is_defined()) {
    out.cites = load_citation(reader, cites, known);
  }
  return out;
}

}  // namespace fencepost::scenario
