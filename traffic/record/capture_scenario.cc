#include "traffic/record/capture_scenario.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "traffic/record/capture_case.h"
#include "traffic/record/capture_judge.h"
#include "traffic/record/capture_keys.h"
#include "traffic/record/capture_timeline.h"

namespace fencepost::record {
namespace {

using Kind = TimelineItem::Kind;

// The store's clock minus that of the capture, as far as it shows: of the versions that were made,
// the least ahead of our clock is a reading or later than one.
std::int64_t clock_offset_ms(const Capture& capture, const Timeline& timeline) {
  constexpr std::int64_t kSameMs = 1'000;
  if (capture.clock) return capture.clock->estimate_ms();
  std::optional<std::int64_t> least;
  for (const TimelineItem& item : timeline.items) {
    if (item.kind != Kind::kExchange || item.reply == nullptr) continue;
    const ReadExchange exchange = read(item);
    const bool sets = exchange.command && exchange.command->verb == codec::Verb::kSet;
    const std::string* text = item.reply->property(codec::kTimestampProperty);
    if (!sets || !exchange.answered(codec::ReplyKind::kOk) || text == nullptr) continue;
    const auto version = hlc::parse(*text);
    if (!version) continue;
    const std::int64_t ahead =
        judge::wall_of(*version) -
        std::chrono::duration_cast<std::chrono::milliseconds>(item.received).count();
    least = std::min(least.value_or(ahead), ahead);
  }
  if (!least || (*least > -kSameMs && *least < kSameMs)) return 0;
  return *least;
}

// Which items go into one case: those that have a key or a client in common, or a token that is
// another key's version.
class Groups {
 public:
  explicit Groups(const Timeline& timeline) {
    for (const TimelineItem& item : timeline.items) add_versions(item);
    for (const TimelineItem& item : timeline.items) join(item);
  }

  [[nodiscard]] std::size_t of(const TimelineItem& item) {
    return root(place("client " + item.client_id));
  }

 private:
  std::size_t place(const std::string& name) {
    const auto [found, added] = places_.try_emplace(name, parents_.size());
    if (added) parents_.push_back(parents_.size());
    return found->second;
  }

  std::size_t root(std::size_t at) {
    while (parents_[at] != at) at = parents_[at] = parents_[parents_[at]];
    return at;
  }

  void unite(const std::string& a, const std::string& b) {
    parents_[root(place(a))] = root(place(b));
  }

  void add_versions(const TimelineItem& item) {
    if (item.kind != Kind::kExchange || item.reply == nullptr) return;
    const std::string* version = item.reply->property(codec::kTimestampProperty);
    const std::string key(read(item).key());
    if (version != nullptr && !key.empty()) versions_.emplace(*version, key);
  }

  void join(const TimelineItem& item) {
    const std::string client = "client " + item.client_id;
    place(client);
    if (item.kind == Kind::kDisconnection) return;
    const std::string key =
        item.kind == Kind::kNotification ? item.key : std::string(read(item).key());
    if (!key.empty()) unite(client, "key " + key);
    for (const std::string_view property : {codec::kTimestampProperty, codec::kTokenProperty}) {
      const std::string* text = item.message->property(property);
      if (text == nullptr) continue;
      const auto version = versions_.find(*text);
      if (version != versions_.end()) unite(client, "key " + version->second);
    }
  }

  std::map<std::string, std::size_t> places_;
  std::vector<std::size_t> parents_;
  std::map<std::string, std::string> versions_;  // the key of each
};

std::string broken(const judge::Judgement& judgement) {
  if (judgement.answer != judge::Answer::kRejected) return {};
  return fmt::format("broke {}: {}", judgement.requirement, judgement.because);
}

// There is nothing to replay.
bool is_empty(const std::vector<CapturedStep>& steps) {
  return std::none_of(steps.begin(), steps.end(),
                      [](const CapturedStep& step) { return step.item->kind == Kind::kExchange; });
}

std::vector<std::string> flagged_in(const Timeline& timeline,
                                    const std::vector<judge::Judgement>& judgements) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    const std::string what = broken(judgements[i]);
    if (!what.empty()) out.push_back(describe(timeline.items[i]) + ": " + what);
  }
  return out;
}

std::vector<std::string> notes_of(const Capture& capture, const Timeline& timeline) {
  std::vector<std::string> out = capture.unknown;
  if (timeline.strange_messages > 0) {
    out.push_back(text::counted(timeline.strange_messages, "response") +
                  " to requests that were not seen: left out");
  }
  const auto overlaps = std::count_if(timeline.items.begin(), timeline.items.end(),
                                      [](const TimelineItem& item) { return item.overlaps; });
  if (overlaps > 0) {
    out.push_back(fmt::format("{} in flight together with others: in the order of their responses",
                              text::counted(static_cast<std::size_t>(overlaps), "request")));
  }
  return out;
}

}  // namespace

CaptureScenario capture_scenario(const Capture& capture, const CaptureOptions& options) {
  const Timeline timeline = timeline_of(capture);
  const std::vector<judge::Judgement> judgements = judge(capture, timeline);
  CaptureScenario out;
  out.flagged = flagged_in(timeline, judgements);
  out.notes = out.comments.file = notes_of(capture, timeline);
  Groups groups(timeline);
  std::vector<std::size_t> order;
  std::map<std::size_t, std::vector<CapturedStep>> steps;
  for (std::size_t i = 0; i < timeline.items.size(); ++i) {
    const TimelineItem& item = timeline.items[i];
    if (item.kind == Kind::kExchange) ++out.requests;
    const std::size_t group = groups.of(item);
    if (!steps.contains(group)) order.push_back(group);
    steps[group].push_back({.item = &item, .flagged = broken(judgements[i])});
  }
  std::map<std::string, std::size_t> titles;  // how many have it
  CaseSettings settings{.offset_ms = clock_offset_ms(capture, timeline), .number = 0};
  for (const std::size_t group : order) {
    if (is_empty(steps[group])) continue;
    ++settings.number;
    CapturedCase made = captured_case(capture, steps[group], options, settings);
    out.notes.insert(out.notes.end(), made.notes.begin(), made.notes.end());
    if (!made.test_case) continue;
    const std::size_t times = ++titles[made.test_case->title];
    if (times > 1) made.test_case->title += fmt::format(" ({})", times);
    out.comments.cases[made.test_case->id] = std::move(made.comments);
    out.cases.push_back(*std::move(made.test_case));
  }
  return out;
}

std::string CaptureScenario::text() const { return cases.empty() ? "" : to_yaml(cases, comments); }

std::vector<std::string> flagged(const Capture& capture) {
  const Timeline timeline = timeline_of(capture);
  return flagged_in(timeline, judge(capture, timeline));
}

}  // namespace fencepost::record
