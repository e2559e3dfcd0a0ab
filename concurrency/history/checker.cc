#include "concurrency/history/checker.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "concurrency/history/value_order.h"
#include "concurrency/history/version_order.h"

namespace fencepost::history {
namespace {

Verdict violation(const KeyHistory& history, const Flaw& flaw) {
  Verdict out{.answer = Answer::kViolation,
              .minimal = flaw.minimal,
              .requirement = std::string(flaw.requirement),
              .text = flaw.what};
  const auto number_of = [&](Index entry) { return history.entries()[entry].number; };
  // A request and its redelivery are one operation.
  const auto add = [](std::vector<Index>& numbers, Index number) {
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
      numbers.push_back(number);
    }
  };
  for (const Index entry : flaw.entries) add(out.operations, number_of(entry));
  for (const Index entry : flaw.others) out.others.push_back(number_of(entry));
  return out;
}

// An ok does not rest on the code that has found the order: the model replays the order
// (docs/decisions/0020-histories-by-versions.md). A bug of the search is
// then reported as unknown, not as ok.
Verdict accepted(const KeyHistory& history, const Bounds& bounds, const std::vector<Index>& order) {
  if (!replays(history, bounds, order)) {
    return {
        .answer = Answer::kUnknown,
        .text =
            "the order that was found breaks the rules: a bug of the checker, please report it"};
  }
  Verdict out{.answer = Answer::kOk};
  out.operations.reserve(order.size());
  for (const Index entry : order) {
    // A redelivery is in an order only where it took effect: the request was carried out twice,
    // which no rule forbids (Req: ENV-DUP-OPEN-1).
    if (history.entries()[entry].second) {
      out.repeated.push_back(history.entries()[entry].number);
    } else {
      out.operations.push_back(history.entries()[entry].number);
    }
  }
  return out;
}

// Req: VER-SET-2
// Wrong in any order. The operation is checked, as its entry does not keep
// `__ts`.
Flaw flaw_of(const Operation& operation, Index number) {
  const bool wrote = operation.action == Action::kSet && operation.outcome == Outcome::kOk;
  if (!wrote || !operation.version || !operation.timestamp) return {};
  if (*operation.version > *operation.timestamp) return {};
  return {"VER-SET-2", "the version of a SET is not greater than its timestamp", {number}};
}

bool is_refused_nx(const Operation& operation) {
  return operation.action == Action::kSet && operation.outcome == Outcome::kNotApplied &&
         operation.condition == codec::Condition::kIfAbsent;
}

}  // namespace

std::string_view name(Answer answer) {
  switch (answer) {
    case Answer::kOk:
      return "ok";
    case Answer::kViolation:
      return "violation";
    case Answer::kUnknown:
      return "unknown";
  }
  return "?";
}

namespace {

Verdict judge_all(KeyHistory& history, const Bounds& bounds, const CheckLimits& limits) {
  history.resolve();
  // The cheapest first: what is wrong in any order, one sort, then the search, which may take
  // exponential time. A contradiction of versions is final even where the values could be explained
  // (Req: VER-UPDATE-3).
  if (!history.flaws().empty()) return violation(history, history.flaws().front());
  const VersionOrder quick = decide_by_versions(history, bounds);
  if (quick.decision == Decision::kOrder) return accepted(history, bounds, quick.order);
  if (quick.decision == Decision::kNoOrder) return violation(history, quick.flaw);
  const SearchResult found = search(history, bounds, limits.search);
  switch (found.decision) {
    case Decision::kOrder:
      return accepted(history, bounds, found.order);
    case Decision::kNoOrder:
      return violation(
          history, counter_example_of(history, bounds, found, quick.flaw, limits.counter_example));
    case Decision::kUndecided:
      break;
  }
  // Three operations may contradict each other regardless of what the search did not come to.
  if (history.rank_count() == 0 && !stale_read(history).empty()) {
    return violation(
        history, counter_example_of(history, bounds, found, quick.flaw, limits.counter_example));
  }
  return {.answer = Answer::kUnknown,
          .text = "the search ended undecided after " + std::to_string(found.steps) + " steps (" +
                  std::string(quick.why) + ")"};
}

// Would the values alone be linearizable? Nothing where there are no versions.
std::optional<Answer> by_values(const KeyHistory& history, const Bounds& bounds,
                                const CheckLimits& limits) {
  const auto& entries = history.entries();
  const bool versions = std::any_of(entries.begin(), entries.end(),
                                    [](const Entry& entry) { return entry.version != kNone; });
  if (!versions) return std::nullopt;
  switch (decide_by_values(history, bounds, limits.values)) {
    case Decision::kOrder:
      return Answer::kOk;
    case Decision::kNoOrder:
      return Answer::kViolation;
    case Decision::kUndecided:
      break;
  }
  return Answer::kUnknown;
}

// A GET that names a version with which no SET can have written what it has read. Versions need not
// be unique for that. (Req: VER-GET-2)
std::optional<Flaw> misread(const KeyHistory& history) {
  const auto& entries = history.entries();
  std::set<std::pair<Index, Index>> written;  // values and versions; kNone: it may be any
  for (const Entry& entry : entries) {
    if (!entry.writes_value()) continue;
    written.emplace(entry.value, entry.outcome == Outcome::kOk ? entry.version : kNone);
  }
  for (Index i = 0; i < entries.size(); ++i) {
    const Entry& read = entries[i];
    if (read.outcome != Outcome::kValue || read.version == kNone) continue;
    if (written.contains({read.other, read.version}) || written.contains({read.other, kNone})) {
      continue;
    }
    const auto writer = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
      return entry.writes_value() && entry.value == read.other;
    });
    std::vector<Index> shown{i};
    if (writer != entries.end()) {
      shown.insert(shown.begin(), static_cast<Index>(writer - entries.begin()));
    }
    return Flaw{"VER-GET-2", "a GET returned a value with another version", std::move(shown)};
  }
  return std::nullopt;
}

// Where versions do not grow, they order nothing, and two SETs may have the same one.
Verdict judge_values(const KeyHistory& history, const Bounds& bounds, const CheckLimits& limits) {
  KeyHistory values = history.without_versions();
  Verdict out = judge_all(values, bounds, limits);
  if (out.answer == Answer::kViolation) return out;
  if (const auto flaw = misread(history)) return violation(history, *flaw);
  if (out.answer == Answer::kOk) out.by_values = Answer::kOk;
  return out;
}

}  // namespace

Verdict judge_key(KeyHistory& history, const Bounds& bounds, const CheckLimits& limits) {
  Verdict out = judge_all(history, bounds, limits);
  // An order of versions that grow is one of values, too: only what contradicts it is looked at
  // again.
  if (out.answer != Answer::kOk && !bounds.versions_grow) {
    out = judge_values(history, bounds, limits);
  }
  // No verdict rests on it: it says how bad the violation is
  // (docs/decisions/0022-histories-of-observers.md).
  if (out.answer == Answer::kViolation && bounds.versions_grow) {
    out.by_values = by_values(history, bounds, limits);
  }
  if (out.repeated.empty()) return out;
  // An order may have a redelivery that it could do without.
  // A repetition is reported only where nothing else explains the history.
  KeyHistory once = history.without_seconds();
  const Verdict without = judge_all(once, bounds, limits);
  return without.answer == Answer::kOk ? without : out;
}

void Checker::add(const Operation& operation) {
  const Index number = added_++;
  // A response shows that the client's connection was alive: up to then it could be notified.
  if (operation.returned != kNever) received(operation.client, operation.returned);
  Key& key = key_of(operation.key);
  // Before flaw_of(), which may make this very operation the violation. Nothing that comes after a
  // violation is shown.
  if (keeps_operations_ && key.settled.answer != Answer::kViolation) {
    key.kept.add(operation, number);
  }
  // Neither changes the key: they have no place in its order, and are for judge_notifications().
  if (operation.action == Action::kObserve || operation.action == Action::kStop) {
    key.observation.registrations.push_back({.client = operation.client,
                                             .stop = operation.action == Action::kStop,
                                             .outcome = operation.outcome,
                                             .called = operation.called,
                                             .returned = operation.returned,
                                             .number = number});
    return;
  }
  if (key.settled.answer == Answer::kViolation) {
    ++key.forgotten;
    return;
  }
  clock_.add(operation, number);
  refuses_nx_ = refuses_nx_ || is_refused_nx(operation);
  key.history.add(operation, number);
  const Flaw flaw = flaw_of(operation, number);
  if (flaw.entries.empty()) return;
  key.settled = {.answer = Answer::kViolation,
                 .operations = flaw.entries,
                 .requirement = std::string(flaw.requirement),
                 .text = flaw.what};
  found_violation_ = true;
}

Checker::Key& Checker::key_of(const std::string& name) {
  const auto found = keys_.find(name);
  return found == keys_.end() ? keys_.try_emplace(name).first->second : found->second;
}

void Checker::received(std::uint32_t client, Time at) {
  Time& last = lives_[client].last_received;
  last = std::max(last, at);
}

void Checker::add(const Notification& notification) {
  received(notification.client, notification.arrived);
  key_of(notification.key).observation.notified.push_back(notification);
}

void Checker::add(const Connection& connection) {
  ClientLife& life = lives_[connection.client];
  // Also where the session was resumed: it is not known since when the connection was dead. What
  // was received last on it came before.
  const bool first = connection.link == Link::kConnected && !std::exchange(life.connected, true);
  if (!first)
    life.breaks.push_back({.noticed = connection.at, .last_received = life.last_received});
}

void Checker::add(const Restart& /*restart*/) { restarted_ = true; }

void Checker::add(const Event& event) {
  if (const auto* operation = std::get_if<Operation>(&event)) add(*operation);
  if (const auto* bounds = std::get_if<Bounds>(&event)) set_bounds(*bounds);
  if (const auto* notification = std::get_if<Notification>(&event)) add(*notification);
  if (const auto* connection = std::get_if<Connection>(&event)) add(*connection);
  if (const auto* restart = std::get_if<Restart>(&event)) add(*restart);
}

void Checker::settle(Time before) {
  if (!bounds_.versions_grow) return;  // they do not tell which value was there last
  for (auto& [name, key] : keys_) {
    const std::size_t enough = std::max(limits_.settle_from, key.settle_from);
    // Notifications are judged against all operations of a key, so these are all kept.
    if (key.observation.empty() && key.history.entries().size() >= enough)
      settle(key, before.count());
  }
}

// What was answered by the quiet moment returned before anything after it was called: an order of
// the past with one of the rest behind it is an order of both, and a past that has none is wrong
// regardless of what comes next. Only what has no reply reaches over that moment, and goes with the
// rest.
void Checker::settle(Key& key, std::int64_t before) {
  const auto& entries = key.history.entries();
  const std::int64_t quiet = key.history.quiet_time(before);
  KeyHistory past;
  KeyHistory rest;
  for (const Entry& entry : entries) {
    if (entry.called < quiet) past.add(key.history, entry);
  }
  key.settle_from = 2 * entries.size();  // so that looking in vain costs no more than adding
  if (past.entries().empty()) return;
  past.resolve();
  VersionOrder order;
  if (past.flaws().empty()) order = decide_by_versions(past, bounds_);
  if (!past.flaws().empty() || order.decision == Decision::kNoOrder) {
    if (deletions_are_fresh()) return;  // see verdict_of()
    key.settled = violation(past, past.flaws().empty() ? order.flaw : past.flaws().front());
    name_by_nx(past, key.settled);
    found_violation_ = true;
    return;
  }
  // Undecided: the search is left for the end, where it has all operations.
  if (order.decision != Decision::kOrder || !replays(past, bounds_, order.order)) return;
  for (Index i = 0; i < past.entries().size(); ++i) {
    Entry entry = past.entries()[i];
    if (i == order.last_writer) {
      // All that is left of what was before: it is known to have happened, so nothing is checked
      // for it.
      entry.condition = codec::Condition::kAlways;
      entry.token = order.last_token;
      entry.outcome = Outcome::kOk;
      entry.adopted = false;
      // An adopted SET may have no return; a reader that had returned by the quiet moment has seen
      // it.
      entry.returned = std::min(entry.returned, quiet - 1);
      // A GET that names a lower version is a stale read, then, not one of a value that was never
      // written.
      rest.set_oldest(past.version(entry.version));
      rest.add(past, entry);
    } else if (i == order.last_deleter || (entry.outcome == Outcome::kUnknown && !entry.adopted)) {
      rest.add(past, entry);
    }
  }
  for (const Entry& entry : entries) {
    if (entry.called >= quiet) rest.add(key.history, entry);
  }
  if (keeps_operations_) {
    std::set<Index> left;
    for (const Entry& entry : rest.entries()) left.insert(entry.number);
    key.kept.keep([&](Index number) { return left.contains(number); });
  }
  key.forgotten += entries.size() - rest.entries().size();
  key.settle_from = 2 * rest.entries().size();
  key.history = std::move(rest);
}

std::size_t Checker::held() const {
  std::size_t out = 0;
  for (const auto& [name, key] : keys_) out += key.history.entries().size();
  return out;
}

// Looks at all keys once: in a few operations on one key, there may be none that shows it.
bool Checker::deletions_are_fresh() {
  if (fresh_deletions_ || looked_for_them_at_ == added_) return fresh_deletions_;
  looked_for_them_at_ = added_;
  for (const auto& [name, key] : keys_) {
    KeyHistory history = key.history;
    history.resolve();
    fresh_deletions_ = fresh_deletions_ || history.has_fresh_deletion();
  }
  return fresh_deletions_;
}

// A SET that was answered and then one with NX: was the first one lost, or did the second overwrite
// it? Where the store has never refused a SET with NX, and nothing else is wrong, it is the second.
// Req: SET-NX-2, SET-WRITE-1
void Checker::name_by_nx(const KeyHistory& history, Verdict& verdict) const {
  if (refuses_nx_ || verdict.requirement == "SET-NX-2") return;
  KeyHistory without = history.without_nx();
  if (judge_key(without, bounds_, limits_).answer != Answer::kOk) return;
  verdict.requirement = "SET-NX-2";
  verdict.text =
      "a SET with NX was carried out on a key that existed: without its condition, the "
      "history of the key is linearizable";
}

Verdict Checker::verdict_of(Key& key) {
  Verdict out = key.settled;
  if (out.answer == Answer::kOk) {
    out = judge_key(key.history, bounds_, limits_);
    // Req: VER-OPEN-4, VER-OPEN-2: the new version of a deletion need not move the clock, so that a
    // SET may get the same one. It does not say then which value was deleted.
    if (out.answer == Answer::kViolation && deletions_are_fresh()) {
      KeyHistory history = key.history.with_fresh_deletions();
      out = judge_key(history, bounds_, limits_);
    }
    if (out.answer == Answer::kViolation) name_by_nx(key.history, out);
  }
  // Only for a key whose operations are linearizable: otherwise it is not known which notifications
  // were due.
  if (out.answer == Answer::kOk && !key.observation.empty()) {
    // Versions that contradict each other say nothing of notifications either.
    if (out.by_values) {
      key.history = key.history.without_versions();
      key.history.resolve();
      for (Notification& each : key.observation.notified) each.version.reset();
    }
    const auto flaw =
        judge_notifications(key.history, key.observation, lives_, bounds_,
                            {.restarted = restarted_, .forgotten = key.forgotten != 0});
    if (flaw) {
      out = {.answer = Answer::kViolation,
             .operations = flaw->numbers,
             .requirement = std::string(flaw->requirement),
             .text = flaw->what};
    }
  }
  if (out.answer != Answer::kViolation) return out;
  for (const Index number : out.operations) {
    if (auto found = key.kept.find(number)) out.shown.push_back(*std::move(found));
  }
  // It is not known whether the store kept its keys (see Restart).
  if (!restarted_) return out;
  return {.answer = Answer::kUnknown,
          .text = "the store was restarted and may have lost the key; otherwise " +
                  out.requirement + " is broken: " + out.text};
}

std::vector<KeyVerdict> Checker::finish(const KeySelection& selection) {
  std::vector<KeyVerdict> out;
  bool found = false;
  auto at = keys_.lower_bound(selection.prefix);
  while (at != keys_.end() && at->first.starts_with(selection.prefix)) {
    Key& key = at->second;
    if (selection.unobserved && !key.observation.empty()) {
      ++at;
      continue;
    }
    if (!found) {
      observe_order(key.observation, lives_, order_);
      out.push_back({.key = at->first,
                     .operations = key.forgotten + key.history.entries().size(),
                     .verdict = verdict_of(key)});
      for (Operation& each : out.back().verdict.shown) each.key = at->first;
    }
    found = selection.until_violation && out.back().verdict.answer == Answer::kViolation;
    at = keys_.erase(at);
  }
  return out;
}

std::vector<KeyVerdict> Checker::finish() {
  std::vector<KeyVerdict> out = finish(KeySelection());
  const OrderObservation order = order_;
  *this = Checker(limits_, keeps_operations_);
  order_ = order;
  return out;
}

}  // namespace fencepost::history
