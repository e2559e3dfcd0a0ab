#include "concurrency/histories/timeline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/check.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "concurrency/histories/checked_history.h"
#include "endpoint/fault_schedule.h"
#include "report/page/html_page.h"
#include "report/page/timeline_page.h"

namespace fencepost::histories {
namespace {

using history::Answer;
using history::Index;
using history::Operation;
using nlohmann::ordered_json;

constexpr std::size_t kMaxConnections = 20'000;

bool is_of_broker(std::string_view kind) {
  const auto& all = endpoint::kNetworkFaults;
  return std::any_of(all.begin(), all.end(), [&](const endpoint::NetworkFaultKind& each) {
    return each.of_broker && each.name == kind;
  });
}

std::string stamp_text(const hlc::Timestamp& stamp) {
  return hlc::format(stamp, hlc::Padding::kNone);
}

// Numbers that grow, as differences: short in a file.
class Steps {
 public:
  void add(std::int64_t number) {
    steps_.push_back(number - last_);
    last_ = number;
  }
  [[nodiscard]] ordered_json take() { return std::move(steps_); }

 private:
  ordered_json steps_ = ordered_json::array();
  std::int64_t last_ = 0;
};

// Bytes as texts with escapes, each once.
class PageTexts {
 public:
  explicit PageTexts(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  std::int64_t add(const std::string& bytes) {
    const auto [at, added] = places_.try_emplace(bytes, places_.size());
    if (added) texts_.push_back(escape(bytes, most_bytes_));
    return static_cast<std::int64_t>(at->second);
  }
  [[nodiscard]] ordered_json take() { return std::move(texts_); }

 private:
  std::size_t most_bytes_;
  std::map<std::string, std::size_t> places_{};
  ordered_json texts_ = ordered_json::array();
};

class PageVersions {
 public:
  std::int64_t add(const std::optional<hlc::Timestamp>& version) {
    if (!version) return -1;
    const auto [at, added] = places_.try_emplace(*version, places_.size());
    if (added) {
      walls_.add(static_cast<std::int64_t>(version->wall_ms));
      counters_.push_back(version->counter);
      const auto [node, first] = nodes_.try_emplace(version->node, nodes_.size());
      if (first) names_.push_back(escape(version->node));
      node_of_.push_back(node->second);
    }
    return static_cast<std::int64_t>(at->second);
  }
  void take(ordered_json& data) {
    data["versions"] = {{"wall", walls_.take()}, {"counter", counters_}, {"node", node_of_}};
    data["nodes"] = names_;
  }

 private:
  std::map<hlc::Timestamp, std::size_t> places_{};
  std::map<std::string, std::size_t> nodes_{};
  Steps walls_{};
  ordered_json counters_ = ordered_json::array();
  ordered_json node_of_ = ordered_json::array();
  ordered_json names_ = ordered_json::array();
};

// The page's data; timeline_page/data.js reads it.
class PageData {
 public:
  PageData(const TimelineLimits& limits, std::int64_t origin)
      : texts_(limits.bytes), origin_(origin) {}

  std::int64_t text(const std::string& bytes) { return texts_.add(bytes); }
  std::size_t client(std::uint32_t number) {
    const auto [at, added] = clients_.try_emplace(number, clients_.size());
    if (added) client_names_.push_back(number);
    return at->second;
  }
  [[nodiscard]] std::int64_t since(history::Time time) const { return time.count() - origin_; }

  void add(Index number, const Operation& operation) {
    number_.add(number);
    called_.add(since(operation.called));
    const bool ended = operation.returned != history::kNever;
    took_.push_back(ended ? (operation.returned - operation.called).count() : -1);
    client_.push_back(client(operation.client));
    const auto condition = static_cast<std::size_t>(operation.condition);
    what_.push_back(static_cast<std::size_t>(operation.action) +
                    history::kActions.size() * condition);
    outcome_.push_back(static_cast<std::size_t>(operation.outcome));
    key_.push_back(text(operation.key));
    value_.push_back(has_value(operation.action) ? text(operation.value) : -1);
    read_.push_back(operation.outcome == history::Outcome::kValue ? text(operation.read) : -1);
    version_.push_back(versions_.add(operation.version));
    ordered_json more = ordered_json::object();
    if (operation.action == history::Action::kCompareAndSet) {
      more["expected"] = escape(operation.expected);
    }
    if (operation.expires_after) more["px"] = operation.expires_after->count();
    if (operation.timestamp) more["timestamp"] = stamp_text(*operation.timestamp);
    if (operation.token) more["token"] = stamp_text(*operation.token);
    if (!operation.reason.empty()) more["reason"] = escape(operation.reason);
    if (!more.empty()) more_[std::to_string(took_.size() - 1)] = std::move(more);
  }

  void take(ordered_json& data) {
    data["actions"] = ordered_json::array();
    for (const auto action : history::kActions) data["actions"].push_back(name(action));
    data["outcomes"] = ordered_json::array();
    for (const auto outcome : history::kOutcomes) data["outcomes"].push_back(name(outcome));
    data["clients"] = client_names_;
    data["texts"] = texts_.take();
    versions_.take(data);
    data["operations"] = {{"number", number_.take()}, {"called", called_.take()},
                          {"took", std::move(took_)}, {"client", std::move(client_)},
                          {"what", std::move(what_)}, {"outcome", std::move(outcome_)},
                          {"key", std::move(key_)},   {"value", std::move(value_)},
                          {"read", std::move(read_)}, {"version", std::move(version_)}};
    data["more"] = std::move(more_);
  }

 private:
  PageTexts texts_;
  PageVersions versions_{};
  std::int64_t origin_;
  std::map<std::uint32_t, std::size_t> clients_{};
  ordered_json client_names_ = ordered_json::array();
  Steps number_{};
  Steps called_{};
  ordered_json took_ = ordered_json::array();
  ordered_json client_ = ordered_json::array();
  ordered_json what_ = ordered_json::array();
  ordered_json outcome_ = ordered_json::array();
  ordered_json key_ = ordered_json::array();
  ordered_json value_ = ordered_json::array();
  ordered_json read_ = ordered_json::array();
  ordered_json version_ = ordered_json::array();
  ordered_json more_ = ordered_json::object();
};

ordered_json notification_json(const history::Notification& notified, PageData& page) {
  ordered_json out{{"at", page.since(notified.arrived)},
                   {"client", page.client(notified.client)},
                   {"key", page.text(notified.key)},
                   {"operation", notified.operation == codec::Operation::kSet ? "SET" : "DELETE"}};
  const bool valued = notified.operation == codec::Operation::kSet && !notified.valueless;
  if (valued) out["value"] = escape(notified.value);
  if (notified.version) out["version"] = stamp_text(*notified.version);
  if (notified.duplicate) out["duplicate"] = true;
  return out;
}

std::string seen_text(const history::Verdict& verdict) {
  const std::string values = values_text(verdict);
  return text::printable(
      verdict.text + (values.empty() ? "" : "; " + values) +
      (verdict.minimal ? "" : "; the search for a smaller counter-example reached its limits"));
}

ordered_json finding_json(const history::KeyVerdict& key, const scenario::Catalogue& catalogue,
                          PageData& page) {
  const history::Verdict& verdict = key.verdict;
  const bool violation = verdict.answer == Answer::kViolation;
  ordered_json out{{"key", page.text(key.key)},
                   {"answer", name(verdict.answer)},
                   {"requirement", verdict.requirement},
                   {"text", seen_text(verdict)},
                   {"witness", violation ? verdict.operations : std::vector<Index>{}},
                   {"others", verdict.others.size()}};
  if (const scenario::Requirement* rule = catalogue.find(verdict.requirement)) {
    out["level"] = scenario::name(rule->level);
    out["rule"] = rule->text;
  }
  return out;
}

std::string html_facts(const TimelineHead& head) {
  std::string out;
  for (const auto& [name, value] : head.facts) {
    out += fmt::format("<span>{} <b>{}</b></span> ", page::html(name),
                       page::html(text::printable(value)));
  }
  return out.empty() ? out : "<p class=\"of\">" + out + "</p>\n";
}

// For those who read the page without a script.
std::string html_list(const std::vector<history::KeyVerdict>& findings, std::size_t bytes) {
  std::string out;
  for (const history::KeyVerdict& key : findings) {
    out += fmt::format("<li>{} key {}: {}</li>\n", page::html(key.verdict.requirement),
                       page::html('"' + escape(key.key, bytes) + '"'),
                       page::html(text::printable(key.verdict.text)));
  }
  return out.empty() ? out : "<ul>\n" + out + "</ul>\n";
}

std::string html_whole(const TimelineHead& head, const scenario::Catalogue& catalogue) {
  std::string out;
  for (const history::Verdict& verdict : head.whole) {
    const scenario::Requirement* rule = catalogue.find(verdict.requirement);
    out += fmt::format("<p class=\"of\"><b>{}</b> {}{}</p>\n", page::html(verdict.requirement),
                       rule == nullptr ? "" : page::html(rule->text) + " <b>Seen:</b> ",
                       page::html(seen_text(verdict)));
  }
  return out;
}

std::size_t count_of(const TimelineHead& head, Answer answer) {
  return static_cast<std::size_t>(std::count_if(
      head.whole.begin(), head.whole.end(),
      [answer](const history::Verdict& verdict) { return verdict.answer == answer; }));
}

std::string html_commands(const TimelineHead& head) {
  std::string out;
  for (const auto& [name, command] : head.commands) {
    out += fmt::format(
        "<div class=\"command\"><span class=\"label\">{0}</span>\n<code tabindex=\"0\" "
        "aria-label=\"{0}\">{1}</code></div>\n",
        page::html(name), page::html(text::printable(command)));
  }
  return out;
}

}  // namespace

Timeline::Timeline(const std::vector<history::KeyVerdict>& verdicts, std::size_t operations,
                   const TimelineLimits& limits)
    : limits_(limits), total_(operations) {
  for (const Answer answer : {Answer::kViolation, Answer::kUnknown}) {
    for (const history::KeyVerdict& key : verdicts) {
      if (key.verdict.answer != answer) continue;
      ++(answer == Answer::kViolation ? violations_ : unknown_);
      if (findings_.size() < limits_.findings) findings_.push_back(key);
    }
  }
  ok_ = verdicts.size() - violations_ - unknown_;
  for (const history::KeyVerdict& key : findings_) {
    if (key.verdict.answer != Answer::kViolation) continue;
    named_.insert(key.verdict.operations.begin(), key.verdict.operations.end());
  }
  if (operations <= limits_.operations || named_.empty()) {
    kept_.emplace_back(0, limits_.operations);
    return;
  }
  const std::size_t reach = limits_.operations / named_.size() / 2;
  for (const Index number : named_) {
    kept_.emplace_back(number > reach ? number - reach : 0, std::size_t{number} + reach);
  }
}

bool Timeline::wanted(Index number) const {
  // The ranges begin and end in order, as the numbers that they are around do.
  const auto after = std::partition_point(
      kept_.begin(), kept_.end(), [&](const auto& range) { return range.second <= number; });
  return (after != kept_.end() && after->first <= number) || named_.count(number) != 0;
}

void Timeline::add(const history::Event& event) {
  if (const auto* operation = std::get_if<Operation>(&event)) {
    if (wanted(next_)) operations_.emplace_back(next_, *operation);
    ++next_;
  } else if (const auto* notified = std::get_if<history::Notification>(&event)) {
    const bool room = notifications_.size() < limits_.notifications;
    if (room && wanted(next_)) notifications_.push_back(*notified);
  } else if (const auto* connection = std::get_if<history::Connection>(&event)) {
    if (connections_.size() < kMaxConnections) connections_.push_back(*connection);
  } else if (const auto* restart = std::get_if<history::Restart>(&event)) {
    marks_.push_back({.at = restart->at, .kind = "store restarted"});
  } else if (const auto* fault = std::get_if<history::Disturbance>(&event)) {
    const bool shown = fault->client && disturbances_.size() < kMaxConnections;
    if (shown) disturbances_.push_back(*fault);
    if (is_of_broker(fault->kind)) marks_.push_back(*fault);
  }
}

std::string Timeline::html(const TimelineHead& head, const scenario::Catalogue& catalogue) const {
  std::vector<const std::pair<Index, Operation>*> sorted;
  sorted.reserve(operations_.size());
  for (const auto& each : operations_) sorted.push_back(&each);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return a->second.called < b->second.called;
  });
  const bool begins = !sorted.empty() && !head.counts_lines;
  PageData page(limits_, begins ? sorted.front()->second.called.count() : 0);
  for (const auto* each : sorted) page.add(each->first, each->second);
  ordered_json data{{"unit", head.counts_lines ? "lines" : "ns"},
                    {"total", total_},
                    {"keys", ok_ + head.more_ok + violations_ + unknown_},
                    {"not_shown", violations_ + unknown_ - findings_.size()},
                    {"verdicts", ordered_json::array()},
                    {"notifications", ordered_json::array()},
                    {"connections", ordered_json::array()},
                    {"marks", ordered_json::array()}};
  for (const history::KeyVerdict& key : findings_) {
    data["verdicts"].push_back(finding_json(key, catalogue, page));
  }
  std::vector<history::Notification> notified = notifications_;
  std::stable_sort(notified.begin(), notified.end(),
                   [](const auto& a, const auto& b) { return a.arrived < b.arrived; });
  for (const auto& each : notified) data["notifications"].push_back(notification_json(each, page));
  for (const auto& each : connections_) {
    data["connections"].push_back({{"at", page.since(each.at)},
                                   {"client", page.client(each.client)},
                                   {"link", name(each.link)}});
  }
  for (const auto& each : disturbances_) {
    data["connections"].push_back({{"at", page.since(each.at)},
                                   {"client", page.client(*each.client)},
                                   {"fault", text::printable(each.kind)}});
  }
  for (const auto& each : marks_) {
    data["marks"].push_back({{"at", page.since(each.at)}, {"fault", text::printable(each.kind)}});
  }
  page.take(data);
  const std::size_t violations = violations_ + count_of(head, Answer::kViolation);
  const bool whole_is_unknown = count_of(head, Answer::kUnknown) != 0;
  const std::size_t keys_ok = ok_ + head.more_ok;
  const bool bad = violations != 0;
  const bool doubt = !bad && (unknown_ != 0 || whole_is_unknown || total_ == 0);
  const std::string title = bad                ? text::counted(violations, "violation")
                            : unknown_ != 0    ? text::counted(unknown_, "key") + " undecided"
                            : whole_is_unknown ? "Not decided"
                            : total_ == 0      ? "No operations"
                                               : "No violations";
  return page::verdict_page(
      page::timeline_page_files(),
      {bad     ? "failed"
       : doubt ? "open"
               : "conformant",
       bad     ? "✗"
       : doubt ? "?"
               : "✓",
       title,
       fmt::format("{}: {}; {} ok, {}, {} unknown", text::printable(head.source),
                   text::counted(total_, "operation"), text::counted(keys_ok, "key"),
                   text::counted(violations, "violation"), unknown_)},
      {.product = "history of concurrent requests",
       .main = "timeline",
       .document = title + ": " + head.source},
      {{"facts", html_whole(head, catalogue) + html_facts(head)},
       {"commands", html_commands(head)},
       {"static_list", html_list(findings_, limits_.bytes)},
       {"data", page::data_island(data)}});
}

}  // namespace fencepost::histories
