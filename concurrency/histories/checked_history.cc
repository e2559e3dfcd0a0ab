#include "concurrency/histories/checked_history.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/text/text_wrap.h"
#include "concurrency/history/history_file.h"
#include "suite/scenario/binding.h"

namespace fencepost::histories {
namespace {

using history::Answer;
using history::Operation;
using history::Outcome;
using nlohmann::ordered_json;

constexpr std::size_t kMaxBytes = 40;  // of a value on the screen
constexpr std::size_t kMaxShown = 8;   // operations of one violation
constexpr std::size_t kMaxKeys = 10;   // violations in full

std::string quoted(const std::string& bytes) { return '"' + escape(bytes, kMaxBytes) + '"'; }

std::string time_text(history::Time time, history::Time origin, bool counts_lines) {
  if (time == history::kNever) return "never";
  if (counts_lines) return fmt::format("line {}", time.count());
  return fmt::format("{:.3f} ms", static_cast<double>((time - origin).count()) / 1e6);
}

std::string operations_text(const history::Verdict& verdict, bool counts_lines) {
  std::vector<std::string> lines = counter_example_lines(verdict, counts_lines);
  if (lines.empty()) return "";
  if (lines.size() > kMaxShown) lines.resize(kMaxShown);
  std::string out =
      verdict.minimal ? "    minimal counter-example:\n"
                      : "    counter-example (the search for a smaller one reached its limits):\n";
  for (const std::string& line : lines) {
    out += fmt::format("      {}\n", text::wrap(line, {.width = 100, .indent = 12, .first = 6}));
  }
  if (verdict.operations.size() > kMaxShown) {
    out +=
        fmt::format("      and {} more; --json lists all\n", verdict.operations.size() - kMaxShown);
  }
  return out;
}

std::string replies_text(const CheckedHistory& checked) {
  std::string out;
  if (checked.without_reply > 0) {
    out += fmt::format("  without a response: {} of {}\n", checked.without_reply,
                       text::counted(checked.operations, "operation"));
  }
  if (checked.refused > 0) {
    out += fmt::format("  refused: {} of {}\n", checked.refused,
                       text::counted(checked.operations, "operation"));
  }
  return out;
}

std::string clock_text(const CheckedHistory& checked) {
  const history::ClockObservation& clock = checked.clock;
  if (clock.compared == 0) return "";
  if (clock.against == 0) {
    return fmt::format("  one clock for all keys: {}, each with a greater version than before\n",
                       text::counted(clock.compared, "SET"));
  }
  return fmt::format(
      "  not one clock for all keys: {} of {} got no greater version than one of another key\n",
      clock.against, text::counted(clock.compared, "SET"));
}

// Req: NTF-ORDER-OPEN-2
std::string order_text(const CheckedHistory& checked) {
  const history::OrderObservation& order = checked.order;
  if (order.compared == 0) return "";
  if (order.against == 0) {
    return fmt::format("  notified in order: {}, none after one with a greater version\n",
                       text::counted(order.compared, "notification"));
  }
  return fmt::format("  not notified in order: {} of {} came after one with a greater version\n",
                     order.against, text::counted(order.compared, "notification"));
}

std::size_t repeated(const CheckedHistory& checked) {
  std::size_t out = 0;
  for (const history::KeyVerdict& key : checked.keys) out += key.verdict.repeated.size();
  return out;
}

std::string violation_text(const CheckedHistory& checked, const history::KeyVerdict& key,
                           const scenario::Catalogue& catalogue) {
  std::string out = fmt::format("\n  VIOLATION  {}{}\n", key.verdict.requirement,
                                key.key.empty() ? "" : "  key " + quoted(key.key));
  if (const scenario::Requirement* rule = catalogue.find(key.verdict.requirement)) {
    out += fmt::format("    rule  {}\n",
                       text::wrap(rule->text, {.width = 100, .indent = 10, .first = 10}));
    if (!binds(*rule, {.dialect = codec::DialectId::kDocumented})) {
      out +=
          "          The deployed service keeps it; the documents do not promise it: stress "
          "--profile\n          documented judges by the documents alone.\n";
    }
  }
  out += fmt::format("    seen  {}\n",
                     text::wrap(key.verdict.text, {.width = 100, .indent = 10, .first = 10}));
  const std::string values = values_text(key.verdict);
  if (!values.empty()) out += fmt::format("          {}\n", values);
  out += operations_text(key.verdict, checked.counts_lines);
  if (!key.verdict.others.empty()) {
    out += fmt::format("      ({} at the same time, which {} not explain it either)\n",
                       text::counted(key.verdict.others.size(), "other operation"),
                       key.verdict.others.size() == 1 ? "does" : "do");
  }
  return out;
}

// Without a response that tells what the store did, nothing is known about any key.
std::string result_text(const CheckedHistory& checked) {
  const std::size_t violations = checked.count(Answer::kViolation);
  const std::size_t unknown = checked.count(Answer::kUnknown);
  const bool nothing_done = checked.without_reply + checked.refused == checked.operations;
  const std::string_view conclusion = is_not_linearizable(checked.keys)       ? "not linearizable"
                                      : violations > 0                        ? "a rule is broken"
                                      : unknown > 0 || !checked.whole.empty() ? "not decided"
                                      : nothing_done ? "there is no operation"
                                                     : "linearizable";
  return fmt::format("  {} ok, {}, {} unknown: {}\n",
                     text::counted(nothing_done ? 0 : checked.count(Answer::kOk), "key"),
                     text::counted(violations, "violation"), unknown, conclusion);
}

}  // namespace

bool is_not_linearizable(const std::vector<history::KeyVerdict>& keys) {
  return std::any_of(keys.begin(), keys.end(), [](const history::KeyVerdict& key) {
    return key.verdict.answer == Answer::kViolation && !values_text(key.verdict).empty();
  });
}

std::string values_text(const history::Verdict& verdict) {
  // For one request, or for notifications, the order does not matter.
  const bool is_of_order =
      verdict.by_values || verdict.requirement == kNotLinearizable ||
      (verdict.operations.size() > 1 && !verdict.requirement.starts_with("NTF-"));
  if (!is_of_order) return "";
  switch (verdict.by_values.value_or(Answer::kUnknown)) {
    case Answer::kOk:
      return "no order of these requests explains the answers; without the versions, one does";
    case Answer::kViolation:
      return "no order of these requests explains the answers, even without the versions";
    case Answer::kUnknown:
      break;
  }
  return "no order of these requests explains the answers";
}

std::string request_text(const Operation& operation) {
  std::string out{name(operation.action)};
  const bool compares = operation.action == history::Action::kCompareAndSet;
  if (compares) out += " from " + quoted(operation.expected) + " to";
  if (has_value(operation.action)) {
    out += " " + quoted(operation.value);
  }
  if (operation.condition == codec::Condition::kIfAbsent) out += " NX";
  if (operation.condition == codec::Condition::kIfAbsentOrEqual) out += " NEX";
  if (operation.expires_after) out += fmt::format(" PX {}", operation.expires_after->count());
  if (operation.timestamp) {
    out += " __ts " + hlc::format(*operation.timestamp, hlc::Padding::kNone);
  }
  if (operation.token) out += " __ft " + hlc::format(*operation.token, hlc::Padding::kNone);
  return out;
}

std::string reply_text(const Operation& operation) {
  std::string out{name(operation.outcome)};
  if (operation.outcome == Outcome::kValue) out = quoted(operation.read);
  if (operation.outcome == Outcome::kUnknown) out = "no response";
  if (!operation.reason.empty()) out += " (" + escape(operation.reason, kMaxBytes) + ")";
  if (operation.version) {
    out += "  version " + hlc::format(*operation.version, hlc::Padding::kNone);
  }
  return out;
}

std::vector<std::string> counter_example_lines(const history::Verdict& verdict, bool counts_lines) {
  std::vector<const Operation*> shown;
  for (const Operation& each : verdict.shown) shown.push_back(&each);
  std::stable_sort(shown.begin(), shown.end(),
                   [](const Operation* a, const Operation* b) { return a->called < b->called; });
  std::vector<std::string> out;
  for (const Operation* operation : shown) {
    const history::Time origin = shown.front()->called;
    if (operation->client == history::kNobody) {
      out.push_back(fmt::format("initial value: {}", quoted(operation->value)));
      continue;
    }
    out.push_back(fmt::format("client {:<4} {:>11} .. {:<11}  {}  ->  {}", operation->client,
                              time_text(operation->called, origin, counts_lines),
                              time_text(operation->returned, origin, counts_lines),
                              request_text(*operation), reply_text(*operation)));
  }
  return out;
}

std::size_t CheckedHistory::count(Answer answer) const {
  return static_cast<std::size_t>(
      std::count_if(keys.begin(), keys.end(),
                    [&](const history::KeyVerdict& key) { return key.verdict.answer == answer; }));
}

std::string finding_text(const CheckedHistory& checked, const history::KeyVerdict& key,
                         const scenario::Catalogue& catalogue) {
  if (key.verdict.answer == Answer::kViolation) return violation_text(checked, key, catalogue);
  return fmt::format("\n  UNKNOWN    key {}\n    {}\n", quoted(key.key),
                     text::wrap(key.verdict.text, {.width = 100, .indent = 4, .first = 4}));
}

std::string findings_text(const CheckedHistory& checked, const scenario::Catalogue& catalogue,
                          std::size_t most) {
  std::string out;
  std::size_t found = 0;
  for (const history::KeyVerdict& key : checked.keys) {
    if (key.verdict.answer == Answer::kOk || ++found > most) continue;
    out += finding_text(checked, key, catalogue);
  }
  if (found > most) out += fmt::format("\n  and {}\n", text::counted(found - most, "more key"));
  return out;
}

std::string checked_text(const CheckedHistory& checked, const scenario::Catalogue& catalogue) {
  std::string out = fmt::format("{}: {} of {} on {}, judged in {:.3f} s\n", checked.file,
                                text::counted(checked.operations, "operation"),
                                text::counted(checked.clients.size(), "client"),
                                text::counted(checked.keys.size(), "key"), checked.seconds);
  out += replies_text(checked) + clock_text(checked) + order_text(checked);
  if (const std::size_t twice = repeated(checked)) {
    out += fmt::format("  {} sent again (DUP) and carried out twice\n",
                       text::counted(twice, "request"));
  }
  if (checked.cut) out += "  the last line is incomplete and was left out\n";
  for (const history::Verdict& each : checked.whole) {
    out += fmt::format("  {}: {}\n", name(each.answer), each.text);
  }
  const std::string findings = findings_text(checked, catalogue, kMaxKeys);
  return out + findings + (findings.empty() ? "" : "\n") + result_text(checked);
}

ordered_json to_json(const history::KeyVerdict& key) {
  ordered_json out{{"key", escape(key.key, key.key.size())},
                   {"operations", key.operations},
                   {"answer", name(key.verdict.answer)}};
  if (key.verdict.answer != Answer::kOk) out["text"] = key.verdict.text;
  if (key.verdict.by_values) out["by_values"] = name(*key.verdict.by_values);
  if (!key.verdict.repeated.empty()) out["repeated"] = key.verdict.repeated;
  if (key.verdict.answer == Answer::kViolation) {
    out["requirement"] = key.verdict.requirement;
    out["witness"] = ordered_json::array();
    for (std::size_t i = 0; i < key.verdict.shown.size(); ++i) {
      ordered_json operation = history::to_json(key.verdict.shown[i]);
      operation["number"] = key.verdict.operations.at(i);
      out["witness"].push_back(std::move(operation));
    }
    if (!key.verdict.minimal) out["not_minimal"] = true;
    out["others"] = key.verdict.others;
  }
  return out;
}

ordered_json to_json(const CheckedHistory& checked) {
  ordered_json keys = ordered_json::array();
  for (const history::KeyVerdict& key : checked.keys) keys.push_back(to_json(key));
  ordered_json whole = ordered_json::array();
  for (const history::Verdict& each : checked.whole) {
    whole.push_back({{"answer", name(each.answer)}, {"text", each.text}});
  }
  return {{"file", checked.file},
          {"operations", checked.operations},
          {"without_reply", checked.without_reply},
          {"refused", checked.refused},
          {"notifications", checked.notifications},
          {"clients", checked.clients.size()},
          {"time_unit", checked.counts_lines ? "lines" : "ns"},
          {"cut", checked.cut},
          {"notification_order",
           {{"compared", checked.order.compared}, {"against", checked.order.against}}},
          {"clock", {{"compared", checked.clock.compared}, {"against", checked.clock.against}}},
          {"ok", checked.count(Answer::kOk)},
          {"violations", checked.count(Answer::kViolation)},
          {"unknown", checked.count(Answer::kUnknown)},
          {"whole", std::move(whole)},
          {"keys", std::move(keys)}};
}

}  // namespace fencepost::histories
