#include "concurrency/history/search.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace fencepost::history {
namespace {

// The hash of what has had its turn, together with the state. A set is the exclusive or of the
// hashes of its members (Zobrist 1970), so that use() and put_back() cost the same regardless of
// what the set has.
struct Hash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  void mix(const Hash& other) {
    low ^= other.low;
    high ^= other.high;
  }
  friend bool operator==(const Hash&, const Hash&) = default;
};

// The last step of SplitMix64 (Steele, Lea and Flood 2014): each bit of `x` reaches all others.
std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

Hash hash_of_entry(Index at) {
  return {scrambled(2 * std::uint64_t{at}), scrambled(2 * std::uint64_t{at} + 1)};
}

Hash hash_of(const State& state) {
  const std::array<std::uint64_t, 6> parts = {
      (std::uint64_t{state.present} << 32U) | state.value,
      state.version,
      state.floor,
      state.token,
      static_cast<std::uint64_t>(state.expires_from),
      static_cast<std::uint64_t>(state.expires_by),
  };
  Hash out{0x243F6A8885A308D3ULL, 0x13198A2E03707344ULL};
  for (const std::uint64_t part : parts) {
    out.low = scrambled(out.low ^ part);
    out.high = scrambled(out.high + part * 0xD6E8FEB86659FD93ULL);
  }
  return out;
}

// The configurations that the search has been to: what was answered and has had its turn, together
// with the state, by a hash; and the requests without a response that took effect, as a set. 128
// bits: that two configurations of a search share a hash is as good as impossible. Two that did
// would cut off a way, and an order could be missed: a false positive.
// Lowe keeps the operations themselves, a bit for each at every configuration, which is quadratic
// in the operations of one key. Here these are only those without a response.
class Visited {
 public:
  using Set = std::vector<std::uint64_t>;

  // `words`: of each set.
  explicit Visited(std::size_t words) : words_(words) {}

  // False when it was there, or one from which all that can happen from here can happen, too: the
  // same, but for requests without a response that are left there and not here. These need not
  // happen, so nothing is lost by not going this way.
  bool add(Hash hash, const Set& optional, Hash of_optional) {
    constexpr std::size_t kMostWords = 8'000'000;
    const auto [slot, added] = insert(hash);
    if (words_ == 0) return added;
    if (has_subset(slot->first, optional)) return false;
    if (sets_.size() < kMostWords) {
      next_.push_back(std::exchange(slot->first, static_cast<Index>(next_.size())));
      sets_.insert(sets_.end(), optional.begin(), optional.end());
      return true;
    }
    // Only the same configuration is known again: with thousands of such requests, sets would take
    // all memory.
    hash.mix({scrambled(of_optional.low), scrambled(of_optional.high)});
    return insert(hash).second;
  }

 private:
  struct Slot {
    Hash hash{};
    Index first = kNone;  // of its sets
  };

  // Valid until the next call; and whether it is new.
  std::pair<Slot*, bool> insert(Hash hash) {
    // Zero is an empty slot.
    if (hash == Hash{}) hash.low = 1;
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = find(hash);
    if (slot.hash == hash) return {&slot, false};
    slot.hash = hash;
    ++used_;
    return {&slot, true};
  }

  [[nodiscard]] bool has_subset(Index first, const Set& of) const {
    constexpr std::size_t kMost = 64;  // looking at all of them may be slower than the way itself
    std::size_t looked_at = 0;
    for (Index at = first; at != kNone && looked_at < kMost; at = next_[at], ++looked_at) {
      const std::uint64_t* set = &sets_[at * words_];
      std::size_t word = 0;
      while (word < words_ && (set[word] & ~of[word]) == 0) ++word;
      if (word == words_) return true;
    }
    return false;
  }
  Slot& find(const Hash& hash) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash.low & mask;
    while (slots_[at].hash != Hash{} && slots_[at].hash != hash) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.hash != Hash{}) find(slot.hash) = slot;
    }
  }

  std::size_t words_;
  std::vector<Slot> slots_{};
  std::size_t used_ = 0;
  std::vector<Index> next_{};  // by set: another one of the same slot
  std::vector<std::uint64_t> sets_{};
};

class Search {
 public:
  Search(const KeyHistory& history, const Bounds& bounds, const SearchLimits& limits)
      : history_(history), model_(history, bounds), limits_(limits) {
    sort_entries();
    sort_exact();
    visited_.emplace((optional_.size() + 63) / 64);
    taken_.assign((optional_.size() + 63) / 64, 0);
    find_unseen_values();
    find_equals();
  }

  SearchResult run() {
    // Frames in the place of recursion: there is one for each operation that has had its turn, and
    // a key may have a million of them.
    enter(State{}, std::numeric_limits<std::int64_t>::min());
    while (!frames_.empty() && result_.decision == Decision::kUndecided) {
      const bool too_many = moves_.size() >= limits_.moves;
      if (too_many || result_.steps >= limits_.steps) return std::move(result_);
      advance();
    }
    if (result_.decision == Decision::kUndecided) {
      result_.decision = Decision::kNoOrder;
      result_.stuck_at = stuck_at_;
    }
    return std::move(result_);
  }

 private:
  struct Move {
    Index entry;  // kNone: the key expires
    State after;
    std::int64_t not_before = std::numeric_limits<std::int64_t>::min();  // when it expires
  };
  static_assert(sizeof(Move) <= 80, "SearchLimits::moves says so");
  struct Frame {
    std::size_t first_move;
    std::size_t next_move;
    std::int64_t last_call;  // of what has had its turn, or the last time that the key expired
    Index applied = kNone;   // by the move that has led to the next frame
  };

  // Lists by time of call: what was answered, and what was not.
  void sort_entries() {
    const auto& entries = history_.entries();
    std::vector<Index> answered;
    for (Index i = 0; i < entries.size(); ++i) {
      const bool optional = entries[i].outcome == Outcome::kUnknown;
      (optional ? optional_ : answered).push_back(i);
      if (optional && entries[i].returned != kNever.count()) over_.push_back(i);
    }
    const auto earlier = [&](Index a, Index b) { return entries[a].called < entries[b].called; };
    std::stable_sort(answered.begin(), answered.end(), earlier);
    std::stable_sort(optional_.begin(), optional_.end(), earlier);
    optional_place_.assign(entries.size(), kNone);
    for (Index i = 0; i < optional_.size(); ++i) optional_place_[optional_[i]] = i;
    // A list with links both ways: what has its turn is taken out, and still knows its neighbours
    // when it is put back, as that is done in the reverse order.
    used_.assign(entries.size(), false);
    next_.assign(entries.size() + 1, end_mark());
    previous_.assign(entries.size() + 1, end_mark());
    Index last = end_mark();
    for (const Index entry : answered) {
      next_[last] = entry;
      previous_[entry] = last;
      last = entry;
    }
    next_[last] = end_mark();
    previous_[end_mark()] = last;
    left_ = answered.size();
  }

  // What belongs to one version: its writer, then what has seen or deleted it. These have their
  // turn in the order of versions.
  void sort_exact() {
    const auto& entries = history_.entries();
    std::vector<std::pair<Index, Index>> exact;  // class, entry
    for (Index i = 0; i < entries.size(); ++i) {
      if (!history_.names_value(entries[i])) continue;
      const Index rank = history_.rank(entries[i]);
      const bool writes = entries[i].writes_value() && entries[i].outcome != Outcome::kNotApplied;
      exact.emplace_back(2 * rank + (writes ? 0 : 1), i);
    }
    std::sort(exact.begin(), exact.end());
    place_.assign(entries.size(), kNone);
    for (const auto& [turn, entry] : exact) {
      place_[entry] = static_cast<Index>(exact_.size());
      exact_.push_back(entry);
    }
  }

  // Values that one SET without a response has, and nothing else: which of them a key has is the
  // same for all that follows.
  void find_unseen_values() {
    const auto& entries = history_.entries();
    std::vector<Index> uses(history_.texts().size(), 0);
    for (const Entry& entry : entries) {
      for (const Index value : {entry.value, entry.other}) {
        if (value != kNone) ++uses[value];
      }
    }
    is_unseen_.assign(entries.size(), false);
    for (const Index at : optional_) {
      const Entry& entry = entries[at];
      // With NEX its own value is compared with that of the key.
      is_unseen_[at] = entry.action == Action::kSet && !entry.adopted &&
                       entry.condition != codec::Condition::kIfAbsentOrEqual &&
                       uses[entry.value] == 1;
      if (is_unseen_[at] && unseen_value_ == kNone) unseen_value_ = entry.value;
    }
  }

  [[nodiscard]] Index value_of(Index at) const {
    return is_unseen_[at] ? unseen_value_ : history_.entries()[at].value;
  }

  // Of requests without a response that would do the same, the one that was sent first has its turn
  // first. Where keys expire, what was sent later may not do the same.
  void find_equals() {
    const auto& entries = history_.entries();
    equal_before_.assign(entries.size(), kNone);
    const auto expires = [](const Entry& entry) { return entry.expires_after >= 0; };
    if (std::any_of(entries.begin(), entries.end(), expires)) return;
    const auto kind_of = [&](Index at) {
      const Entry& entry = entries[at];
      return std::tuple(entry.action, entry.condition, value_of(at), entry.other, entry.token,
                        entry.version);
    };
    std::map<decltype(kind_of(0)), Index> last;
    for (const Index at : optional_) {
      if (entries[at].returned != kNever.count() || entries[at].adopted) continue;
      const auto [known, added] = last.try_emplace(kind_of(at), at);
      if (!added) equal_before_[at] = std::exchange(known->second, at);
    }
  }

  [[nodiscard]] Index end_mark() const { return static_cast<Index>(history_.entries().size()); }

  // What belongs to a version that is over has missed its turn: no way leads on.
  [[nodiscard]] bool dead(const State& state) {
    while (first_exact_ < exact_.size() && used_[exact_[first_exact_]]) ++first_exact_;
    if (first_exact_ == exact_.size()) return false;
    const Entry& entry = history_.entries()[exact_[first_exact_]];
    const Index rank = history_.rank(entry);
    return rank < state.floor && rank != state.version;
  }

  // It is in no list: nothing has to wait for what need not happen.
  [[nodiscard]] bool take_optional(Index entry) {
    if (history_.entries()[entry].outcome != Outcome::kUnknown) return false;
    const Index place = optional_place_[entry];
    taken_[place / 64] ^= std::uint64_t{1} << (place % 64);
    taken_hash_.mix(hash_of_entry(entry));
    return true;
  }

  void use(Index entry) {
    used_[entry] = true;
    order_.push_back(entry);
    if (take_optional(entry)) return;
    hash_.mix(hash_of_entry(entry));
    next_[previous_[entry]] = next_[entry];
    previous_[next_[entry]] = previous_[entry];
    --left_;
  }

  void put_back(Index entry) {
    used_[entry] = false;
    order_.pop_back();
    if (place_[entry] != kNone) first_exact_ = std::min<std::size_t>(first_exact_, place_[entry]);
    if (take_optional(entry)) return;
    hash_.mix(hash_of_entry(entry));
    next_[previous_[entry]] = entry;
    previous_[next_[entry]] = entry;
    ++left_;
  }

  // After this, something that may have happened before cannot have happened any more.
  [[nodiscard]] bool shuts_out(const Entry& entry) const {
    return std::any_of(over_.begin(), over_.end(), [&](Index at) {
      return !used_[at] && history_.entries()[at].returned < entry.called;
    });
  }

  // A new configuration: what may come next.
  void enter(const State& state, std::int64_t last_call) {
    ++result_.steps;
    const std::size_t first = moves_.size();
    frames_.push_back({.first_move = first, .next_move = first, .last_call = last_call});
    // What has no reply and did not have its turn did not happen.
    if (left_ == 0) {
      result_.decision = Decision::kOrder;
      result_.order = order_;
      return;
    }
    if (dead(state)) return;
    Hash here = hash_;
    here.mix(hash_of(state));
    // Where something can happen for a limited time only, it matters how late it is.
    if (!over_.empty()) here.low = scrambled(here.low ^ static_cast<std::uint64_t>(last_call));
    if (visited_->add(here, taken_, taken_hash_)) collect_moves(state, last_call);
  }

  void collect_moves(const State& state, std::int64_t last_call) {
    const auto& entries = history_.entries();
    const std::size_t first = moves_.size();
    // Wing and Gong's rule: next can only be what was called before any of those that are left had
    // returned. The list is by call, so the first one that was not ends it. Equal times count as
    // in flight together.
    std::int64_t earliest_return = kNever.count();
    States after;
    for (Index at = next_[end_mark()]; at != end_mark(); at = next_[at]) {
      const Entry& entry = entries[at];
      if (entry.called > earliest_return) break;
      earliest_return = std::min(earliest_return, entry.returned);
      after.clear();
      model_.step(state, entry, after);
      if (!entry.may_change() && after.size() == 1 && after[0] == state && !shuts_out(entry)) {
        // Nothing is lost by letting it have its turn now: later it would change nothing, too.
        moves_.resize(first);
        moves_.push_back({at, state});
        return;
      }
      for (const State& next : after) moves_.push_back({at, next});
    }
    // What was called later than the greatest of these was not reached: the minimal counter-example
    // begins by doing without it.
    stuck_at_ = std::max(stuck_at_, earliest_return);
    for (const Index at : optional_) {
      if (entries[at].called > earliest_return) break;
      // One with a return says that nothing happens after it: not where something that was called
      // later has had its turn.
      if (used_[at] || entries[at].returned < last_call) continue;
      if (equal_before_[at] != kNone && !used_[equal_before_[at]]) continue;
      after.clear();
      model_.step(state, entries[at], after);
      for (State next : after) {
        if (is_unseen_[at] && next.value == entries[at].value) next.value = unseen_value_;
        // What changes nothing may as well not have happened.
        if (next != state) moves_.push_back({at, next});
      }
    }
    // An expiry is not a request, and may come at any moment from expires_from on; what has
    // returned before that moment must have had its turn. That it comes in time is
    // Model::overdue().
    if (state.can_expire() && earliest_return >= state.expires_from) {
      after.clear();
      Model::expire(state, after);
      for (const State& next : after) moves_.push_back({kNone, next, state.expires_from});
    }
  }

  void advance() {
    Frame& frame = frames_.back();
    if (frame.applied != kNone) {
      put_back(frame.applied);
      frame.applied = kNone;
    }
    if (frame.next_move == moves_.size()) {
      moves_.resize(frame.first_move);
      frames_.pop_back();
      return;
    }
    const Move move = moves_[frame.next_move++];
    std::int64_t last_call = std::max(frame.last_call, move.not_before);
    if (move.entry != kNone) {
      use(move.entry);
      frame.applied = move.entry;
      last_call = std::max(last_call, history_.entries()[move.entry].called);
    }
    enter(move.after, last_call);
  }

  const KeyHistory& history_;
  Model model_;
  SearchLimits limits_;
  SearchResult result_{};
  std::vector<Index> optional_{};
  std::vector<Index> optional_place_{};  // by entry: in optional_
  Visited::Set taken_{};                 // of optional_
  Hash taken_hash_{};
  std::vector<bool> is_unseen_{};      // by entry
  Index unseen_value_ = kNone;         // that stands for all of these
  std::vector<Index> equal_before_{};  // by entry: another one that would do the same
  std::vector<Index> over_{};          // of these, what can happen for a limited time only
  std::vector<Index> next_{};
  std::vector<Index> previous_{};
  std::vector<Index> exact_{};
  std::vector<Index> place_{};
  std::size_t first_exact_ = 0;
  std::vector<bool> used_{};
  std::size_t left_ = 0;
  std::vector<Frame> frames_{};
  std::vector<Move> moves_{};
  std::vector<Index> order_{};
  Hash hash_{};
  std::optional<Visited> visited_{};
  std::int64_t stuck_at_ = 0;
};

// Every state that the key may be in, as it goes through an order.
// It makes no choice where the protocol leaves one, unlike the search, and so cannot make a wrong
// one: the order is right if any of the states is left.
class Replay {
 public:
  Replay(const KeyHistory& history, const Bounds& bounds) : model_(history, bounds) {
    states_.push_back(State{});
  }

  // `latest`: no operation from here on returned before this.
  bool step(const Entry& entry, std::int64_t latest) {
    expire(latest);
    next_.clear();
    for (const State& state : states_) {
      after_.clear();
      model_.step(state, entry, after_);
      for (const State& one : after_) add(next_, one);
    }
    states_.swap(next_);
    return !states_.empty();
  }

 private:
  static void add(std::vector<State>& states, const State& state) {
    if (std::find(states.begin(), states.end(), state) == states.end()) states.push_back(state);
  }

  void expire(std::int64_t latest) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (!states_[i].can_expire() || latest < states_[i].expires_from) continue;
      after_.clear();
      Model::expire(states_[i], after_);
      for (const State& one : after_) add(states_, one);
    }
  }

  Model model_;
  std::vector<State> states_{};
  std::vector<State> next_{};
  States after_{};
};

}  // namespace

SearchResult search(const KeyHistory& history, const Bounds& bounds, const SearchLimits& limits) {
  return Search(history, bounds, limits).run();
}

bool replays(const KeyHistory& history, const Bounds& bounds, const std::vector<Index>& order) {
  const auto& entries = history.entries();
  std::vector<bool> there(entries.size(), false);
  // From the end: the order keeps real time if and only if nothing in it was called after one that
  // stands behind it had returned.
  std::vector<std::int64_t> latest(order.size());
  std::int64_t earliest_return = kNever.count();
  for (std::size_t i = order.size(); i-- > 0;) {
    const Entry& entry = entries[order[i]];
    earliest_return = std::min(earliest_return, entry.returned);
    latest[i] = earliest_return;
    if (there[order[i]] || entry.called > earliest_return) return false;
    there[order[i]] = true;
  }
  for (Index i = 0; i < entries.size(); ++i) {
    if (!there[i] && entries[i].outcome != Outcome::kUnknown) return false;
  }
  Replay replay(history, bounds);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!replay.step(entries[order[i]], latest[i])) return false;
  }
  return true;
}

}  // namespace fencepost::history
