// Properties of the store over random traces: several clients, three keys, and every option, token
// and timestamp near the limits, while clocks step and connections end. The second model below
// shares nothing with the store but types.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "reference_store/rules.h"
#include "reference_store/store_fixture.h"

namespace fencepost::store {

// ---- Traces

enum class Kind { kSet, kGet, kDel, kVdel, kObserve, kStop, kDisconnect, kTimer };

// One thing that happens. Its clock steps come first.
struct Step {
  Kind kind = Kind::kGet;
  std::int64_t passes_us = 0;  // on both clocks
  std::int64_t jump_ms = 0;    // on the wall clock alone
  std::string client{};
  std::string key{};
  std::string value{};
  codec::Condition condition = codec::Condition::kAlways;
  std::optional<std::int64_t> px_ms{};
  std::string timestamp{};  // see text_of()
  std::string token{};
};

using Trace = std::vector<Step>;

// RapidCheck finds this by argument-dependent lookup.
void showValue(const Step& step, std::ostream& os) {
  constexpr std::array kNames = {"SET",       "GET",  "DEL",        "VDEL",
                                 "KEYNOTIFY", "STOP", "DISCONNECT", "TIMER"};
  os << "+" << step.passes_us << "us jump " << step.jump_ms << "ms " << step.client << " "
     << kNames.at(static_cast<std::size_t>(step.kind)) << " " << step.key << " " << step.value
     << " condition " << static_cast<int>(step.condition);
  if (step.px_ms) os << " PX " << *step.px_ms;
  os << " ts[" << step.timestamp << "] ft[" << step.token << "]";
}

namespace {

using codec::Condition;
using hlc::Timestamp;

// The text of a property: "" none, "!x" the text x, "@offset:counter:node" relative to the wall
// clock, and
// "#offset:counter:node" relative to noon, so that tokens of different times can be equal.
std::optional<std::string> text_of(const std::string& spec, std::uint64_t wall_ms) {
  if (spec.empty()) return std::nullopt;
  if (spec[0] == '!') return spec.substr(1);
  const std::size_t colon = spec.find(':');
  const std::int64_t offset = std::stoll(spec.substr(1, colon - 1));
  const std::uint64_t base = spec[0] == '@' ? wall_ms : kNoon;
  return std::to_string(base + static_cast<std::uint64_t>(offset)) + spec.substr(colon);
}

rc::Gen<std::string> some_timestamp() {
  return rc::gen::weightedElement<std::string>({{16, "@0:0:a"},
                                                {3, "@0:5:b"},
                                                {2, "@-1:9:a"},
                                                {2, "@-31536000000:0:a"},
                                                {3, "@1:0:StateStore"},
                                                {2, "@59999:3:a"},
                                                {3, "@60000:0:zz"},
                                                {2, "@60001:0:a"},
                                                {1, "@600000:0:a"},
                                                {1, "@0:9223372036854775807:a"},
                                                {1, "@0:9223372036854775808:a"},
                                                {1, "!"},
                                                {1, "!1:2:3:4"},
                                                {1, "!NotValid"},
                                                {2, ""}});
}

rc::Gen<std::string> some_token() {
  return rc::gen::weightedElement<std::string>({{24, ""},
                                                {6, "#1:0:n"},
                                                {6, "#2:0:n"},
                                                {2, "#2:9:n"},
                                                {2, "#2:10:n"},
                                                {2, "#2:10:A"},
                                                {2, "#3:0:a"},
                                                {1, "#3:18446744073709551615:a"},
                                                {1, "!0:0:n"},
                                                {1, "@60000:0:n"},
                                                {1, "@60001:0:n"},
                                                {1, "!"},
                                                {1, "!bad"}});
}

rc::Gen<Step> some_step() {
  const auto px = rc::gen::weightedElement<std::int64_t>(
      {{10, -1}, {1, 0}, {2, 1}, {3, 50}, {3, 100}, {1, 1000}});
  return rc::gen::build<Step>(
      rc::gen::set(&Step::kind, rc::gen::weightedElement<Kind>({{10, Kind::kSet},
                                                                {3, Kind::kGet},
                                                                {2, Kind::kDel},
                                                                {3, Kind::kVdel},
                                                                {3, Kind::kObserve},
                                                                {1, Kind::kStop},
                                                                {1, Kind::kDisconnect},
                                                                {1, Kind::kTimer}})),
      rc::gen::set(&Step::passes_us, rc::gen::weightedElement<std::int64_t>({{12, 0},
                                                                             {2, 1},
                                                                             {2, 1'000},
                                                                             {2, 49'999},
                                                                             {3, 50'000},
                                                                             {1, 100'000},
                                                                             {1, 3'600'000'000}})),
      rc::gen::set(&Step::jump_ms,
                   rc::gen::weightedElement<std::int64_t>(
                       {{24, 0}, {1, 7}, {1, -1}, {1, -60'001}, {1, -7'200'000}, {1, 61'000}})),
      rc::gen::set(&Step::client, rc::gen::element<std::string>("c", "d", "cc")),
      rc::gen::set(&Step::key, rc::gen::element<std::string>("k", "k2", "K")),
      rc::gen::set(&Step::value,
                   rc::gen::weightedElement<std::string>({{4, "v"}, {2, "w"}, {1, "vv"}, {1, ""}})),
      rc::gen::set(&Step::condition,
                   rc::gen::weightedElement<Condition>({{4, Condition::kAlways},
                                                        {1, Condition::kIfAbsent},
                                                        {2, Condition::kIfAbsentOrEqual}})),
      rc::gen::set(&Step::px_ms, rc::gen::map(px,
                                              [](std::int64_t ms) {
                                                return ms < 0 ? std::optional<std::int64_t>() : ms;
                                              })),
      rc::gen::set(&Step::timestamp, some_timestamp()), rc::gen::set(&Step::token, some_token()));
}

// Long enough for keys to live, to be fenced and to come back, at any size that RapidCheck has in
// mind.
rc::Gen<Trace> some_trace() { return rc::gen::scale(4.0, rc::gen::container<Trace>(some_step())); }

void move_clocks(SteppedStore& store, const Step& step) {
  store.set_wall(step.jump_ms);
  store.step(std::chrono::microseconds{step.passes_us});
}

// Carries out a step whose clock steps are done.
Answer act(SteppedStore& store, const Step& step) {
  SetOptions with{.condition = step.condition,
                  .timestamp = text_of(step.timestamp, store.now().wall_ms),
                  .token = text_of(step.token, store.now().wall_ms),
                  .client = step.client};
  if (step.px_ms) with.px = std::chrono::milliseconds{*step.px_ms};
  switch (step.kind) {
    case Kind::kSet:
      return store.set(step.key, step.value, with);
    case Kind::kGet:
      return store.get(step.key, with);
    case Kind::kDel:
      return store.del(step.key, with);
    case Kind::kVdel:
      return store.vdel(step.key, step.value, with);
    case Kind::kObserve:
      return store.apply({.verb = codec::Verb::kKeynotify, .key = step.key}, with);
    case Kind::kStop:
      return store.apply({.verb = codec::Verb::kKeynotify, .key = step.key, .stop = true}, with);
    case Kind::kDisconnect:
      store->disconnect(step.client);
      return {};
    case Kind::kTimer:
      return {.reply = "", .events = store.expire()};
  }
  return {};
}

// Did the request change a key?
bool changed(const Step& step, const Answer& answer) {
  if (step.kind == Kind::kSet) return answer.reply == "OK";
  return (step.kind == Kind::kDel || step.kind == Kind::kVdel) && answer.reply == "count 1";
}

bool refused(const Answer& answer) {
  return answer.reply.rfind("error ", 0) == 0 || answer.reply == "not applied";
}

using Snapshot = std::map<std::string, Answer>;

Snapshot snapshot(SteppedStore& store) {
  Snapshot all;
  for (const std::string key : {"k", "k2", "K"}) all[key] = store.get(key);
  return all;
}

// ---- The second model: linear search, nothing remembered that can be computed again.

class NaiveStore {
 public:
  Answer act(const Step& step, std::uint64_t wall_ms, std::int64_t now_us) {
    Answer answer;
    // The end of a connection is no reason to look at the clock; everything else is.
    if (step.kind != Kind::kDisconnect) expire(now_us, answer.events);
    switch (step.kind) {
      case Kind::kSet:
        set(step, wall_ms, now_us, answer);
        break;
      case Kind::kGet:
        answer.reply = "missing";
        if (Row* row = find(step.key)) answer = with(answer, "value " + row->value, row->version);
        break;
      case Kind::kDel:
      case Kind::kVdel:
        remove(step, wall_ms, answer);
        break;
      case Kind::kObserve:
        answer.reply = "OK";
        if (observers(step.key, step.client) == 0) watches_.push_back({step.key, step.client});
        break;
      case Kind::kStop:
        answer.reply = observers(step.key, step.client) == 0 ? "count 0" : "OK";
        std::erase(watches_, std::pair(step.key, step.client));
        break;
      case Kind::kDisconnect:
        std::erase_if(watches_, [&](const auto& watch) { return watch.second == step.client; });
        break;
      case Kind::kTimer:
        break;
    }
    return answer;
  }

  // How often `client` watches the key.
  [[nodiscard]] std::size_t observers(const std::string& key, const std::string& client) const {
    return static_cast<std::size_t>(
        std::count(watches_.begin(), watches_.end(), std::pair(key, client)));
  }

  [[nodiscard]] std::size_t size() const { return rows_.size(); }

 private:
  struct Row {
    std::string key;
    std::string value;
    Timestamp version;
    std::vector<Timestamp> tokens{};  // all that came with a SET that was applied
    std::optional<std::int64_t> deadline_us{};
    std::size_t deadline_rank = 0;  // among equal deadlines, the one set first goes first
  };

  static Answer with(const Answer& answer, std::string reply, std::optional<Timestamp> version) {
    return {std::move(reply), std::move(version), answer.events};
  }

  Row* find(const std::string& key) {
    for (Row& row : rows_) {
      if (row.key == key) return &row;
    }
    return nullptr;
  }

  void erase(const std::string& key, std::vector<std::string>& events) {
    for (const auto& [watched, client] : watches_) {
      if (watched == key) events.push_back(delete_event(client, key, find(key)->version));
    }
    std::erase_if(rows_, [&](const Row& row) { return row.key == key; });
  }

  void expire(std::int64_t now_us, std::vector<std::string>& events) {
    while (true) {
      const Row* due = nullptr;
      for (const Row& row : rows_) {
        if (!row.deadline_us || *row.deadline_us > now_us) continue;
        if (due == nullptr || std::pair(*row.deadline_us, row.deadline_rank) <
                                  std::pair(*due->deadline_us, due->deadline_rank)) {
          due = &row;
        }
      }
      if (due == nullptr) return;
      erase(std::string(due->key), events);
    }
  }

  // "" when the property is absent or good, else the error.
  static std::string fault(const std::optional<std::string>& text, std::uint64_t wall_ms,
                           const std::string& too_far) {
    if (!text) return "";
    const auto timestamp = hlc::parse(*text);
    if (!timestamp) return "error malformed-timestamp";
    return timestamp->wall_ms > wall_ms + 60'000 ? "error " + too_far : "";
  }

  static std::string fence(const Row* row, const std::optional<std::string>& token) {
    if (row == nullptr || row->tokens.empty()) return "";
    if (!token) return "error token-required";
    for (const Timestamp& held : row->tokens) {
      if (*hlc::parse(*token) < held) return "error token-lower";
    }
    return "";
  }

  // Every timestamp that the store ever took in or gave out is remembered, and the clock is worked
  // out from all.
  Timestamp next_version(const Timestamp& received, std::uint64_t wall_ms) {
    history_.push_back(received);
    std::uint64_t newest = wall_ms;
    for (const Timestamp& seen : history_) newest = std::max(newest, seen.wall_ms);
    std::uint64_t counter = 0;
    for (const Timestamp& seen : history_) {
      if (seen.wall_ms == newest) counter = std::max(counter, seen.counter + 1);
    }
    history_.push_back({newest, counter, "StateStore"});
    return history_.back();
  }

  void set(const Step& step, std::uint64_t wall_ms, std::int64_t now_us, Answer& answer) {
    const std::optional<std::string> timestamp = text_of(step.timestamp, wall_ms);
    const std::optional<std::string> token = text_of(step.token, wall_ms);
    Row* row = find(step.key);
    if (!timestamp) answer.reply = "error missing-timestamp";
    if (answer.reply.empty()) answer.reply = fault(timestamp, wall_ms, "timestamp-too-far-ahead");
    if (answer.reply.empty() && hlc::parse(*timestamp)->counter > kMaxRequestCounter) {
      answer.reply = "error malformed-timestamp";
    }
    if (answer.reply.empty()) answer.reply = fault(token, wall_ms, "token-too-far-ahead");
    if (answer.reply.empty()) answer.reply = fence(row, token);
    if (!answer.reply.empty()) return;
    if (row != nullptr &&
        (step.condition == Condition::kIfAbsent ||
         (step.condition == Condition::kIfAbsentOrEqual && row->value != step.value))) {
      answer = with(answer, "not applied", row->version);
      return;
    }
    Row next{step.key, step.value, next_version(*hlc::parse(*timestamp), wall_ms)};
    if (row != nullptr) next.tokens = row->tokens;
    if (token) next.tokens.push_back(*hlc::parse(*token));
    if (step.px_ms) next.deadline_us = now_us + *step.px_ms * 1000;
    next.deadline_rank = history_.size();
    for (const auto& [watched, client] : watches_) {
      if (watched != step.key) continue;
      answer.events.push_back(set_event(client, step.key, step.value, next.version));
    }
    answer = with(answer, "OK", next.version);
    std::erase_if(rows_, [&](const Row& old) { return old.key == step.key; });
    rows_.push_back(std::move(next));
  }

  void remove(const Step& step, std::uint64_t wall_ms, Answer& answer) {
    const std::optional<std::string> token = text_of(step.token, wall_ms);
    const Row* row = find(step.key);
    answer.reply = fault(token, wall_ms, "token-too-far-ahead");
    if (answer.reply.empty() && row == nullptr) answer.reply = "count 0";
    if (answer.reply.empty()) answer.reply = fence(row, token);
    if (!answer.reply.empty()) return;
    if (step.kind == Kind::kVdel && row->value != step.value) {
      answer.reply = "not applied";
      return;
    }
    answer = with(answer, "count 1", row->version);
    erase(step.key, answer.events);
  }

  std::vector<Row> rows_;
  std::vector<std::pair<std::string, std::string>> watches_;  // key and client, in order
  std::vector<Timestamp> history_;
};

RC_GTEST_PROP(StoreProperty, AgreesWithANaiveModelOnEveryReplyAndEvent, ()) {
  const Trace trace = *some_trace();
  SteppedStore store;
  NaiveStore naive;
  for (const Step& step : trace) {
    move_clocks(store, step);
    const Answer expected = naive.act(step, store.now().wall_ms, store.now().steady.count());
    const Answer seen = act(store, step);
    RC_ASSERT(seen.reply == expected.reply);
    RC_ASSERT(seen.version == expected.version);
    RC_ASSERT(seen.events == expected.events);
    RC_ASSERT(store->size() == naive.size());
  }
}

RC_GTEST_PROP(StoreProperty, VersionsOfAKeyStrictlyIncreaseAndExceedTheRequest, ()) {
  const Trace trace = *some_trace();
  SteppedStore store;
  std::map<std::string, Timestamp> newest;
  for (const Step& step : trace) {
    move_clocks(store, step);
    const std::optional<std::string> text = text_of(step.timestamp, store.now().wall_ms);
    const Answer answer = act(store, step);
    if (step.kind != Kind::kSet || answer.reply != "OK") continue;
    RC_ASSERT(answer.version.has_value());
    const Timestamp request = hlc::parse(*text).value();
    // The node may not make up for a missing tick.
    RC_ASSERT(std::pair(answer.version->wall_ms, answer.version->counter) >
              std::pair(request.wall_ms, request.counter));
    RC_ASSERT(std::pair(answer.version->wall_ms, answer.version->counter) >
              std::pair(newest[step.key].wall_ms, newest[step.key].counter));
    RC_ASSERT(answer.version->wall_ms >= store.now().wall_ms);
    newest[step.key] = *answer.version;
  }
}

RC_GTEST_PROP(StoreProperty, ARequestThatIsRefusedOrNotAppliedChangesNothing, ()) {
  const Trace trace = *some_trace();
  SteppedStore store;
  for (const Step& step : trace) {
    move_clocks(store, step);
    store.expire();
    const Snapshot before = snapshot(store);
    const auto next_expiry = store->next_expiry();
    const Answer answer = act(store, step);
    if (!refused(answer)) continue;
    RC_ASSERT(answer.events.empty());
    RC_ASSERT(snapshot(store) == before);
    RC_ASSERT(store->next_expiry() == next_expiry);
  }
}

// What a client cannot read with GET shows later: the clock, tokens, registrations. So one store
// sees the whole trace, and one sees it without the requests that came to nothing.
RC_GTEST_PROP(StoreProperty, ARequestThatIsRefusedOrNotAppliedLeavesNoTrace, ()) {
  const Trace trace = *some_trace();
  SteppedStore all;
  SteppedStore some;
  for (const Step& step : trace) {
    move_clocks(all, step);
    move_clocks(some, step);
    const std::vector<std::string> expired = some.expire();
    RC_ASSERT(all.expire() == expired);
    const Answer answer = act(all, step);
    if (refused(answer) || answer.reply == "count 0") continue;
    RC_ASSERT(act(some, step) == answer);
  }
}

RC_GTEST_PROP(StoreProperty, TheTokenOfAKeyNeverDecreasesWhileTheKeyLives, ()) {
  const Trace trace = *some_trace();
  SteppedStore store;
  std::map<std::string, Timestamp> held;  // the highest token of an applied SET
  for (const Step& step : trace) {
    move_clocks(store, step);
    store.expire();
    for (const auto& [key, answer] : snapshot(store)) {
      if (answer.reply == "missing") held.erase(key);
    }
    const std::optional<std::string> token = text_of(step.token, store.now().wall_ms);
    const Answer answer = act(store, step);
    const auto protector = held.find(step.key);
    if (changed(step, answer) && protector != held.end()) {
      RC_ASSERT(token.has_value());
      RC_ASSERT(hlc::parse(*token).value() >= protector->second);
    }
    if (answer.reply == "error token-required" || answer.reply == "error token-lower") {
      RC_ASSERT(protector != held.end());
      RC_ASSERT(token.has_value() == (answer.reply == "error token-lower"));
      if (token) RC_ASSERT(hlc::parse(*token).value() < protector->second);
    }
    if (step.kind == Kind::kSet && changed(step, answer) && token) {
      held[step.key] = hlc::parse(*token).value();
    }
  }
}

RC_GTEST_PROP(StoreProperty, EveryChangeYieldsOneEventForEachObserverAndNothingElseDoes, ()) {
  const Trace trace = *some_trace();
  SteppedStore store;
  std::set<std::pair<std::string, std::string>> watches;  // key and client
  // The events that turn `before` into `after`.
  const auto due = [&watches](const Snapshot& before, const Snapshot& after) {
    std::multiset<std::string> events;
    for (const auto& [key, client] : watches) {
      const Answer& old = before.at(key);
      const Answer& now = after.at(key);
      if (old.version == now.version) continue;
      events.insert(now.version ? set_event(client, key, now.reply.substr(6), *now.version)
                                : delete_event(client, key, *old.version));
    }
    return events;
  };
  Snapshot known = snapshot(store);
  for (const Step& step : trace) {
    move_clocks(store, step);
    const std::vector<std::string> expired = store.expire();
    const Snapshot before = snapshot(store);
    RC_ASSERT(std::multiset<std::string>(expired.begin(), expired.end()) == due(known, before));
    const std::vector<std::string> events = act(store, step).events;
    // A key that expires immediately is seen with the next step.
    if (step.kind == Kind::kSet && step.px_ms == 0 && !events.empty()) {
      known = before;
      const std::vector<std::string> gone = store.expire();
      RC_ASSERT(gone.size() == events.size());
    } else {
      RC_ASSERT(std::multiset<std::string>(events.begin(), events.end()) ==
                due(before, snapshot(store)));
    }
    known = snapshot(store);
    if (step.kind == Kind::kObserve) watches.insert({step.key, step.client});
    if (step.kind == Kind::kStop) watches.erase({step.key, step.client});
    std::erase_if(watches, [&](const auto& watch) {
      return step.kind == Kind::kDisconnect && watch.second == step.client;
    });
  }
}

RC_GTEST_PROP(StoreProperty, AKeyIsSeenBeforeItsDeadlineAndNeverAfter, ()) {
  const Trace trace = *some_trace();
  SteppedStore store;
  std::map<std::string, std::int64_t> alive;  // key -> deadline in microseconds
  for (const Step& step : trace) {
    move_clocks(store, step);
    const std::int64_t now_us = store.now().steady.count();
    for (const std::string key : {"k", "k2", "K"}) {
      const auto found = alive.find(key);
      const bool expected = found != alive.end() && now_us < found->second;
      RC_ASSERT((store.get(key).reply != "missing") == expected);
      if (!expected) alive.erase(key);
    }
    const Answer answer = act(store, step);
    if (!changed(step, answer)) continue;
    alive.erase(step.key);
    if (step.kind != Kind::kSet) continue;
    const std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();
    alive[step.key] = step.px_ms ? now_us + *step.px_ms * 1000 : for_ever;
  }
}

// The traces are worth something: together they meet every reply and both kinds of event, each many
// times.
TEST(StoreTraces, ReachEveryOutcomeOften) {
  std::map<std::string, int> seen;
  const rc::Gen<Trace> traces = some_trace();
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Trace trace = traces(rc::Random(seed), 100).value();
    SteppedStore store;
    for (const Step& step : trace) {
      move_clocks(store, step);
      const Answer answer = act(store, step);
      ++seen[answer.reply.rfind("value", 0) == 0 ? "value" : answer.reply];
      for (const std::string& event : answer.events) {
        ++seen[event.find(" SET ") != std::string::npos ? "event SET" : "event DELETE"];
      }
    }
  }
  for (const char* outcome :
       {"OK", "not applied", "value", "missing", "count 0", "count 1", "error missing-timestamp",
        "error malformed-timestamp", "error timestamp-too-far-ahead", "error token-too-far-ahead",
        "error token-required", "error token-lower", "event SET", "event DELETE"}) {
    EXPECT_GE(seen[outcome], 20) << outcome;
  }
}

}  // namespace
}  // namespace fencepost::store
