#include "concurrency/history/version_order.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "concurrency/history/model.h"

namespace fencepost::history {
namespace {

constexpr std::int64_t kLongAgo = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kNotEver = kNever.count();

// Class 0 is before the first write; then, for each version, the write and what is in these.
enum Part : Index { kWrite = 1, kSeen = 2, kDelete = 3, kGone = 4 };
constexpr Index kParts = 4;

Index class_of(Index rank, Part part) { return kParts * rank + part; }
// Class 0 is one in which the key is gone: keys are absent when a history begins (docs/HISTORY.md).
Index part_of(Index at) { return at == 0 ? Index{kGone} : (at - 1) % kParts + 1; }
// Not of class 0, which is of no version.
Index rank_of(Index at) { return (at - 1) / kParts; }

// `newer` had returned before `older` was called. What was answered before a request was sent has
// taken effect (Req: ENV-ORDER-OPEN-2, SET-WRITE-1), so the rule is that of the effect which was
// not seen. A version that was there before its SET was sent cannot be what that SET has stored
// (Req: GET-HIT-3).
std::string_view pair_requirement(const Entry& newer, Index newer_part, const Entry& older,
                                  Index older_part) {
  if (older_part == kWrite) return newer_part == kWrite ? "VER-UPDATE-3" : "GET-HIT-3";
  if (newer_part == kDelete) {
    return newer.action == Action::kVdel ? "VDEL-MATCH-1" : "DEL-REMOVE-1";
  }
  if (older.action == Action::kGet || newer_part == kWrite) return "SET-WRITE-2";
  return "SET-WRITE-1";
}

std::string pair_text(const Entry& newer, Index newer_part, const Entry& older, Index older_part) {
  const bool same_client = newer.client == older.client;
  if (older_part == kWrite && newer_part == kWrite) {
    return "a SET that was sent after another one had been answered got a lower version";
  }
  if (older_part == kWrite) {
    return "a version was seen before the SET with this or a lower version was sent";
  }
  std::string seen = older_part == kDelete          ? "an older version was deleted"
                     : older.action == Action::kGet ? "a GET returned an older version"
                                                    : "a request was refused for an older version";
  if (newer_part == kDelete) return seen + " that had been deleted before the request was sent";
  if (newer_part == kWrite) {
    return seen + " after a newer one had been written" +
           (same_client ? " by the same client (read your writes)" : "");
  }
  return seen + " after a newer one had been seen" +
         (same_client ? " by the same client (monotonic reads)" : "");
}

class Decider {
 public:
  Decider(const KeyHistory& history, const Bounds& bounds)
      : history_(history), model_(history, bounds), versions_(history.rank_count()) {}

  VersionOrder run() {
    // replay_writes() finds the token of each version, which allowed() needs.
    if (!classify() || !replay_writes()) return std::move(result_);
    limits();
    if (!check_fixed() || !place_flexible()) return std::move(result_);
    result_.decision = Decision::kOrder;
    sort_order();
    if (!versions_.empty()) {
      result_.last_writer = versions_.back().writer;
      result_.last_deleter = versions_.back().deleter;
      result_.last_token = versions_.back().token;
    }
    return std::move(result_);
  }

 private:
  struct Version {
    Index writer = kNone;
    Index deleter = kNone;
    Index token = kNone;
  };

  bool leave(std::string_view why) {
    result_.why = why;
    return false;
  }

  // With requests that may or may not have happened, a contradiction is not one yet.
  bool object(std::string_view requirement, std::string what, std::vector<Index> entries) {
    // What object_flexible() has put into `others` stays: add_others() begins with it.
    result_.flaw = {requirement, std::move(what), std::move(entries),
                    std::move(result_.flaw.others)};
    add_others();
    if (!loose_ends_) {
      result_.decision = Decision::kNoOrder;
      return false;
    }
    // An NX is refused rightly where a SET without a reply was carried out before it. The search
    // decides; the flaw stays in the result, as the hint for counter_example_of().
    return leave("requests without a response may explain it");
  }

  // What was in flight at the time and changes the key, and who wrote the versions in question. A
  // violation has to hold by what it shows alone, regardless of the answers to all other requests
  // (Verdict::others, which checker_prop tests): so all of it is needed.
  void add_others() {
    const auto& entries = history_.entries();
    std::vector<bool> shown(entries.size(), false);
    std::int64_t from = kNotEver;
    std::int64_t to = kLongAgo;
    std::vector<Index> first = result_.flaw.entries;
    first.insert(first.end(), result_.flaw.others.begin(), result_.flaw.others.end());
    result_.flaw.others.clear();
    for (const Index i : result_.flaw.entries) shown[i] = true;
    const auto show = [&](Index i) {
      if (i == kNone || shown[i]) return;
      shown[i] = true;
      result_.flaw.others.push_back(i);
    };
    // Who wrote it, and who says so where the writer was not answered: the readers, and that all
    // others with this value wrote other versions.
    std::set<Index> adopted_values;
    const auto show_writer = [&](Index i) {
      const Index rank = history_.rank(entries[i]);
      if (rank == kNone) return;
      show(versions_[rank].writer);
      if (history_.reader(rank) == kNone) return;
      show(history_.reader(rank));
      adopted_values.insert(entries[versions_[rank].writer].value);
    };
    for (const Index i : first) {
      from = std::min(from, entries[i].called);
      to = std::max(to, entries[i].returned);
      show(i);
      show_writer(i);
    }
    for (Index i = 0; i < entries.size(); ++i) {
      // Requests without a response whose effect was not seen are left out: where there are any,
      // the search decides.
      const bool changes = entries[i].may_change() &&
                           (entries[i].outcome != Outcome::kUnknown || history_.is_adopted(i));
      if (!changes || entries[i].called > to || entries[i].returned < from) continue;
      show(i);
      show_writer(i);
    }
    for (Index i = 0; i < entries.size() && !adopted_values.empty(); ++i) {
      const bool wrote = entries[i].writes_value() && entries[i].outcome == Outcome::kOk;
      if (wrote && adopted_values.contains(entries[i].value)) show(i);
    }
  }

  bool classify() {
    const auto& entries = history_.entries();
    class_.assign(entries.size(), kNone);
    // Req: VER-OPEN-4 leaves that to the store. Such a version does not say what was deleted.
    if (history_.has_fresh_deletion()) return leave("a DEL returned a fresh version");
    for (Index rank = 0; rank < versions_.size(); ++rank) {
      if (!history_.is_known(rank)) return leave("a version belongs to no value");
      versions_[rank].writer = history_.writer(rank);
      if (versions_[rank].writer == kNone) return leave("several SETs may have written a version");
    }
    for (const Entry& one : entries) {
      // An adopted SET is none of these: a reader has seen that it happened.
      if (one.outcome == Outcome::kUnknown && one.version == kNone) loose_ends_ = true;
    }
    for (Index i = 0; i < entries.size(); ++i) {
      if (!classify(i, entries[i])) return false;
    }
    return true;
  }

  bool classify(Index at, const Entry& entry) {
    const Index rank = history_.rank(entry);
    if (entry.outcome == Outcome::kUnknown && rank == kNone) return true;
    if (entry.action == Action::kCompareAndSet) return leave("a compare-and-set has no version");
    // No response tells when a key has expired, so that nothing gives an expiry its class.
    if (entry.expires_after >= 0) return leave("a key expires");
    const bool writes = entry.action == Action::kSet;
    switch (entry.outcome) {
      case Outcome::kOk:
      case Outcome::kUnknown:
        // Histories of other registers have no versions; of a state store, cases judge that there
        // is one (Req: VER-SET-1).
        if (rank == kNone) return leave("a SET was answered without a version");
        class_[at] = class_of(rank, kWrite);
        return true;
      case Outcome::kValue:
        if (rank != kNone) class_[at] = class_of(rank, kSeen);
        break;
      case Outcome::kNotApplied:
        // Req: FT-OPEN-4: its token may stay.
        if (entry.token != kNone) return leave("a request with a token was not applied");
        if (writes && rank != kNone) class_[at] = class_of(rank, kSeen);
        break;
      case Outcome::kDeleted:
        if (rank == kNone) return leave("a DEL was answered without a version");
        class_[at] = class_of(rank, kDelete);
        return add_deletion(at, rank);
      default:
        break;
    }
    if (class_[at] == kNone) flexible_.push_back(at);
    return true;
  }

  bool add_deletion(Index at, Index rank) {
    Index& deleter = versions_[rank].deleter;
    if (deleter == kNone) {
      deleter = at;
      return true;
    }
    return object("DEL-COUNT-1", "one version was deleted twice", {deleter, at});
  }

  // The writes and deletions in the order of versions, against the rules.
  bool replay_writes() {
    Index held = kNone;
    for (Index rank = 0; rank < versions_.size(); ++rank) {
      Version& version = versions_[rank];
      const bool absent = rank == 0 || versions_[rank - 1].deleter != kNone;
      // Req: FT-DELETE-1. Keys that expire, where the token may stay (Req: FT-OPEN-5), are not
      // decided here.
      if (absent) held = kNone;
      if (!check_write(version, rank, absent, held)) return false;
      held = version.token = model_.token_after(held, entry(version.writer).token);
      if (version.deleter != kNone && !check_deletion(version)) return false;
    }
    return check_seen();
  }

  bool check_write(const Version& version, Index rank, bool absent, Index held) {
    // It was carried out, so token and condition have let it pass, in any order in which the store
    // has looked at them (Req: FT-OPEN-3). A key without a token lets everything pass: where the
    // token did not, there is a version before.
    const Entry& write = entry(version.writer);
    const Index before = rank == 0 ? kNone : versions_[rank - 1].writer;
    if (!model_.passes(held, write.token)) {
      return object(write.token == kNone ? "FT-REQUIRED-1" : "FT-LOWER-1",
                    write.token == kNone
                        ? "a SET without a fencing token was carried out on a key that has one"
                        : "a SET was carried out with an older fencing token than that of the key: "
                          "the token went back",
                    {token_giver(rank - 1), version.writer});
    }
    // Req: SET-NX-1, SET-NEX-1: of a key that does not exist both conditions hold.
    if (absent || write.condition == codec::Condition::kAlways) return true;
    if (write.condition == codec::Condition::kIfAbsent) {
      // Nobody has seen what was written, although it was answered before.
      const bool lost = entry(before).returned < write.called && !is_seen(rank - 1);
      if (lost) {
        return object("SET-WRITE-1", "a SET with NX did not find what an earlier one had written",
                      {before, version.writer});
      }
      return object("SET-NX-2", "a SET with NX was carried out on a key that existed",
                    {before, version.writer});
    }
    if (entry(before).value == write.value) return true;
    return object("SET-NEX-3", "a SET with NEX was carried out on a key with another value",
                  {before, version.writer});
  }

  [[nodiscard]] bool is_seen(Index rank) const {
    return std::find(class_.begin(), class_.end(), class_of(rank, kSeen)) != class_.end();
  }

  // The write that gave the key the token which it holds at that version.
  [[nodiscard]] Index token_giver(Index rank) const {
    const Index token = versions_[rank].token;
    while (entry(versions_[rank].writer).token != token && rank > 0) --rank;
    return versions_[rank].writer;
  }

  bool check_deletion(const Version& version) {
    const Entry& deletion = entry(version.deleter);
    const bool by_value = deletion.action == Action::kVdel;
    if (!model_.passes(version.token, deletion.token)) {
      const Index rank = history_.rank(deletion);
      const std::string_view required = by_value ? "FT-REQUIRED-3" : "FT-REQUIRED-2";
      const std::string_view lower = by_value ? "FT-LOWER-3" : "FT-LOWER-2";
      return object(deletion.token == kNone ? required : lower,
                    "a deletion was carried out that the fencing token of the key forbids",
                    {token_giver(rank), version.deleter});
    }
    if (!by_value || entry(version.writer).value == deletion.value) return true;
    return object("VDEL-MISMATCH-1", "a VDEL deleted a key with another value",
                  {version.writer, version.deleter});
  }

  // Refusals that name the version that they saw. Req: SET-NOT-APPLIED-3. For an NX there is
  // nothing to check: the key was there.
  bool check_seen() {
    const auto& entries = history_.entries();
    for (Index i = 0; i < entries.size(); ++i) {
      if (class_[i] == kNone || part_of(class_[i]) != kSeen) continue;
      const Entry& refused = entries[i];
      if (refused.outcome != Outcome::kNotApplied) continue;
      const Index writer = versions_[rank_of(class_[i])].writer;
      if (refused.condition == codec::Condition::kAlways) {
        return object("SET-WRITE-2", "a SET without a condition was not applied", {i});
      }
      if (refused.condition == codec::Condition::kIfAbsentOrEqual &&
          entry(writer).value == refused.value) {
        return object("SET-NEX-2", "a SET with NEX was refused though the key had that value",
                      {writer, i});
      }
    }
    return true;
  }

  // What the fixed operations leave to those of a class.
  // The operations of one class may come in any order, so that none of them limits the others: what
  // a class has counts for the classes before and behind it alone.
  void limits() {
    const std::size_t classes = kParts * versions_.size() + 1;
    std::vector<std::int64_t> called(classes, kLongAgo);
    std::vector<std::int64_t> returned(classes, kNotEver);
    const auto& entries = history_.entries();
    for (Index i = 0; i < entries.size(); ++i) {
      if (class_[i] == kNone) continue;
      called[class_[i]] = std::max(called[class_[i]], entries[i].called);
      returned[class_[i]] = std::min(returned[class_[i]], entries[i].returned);
    }
    std::int64_t last_call = kLongAgo;
    for (std::int64_t& here : called)
      last_call = std::max(last_call, std::exchange(here, last_call));
    std::int64_t first_return = kNotEver;
    for (std::size_t i = classes; i-- > 0;) {
      first_return = std::min(first_return, std::exchange(returned[i], first_return));
    }
    called_before_ = std::move(called);
    returned_after_ = std::move(returned);
  }

  // The condition of the proof in the header: p(x) = max(x.called, called_before_ of its class)
  // lies within the time of x. It suffices for all of them, as p grows with the class.
  bool check_fixed() {
    const auto& entries = history_.entries();
    for (Index i = 0; i < entries.size(); ++i) {
      if (class_[i] == kNone || entries[i].returned >= called_before_[class_[i]]) continue;
      return object_pair(i);
    }
    return true;
  }

  bool object_pair(Index newer) {
    const auto& entries = history_.entries();
    // A second pass over all, but only once: after it the history is decided or left to the search.
    Index older = kNone;
    for (Index i = 0; i < entries.size(); ++i) {
      const bool against = class_[i] < class_[newer] && entries[i].called > entries[newer].returned;
      // The first that shows it.
      if (against && (older == kNone || entries[i].called < entries[older].called)) older = i;
    }
    const Index newer_part = part_of(class_[newer]);
    const Index older_part = part_of(class_[older]);
    std::vector<Index> shown = {newer, older};
    for (const Index seen : {newer, older}) {
      const Index writer = versions_[rank_of(class_[seen])].writer;
      if (std::find(shown.begin(), shown.end(), writer) == shown.end()) shown.push_back(writer);
    }
    return object(pair_requirement(entries[newer], newer_part, entries[older], older_part),
                  pair_text(entries[newer], newer_part, entries[older], older_part),
                  std::move(shown));
  }

  // Is this a class in which the key may have given that answer?
  [[nodiscard]] bool allowed(const Entry& entry_here, Index at) const {
    // Req: ERR-STATE-1: it has changed nothing. Its error (a quota, say, or a missing right) tells
    // no state of the key.
    if (entry_here.outcome == Outcome::kRefused) return true;
    const Index part = part_of(at);
    if (part == kGone) {
      if (at != 0 && versions_[rank_of(at)].deleter == kNone) return false;
      return entry_here.outcome == Outcome::kMissing || refused_without_need(entry_here, kNone);
    }
    // The classes of writes and deletions are of those that have changed the key.
    if (part != kSeen) return false;
    const Version& version = versions_[rank_of(at)];
    const Index value = entry(version.writer).value;
    switch (entry_here.outcome) {
      case Outcome::kValue:
        return value == entry_here.other;
      case Outcome::kNotApplied:
        if (entry_here.action == Action::kVdel) return value != entry_here.value;
        return entry_here.condition == codec::Condition::kIfAbsent ||
               (entry_here.condition == codec::Condition::kIfAbsentOrEqual &&
                value != entry_here.value);
      case Outcome::kTokenRequired:
      case Outcome::kTokenLower:
        return model_.refuses(version.token, entry_here.token, entry_here.outcome) ||
               refused_without_need(entry_here, version.token);
      default:
        return false;
    }
  }

  [[nodiscard]] static bool is_fenced(const Entry& entry_here) {
    return entry_here.outcome == Outcome::kTokenRequired ||
           entry_here.outcome == Outcome::kTokenLower;
  }

  // Req: FT-OPEN-2. A DEL or VDEL may be refused for a token that the key does not require. Not a
  // SET: it gives the key its token (Req: FT-STORE-1).
  [[nodiscard]] static bool refused_without_need(const Entry& entry_here, Index held) {
    return is_fenced(entry_here) && entry_here.action != Action::kSet &&
           entry_here.token != kNone && held == kNone;
  }

  [[nodiscard]] bool by_call(Index a, Index b) const {
    const auto& entries = history_.entries();
    return std::pair(entries[a].called, a) < std::pair(entries[b].called, b);
  }
  void sort_flexible() {
    std::vector<std::pair<std::int64_t, Index>> calls;
    calls.reserve(flexible_.size());
    for (const Index i : flexible_) calls.emplace_back(entry(i).called, i);
    std::sort(calls.begin(), calls.end());
    for (std::size_t i = 0; i < calls.size(); ++i) flexible_[i] = calls[i].second;
  }

  // Answers that fit several states: each gets the earliest class that it can have. They change
  // nothing, so the earliest is the best for all others.
  // In the order of calls, so that `least` never falls. What had returned before x was called must
  // not be of a later class than x: `under_way` gives those up, one by one. Where something of a
  // later class than `least` had returned, x has to be later, too; the last class has no such
  // limit, so that loop ends.
  bool place_flexible() {
    const auto& entries = history_.entries();
    sort_flexible();
    using Placed = std::pair<std::int64_t, Index>;  // return, entry
    std::priority_queue<Placed, std::vector<Placed>, std::greater<>> under_way;
    Index least = 0;  // for what was called by now
    for (const Index x : flexible_) {
      const Entry& here = entries[x];
      while (!under_way.empty() && under_way.top().first < here.called) {
        least = std::max(least, class_[under_way.top().second]);
        under_way.pop();
      }
      while (returned_after_[least] < here.called) ++least;
      // called_before_ grows with the class: behind the first that is too late for x none fits.
      Index at = least;
      while (at < called_before_.size() && called_before_[at] <= here.returned &&
             !allowed(here, at)) {
        ++at;
      }
      if (at == called_before_.size() || called_before_[at] > here.returned) {
        return object_flexible(x, at);
      }
      class_[x] = at;
      under_way.emplace(here.returned, x);
    }
    return true;
  }

  // The one of the latest class among what had returned by then.
  [[nodiscard]] Index latest_before(Index x) const {
    const auto& entries = history_.entries();
    Index out = kNone;
    for (Index i = 0; i < entries.size(); ++i) {
      if (class_[i] == kNone || i == x || entries[i].returned >= entries[x].called) continue;
      if (out == kNone || class_[i] > class_[out]) out = i;
    }
    return out;
  }

  // `at`: the first class which it cannot have because of what was called after it.
  bool object_flexible(Index x, Index at) {
    const auto& entries = history_.entries();
    std::vector<Index> shown = {x};
    const Index before = latest_before(x);
    Index after = kNone;
    for (Index i = 0; i < entries.size() && at < called_before_.size(); ++i) {
      const bool bounds = class_[i] < at && entries[i].called > entries[x].returned;
      if (bounds && (after == kNone || class_[i] < class_[after])) after = i;
    }
    if (before != kNone) shown.push_back(before);
    if (after != kNone) shown.push_back(after);
    if (before != kNone && class_[before] != 0) {
      const Index writer = versions_[rank_of(class_[before])].writer;
      if (writer != before && writer != after) shown.push_back(writer);
    }
    result_.flaw.others = reasons_of(x, before, at);
    if (is_fenced(entries[x])) add_past_of_token(before);
    // A store that carries out what it refuses shows it only here: this rule is closer than that of
    // the answer which did not find the key.
    const Index refused = refused_deletion(x, before);
    if (refused != kNone) {
      shown.push_back(refused);
      return object(
          entries[refused].outcome == Outcome::kNotApplied ? "VDEL-MISMATCH-1" : "ERR-STATE-1",
          "the key was gone, though the deletion in flight at that time was refused",
          std::move(shown));
    }
    std::string text = flexible_text(entries[x]);
    const bool own = before != kNone && entries[before].client == entries[x].client &&
                     part_of(class_[before]) == kWrite;
    if (own && entries[x].outcome == Outcome::kMissing) {
      text += ", after a SET of the same client (read your writes)";
    }
    return object(flexible_requirement(entries[x]), std::move(text), std::move(shown));
  }

  // Why the key did not hold an older token: what was written since it was there, back to the
  // deletion before.
  void add_past_of_token(Index before) {
    if (before == kNone || class_[before] == 0) return;
    for (Index rank = rank_of(class_[before]); rank > 0; --rank) {
      const Version& older = versions_[rank - 1];
      const bool begins = older.deleter != kNone;
      result_.flaw.others.push_back(begins ? older.deleter : older.writer);
      if (begins) return;
    }
  }

  // A deletion that was refused, between the write before `x` and `x`, which did not find the key;
  // kNone where there is none.
  [[nodiscard]] Index refused_deletion(Index x, Index before) const {
    const auto& entries = history_.entries();
    if (entries[x].outcome != Outcome::kMissing || before == kNone || class_[before] == 0) {
      return kNone;
    }
    const Index writer = versions_[rank_of(class_[before])].writer;
    Index out = kNone;
    for (Index i = 0; i < entries.size(); ++i) {
      const Entry& one = entries[i];
      const bool deletion = removes(one.action);
      const bool refused =
          one.outcome == Outcome::kNotApplied || one.outcome == Outcome::kRefused ||
          one.outcome == Outcome::kTokenRequired || one.outcome == Outcome::kTokenLower;
      const bool between = one.called <= entries[x].returned && one.called > entry(writer).returned;
      if (i != x && deletion && refused && between) out = i;
    }
    return out;
  }

  // Why the flexible ones among those before it cannot be earlier: what was before them, and the
  // versions which did not fit.
  [[nodiscard]] std::vector<Index> reasons_of(Index x, Index before, Index at) const {
    std::vector<Index> out;
    for (Index end = at;; end = class_[x]) {
      const Index from = before == kNone || class_[before] == 0 ? 0 : rank_of(class_[before]);
      for (Index rank = from; rank < versions_.size() && class_of(rank, kWrite) <= end; ++rank) {
        out.push_back(versions_[rank].writer);
      }
      if (before == kNone) return out;
      out.push_back(before);
      const auto earlier = [&](Index a, Index b) { return by_call(a, b); };
      if (!std::binary_search(flexible_.begin(), flexible_.end(), before, earlier)) return out;
      x = before;
      before = latest_before(x);
    }
  }

  // No state explains the answer, so the rule is that of the answer which was due instead.
  [[nodiscard]] static std::string_view flexible_requirement(const Entry& entry_here) {
    const bool get = entry_here.action == Action::kGet;
    switch (entry_here.outcome) {
      case Outcome::kMissing:
        return get                                 ? "SET-WRITE-1"
               : entry_here.action == Action::kDel ? "DEL-OK-1"
                                                   : "VDEL-MATCH-1";
      case Outcome::kValue:
        return "GET-HIT-3";
      case Outcome::kNotApplied:
        if (entry_here.action == Action::kVdel) return "VDEL-MATCH-1";
        return entry_here.condition == codec::Condition::kIfAbsent ? "SET-NX-1" : "SET-NEX-1";
      case Outcome::kTokenRequired:
        return "FT-OPTIONAL-1";
      default:
        return "FT-ACCEPT-1";
    }
  }

  [[nodiscard]] static std::string flexible_text(const Entry& entry_here) {
    switch (entry_here.outcome) {
      case Outcome::kMissing:
        return "the key was not found, but it existed during the whole request";
      case Outcome::kValue:
        return "the key did not have that value at any time during the GET";
      case Outcome::kNotApplied:
        return "the request was not applied, but its condition held during the whole request";
      default:
        return "the request was refused for its fencing token, but the key had no token that "
               "refuses "
               "it at any time during the request";
    }
  }

  // By class, and in each by call: what returned before another one was called comes first.
  // Filled by counting, since there are about as many classes as operations: only what shares one
  // is sorted.
  void sort_order() {
    const std::size_t classes = called_before_.size();
    std::vector<Index> end(classes + 1, 0);
    for (const Index at : class_) {
      if (at != kNone) ++end[at + 1];
    }
    for (std::size_t i = 1; i < end.size(); ++i) end[i] += end[i - 1];
    result_.order.resize(end.back());
    for (Index i = 0; i < class_.size(); ++i) {
      if (class_[i] != kNone) result_.order[end[class_[i]]++] = i;
    }
    const auto earlier = [&](Index a, Index b) { return by_call(a, b); };
    auto begin = result_.order.begin();
    for (std::size_t i = 0; i < classes; ++i) {
      const auto stop = result_.order.begin() + static_cast<std::ptrdiff_t>(end[i]);
      if (stop - begin > 1) std::sort(begin, stop, earlier);
      begin = stop;
    }
  }

  [[nodiscard]] const Entry& entry(Index at) const { return history_.entries()[at]; }

  const KeyHistory& history_;
  Model model_;
  VersionOrder result_{};
  bool loose_ends_ = false;  // requests that may or may not have happened
  std::vector<Version> versions_;
  std::vector<Index> class_{};                  // by entry; kNone: of none, or not placed yet
  std::vector<Index> flexible_{};               // entries that fit several classes
  std::vector<std::int64_t> called_before_{};   // by class: the last call of an earlier class
  std::vector<std::int64_t> returned_after_{};  // by class: the first return of a later class
};

}  // namespace

VersionOrder decide_by_versions(const KeyHistory& history, const Bounds& bounds) {
  return Decider(history, bounds).run();
}

}  // namespace fencepost::history
