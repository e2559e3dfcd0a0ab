#include "concurrency/history/counter_example.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "concurrency/history/value_order.h"

namespace fencepost::history {
namespace {

// What a request was answered is forgotten, and not the request: without a reply it may have
// happened or not, which allows all that any reply would. If there is no order then, there is none
// regardless of what it was answered. So what is left proves the violation
// (docs/decisions/0020-histories-by-versions.md).
class Shrinker {
 public:
  Shrinker(const KeyHistory& history, const Bounds& bounds, const CounterExampleLimits& limits)
      : history_(history), bounds_(bounds), limits_(limits) {
    kept_.resize(history.entries().size());
    std::iota(kept_.begin(), kept_.end(), Index{0});
    forgotten_.assign(kept_.size(), false);
    left_ = limits.work;
  }

  std::vector<Index> run(std::int64_t stuck_at) {
    const auto& entries = history_.entries();
    // The search has never come so far: most of a long history goes immediately.
    forget_if_not_needed(chosen([&](const Entry& entry) { return entry.called > stuck_at; }));
    // First what changes nothing: that makes the search shorter.
    halve(chosen([](const Entry& entry) { return !entry.may_change(); }));
    halve(chosen([](const Entry& entry) { return entry.may_change(); }));
    std::vector<Index> out;
    for (const Index i : kept_) {
      if (!forgotten_[i] && entries[i].outcome != Outcome::kUnknown) out.push_back(i);
    }
    return out;
  }

  // False when the limits were reached before every entry was tried.
  [[nodiscard]] bool minimal() const { return minimal_; }

 private:
  template <typename Wanted>
  [[nodiscard]] std::vector<Index> chosen(const Wanted& wanted) const {
    std::vector<Index> out;
    for (const Index i : kept_) {
      if (!forgotten_[i] && wanted(history_.entries()[i])) out.push_back(i);
    }
    return out;
  }

  // As in delta debugging (Zeller 1999): most of a history has nothing to do with it, and goes in
  // large parts.
  void halve(const std::vector<Index>& entries) {
    if (forget_if_not_needed(entries) || left_ == 0 || entries.size() == 1) return;
    const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(entries.size() / 2);
    // From the end: what is late depends on what was before it.
    halve({middle, entries.end()});
    halve({entries.begin(), middle});
  }

  // Forgets what these were answered, unless there is an order then.
  bool forget_if_not_needed(const std::vector<Index>& entries) {
    if (entries.empty()) return true;
    if (left_ == 0) {
      minimal_ = false;
      return false;
    }
    for (const Index i : entries) forgotten_[i] = true;
    KeyHistory weaker = history_.without_replies(forgotten_);
    weaker.resolve();
    bool still = !weaker.flaws().empty();
    // The copy costs as much as there are entries, even where the search ends immediately.
    std::size_t work = kept_.size();
    if (!still) {
      const SearchResult result = search(weaker, bounds_, limits_.search);
      // A search that gives up has not shown that there is no order: the replies are kept, and the
      // counter-example is larger than it need be, but correct.
      still = result.decision == Decision::kNoOrder;
      const bool undecided = result.decision == Decision::kUndecided;
      if (undecided && entries.size() == 1) minimal_ = false;
      work += result.steps;
    }
    left_ -= std::min(left_, work);
    if (!still) {
      for (const Index i : entries) forgotten_[i] = false;
    }
    return still;
  }

  const KeyHistory& history_;
  const Bounds& bounds_;
  const CounterExampleLimits& limits_;
  std::vector<Index> kept_{};
  std::vector<bool> forgotten_{};
  std::size_t left_ = 0;
  bool minimal_ = true;
};

const Entry& last_of(const std::vector<Entry>& shown) {
  return *std::max_element(shown.begin(), shown.end(),
                           [](const Entry& a, const Entry& b) { return a.returned < b.returned; });
}

// Was what this GET read written with a PX that had passed long ago?
bool outlived(const std::vector<Entry>& shown, const Entry& read, const Bounds& bounds) {
  const std::int64_t late = std::chrono::nanoseconds(bounds.expiry_late).count();
  return std::any_of(shown.begin(), shown.end(), [&](const Entry& entry) {
    return entry.writes_value() && entry.expires_after >= 0 && entry.value == read.other &&
           entry.returned != kNever.count() &&
           read.called > entry.returned + entry.expires_after + late;
  });
}

std::string_view text_of(std::string_view requirement) {
  if (requirement == "SET-PX-1") return "the key existed long after its PX had passed";
  if (requirement == "SET-PX-2") return "the key was gone before its PX had passed";
  if (requirement == "SET-PX-4") return "the key existed again after it had expired";
  return "the history of the key is not linearizable";
}

// Did it read a value that only refused SETs have sent, or no client? Then `flaw` says so.
bool reads_what_was_refused(const KeyHistory& history, const Entry& read, Flaw& flaw) {
  if (read.outcome != Outcome::kValue) return false;
  Index refused = kNone;
  const auto& entries = history.entries();
  for (Index i = 0; i < entries.size(); ++i) {
    if (!entries[i].writes_value() || entries[i].value != read.other) continue;
    // One that was not applied may have left its token (Req: FT-OPEN-4), but not its value.
    if (entries[i].may_change() && entries[i].outcome != Outcome::kNotApplied) return false;
    refused = i;
  }
  flaw.requirement = "GET-HIT-3";
  flaw.what = "a GET returned a value that no client has sent";
  if (refused == kNone) return true;
  flaw.requirement =
      entries[refused].outcome == Outcome::kNotApplied ? "SET-NOT-APPLIED-2" : "ERR-STATE-1";
  flaw.what = "a GET returned the value of a SET that was refused";
  flaw.entries.push_back(refused);
  return true;
}

// The search shows that there is no order, not which rule is broken. The last answer is the one
// that the others exclude, so the violation is attributed to it; where no rule forbids it, there is
// only the order, which the protocol leaves unspecified (Req: ENV-ORDER-OPEN-2).
std::string_view requirement_of(const std::vector<Entry>& shown, bool keys_expire,
                                const Bounds& bounds) {
  if (shown.empty()) return "ENV-ORDER-OPEN-2";
  const Entry& last = last_of(shown);
  const auto any = [&](auto wanted) { return std::any_of(shown.begin(), shown.end(), wanted); };
  const bool expires = any([](const Entry& entry) { return entry.expires_after >= 0; });
  const bool nx = last.condition == codec::Condition::kIfAbsent;
  switch (last.outcome) {
    case Outcome::kOk:
      if (expires) return "SET-PX-2";
      if (last.condition == codec::Condition::kAlways) return "VER-UPDATE-3";
      return nx ? "SET-NX-2" : "SET-NEX-3";
    case Outcome::kNotApplied:
      if (expires) return "SET-PX-4";
      if (last.action == Action::kVdel) return "VDEL-MATCH-1";
      return nx ? "SET-NX-1" : "SET-NEX-1";
    case Outcome::kValue:
      if (any([](const Entry& entry) { return entry.outcome == Outcome::kMissing; })) {
        return keys_expire ? "SET-PX-4" : "DEL-REMOVE-1";
      }
      return outlived(shown, last, bounds) ? "SET-PX-1" : "SET-WRITE-2";
    case Outcome::kMissing:
      if (expires) return "SET-PX-2";
      return last.action == Action::kGet ? "SET-WRITE-1" : "DEL-OK-1";
    case Outcome::kDeleted:
      if (expires) return "SET-PX-4";
      return last.action == Action::kVdel ? "VDEL-MISS-1" : "DEL-MISS-1";
    case Outcome::kTokenRequired:
      return "FT-OPTIONAL-1";
    case Outcome::kTokenLower:
      return "FT-ACCEPT-1";
    default:
      return "ENV-ORDER-OPEN-2";
  }
}

}  // namespace

Flaw counter_example_of(const KeyHistory& history, const Bounds& bounds, const SearchResult& found,
                        const Flaw& hint, const CounterExampleLimits& limits) {
  const auto& entries = history.entries();
  Flaw out;
  // Versions may say more than values: fewer entries, or a rule.
  const bool values_alone = history.rank_count() == 0 && hint.requirement.empty();
  if (values_alone) out.entries = stale_read(history);
  if (out.entries.empty()) {
    Shrinker shrinker(history, bounds, limits);
    out.entries = shrinker.run(found.stuck_at);
    out.minimal = shrinker.minimal();
  }
  // Not needed for the proof, but to understand it.
  for (std::size_t i = 0, shown = out.entries.size(); i < shown; ++i) {
    const Index rank = history.rank(entries[out.entries[i]]);
    const Index writer = rank == kNone ? kNone : history.writer(rank);
    const bool there =
        std::find(out.entries.begin(), out.entries.end(), writer) != out.entries.end();
    if (writer != kNone && !there) out.entries.push_back(writer);
  }
  std::sort(out.entries.begin(), out.entries.end(), [&](Index a, Index b) {
    return std::pair(entries[a].called, a) < std::pair(entries[b].called, b);
  });
  // Versions name the rule that is broken; without them the outcomes suggest one.
  if (!hint.requirement.empty()) {
    out.requirement = hint.requirement;
    out.what = hint.what;
    return out;
  }
  std::vector<Entry> shown;
  for (const Index i : out.entries) shown.push_back(entries[i]);
  if (!shown.empty() && reads_what_was_refused(history, last_of(shown), out)) return out;
  out.requirement =
      requirement_of(shown,
                     std::any_of(entries.begin(), entries.end(),
                                 [](const Entry& entry) { return entry.expires_after >= 0; }),
                     bounds);
  out.what = text_of(out.requirement);
  return out;
}

}  // namespace fencepost::history
