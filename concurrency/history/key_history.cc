#include "concurrency/history/key_history.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fencepost::history {
namespace {

constexpr std::size_t kFirstSlots = 16;

// The tables take the lowest bits of a hash: all its bits have to reach these.
std::size_t mixed(std::size_t hash) {
  hash ^= hash >> 32U;
  hash *= 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29U);
}

// Half of the slots stay empty: the next one is tried where one is taken, and such runs stay short.
bool has_room(std::size_t used, std::size_t slots) { return 2 * (used + 1) <= slots; }

}  // namespace

Index Texts::add(std::string_view text) {
  if (!has_room(texts_.size(), slots_.size())) grow();
  const std::size_t mask = slots_.size() - 1;
  const auto hash = static_cast<std::uint32_t>(mixed(std::hash<std::string_view>()(text)));
  std::size_t at = hash & mask;
  for (; slots_[at].text != kNone; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && texts_[slots_[at].text] == text) return slots_[at].text;
  }
  slots_[at] = {static_cast<Index>(texts_.size()), hash};
  texts_.emplace_back(text);
  return slots_[at].text;
}

void Texts::grow() {
  std::vector<Slot> old(std::max(kFirstSlots, 2 * slots_.size()));
  old.swap(slots_);
  // The part of the hash that was kept is enough to place it: no text is read.
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.text == kNone) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].text != kNone) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

Index Stamps::add(const hlc::Timestamp& stamp) {
  if (!has_room(stamps_.size(), slots_.size())) grow();
  if (last_node_ == kNone || nodes_[last_node_] != stamp.node) last_node_ = nodes_.add(stamp.node);
  // The node is not part of the hash: that of a version is the store's, which has few, mostly one
  // (Req: VER-NODE-1, VER-NODE-OPEN-1).
  const Index node = last_node_;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = mixed(stamp.wall_ms * 0x100000001B3ULL + stamp.counter) & mask;
  for (; slots_[at] != kNone; at = (at + 1) & mask) {
    const Stamp& there = stamps_[slots_[at]];
    if (there.wall_ms == stamp.wall_ms && there.counter == stamp.counter && there.node == node) {
      return slots_[at];
    }
  }
  slots_[at] = static_cast<Index>(stamps_.size());
  stamps_.push_back({stamp.wall_ms, stamp.counter, node});
  return slots_[at];
}

Index Stamps::find(const hlc::Timestamp& stamp) const {
  // Adds nothing, not even the node: a notification may name any version.
  if (slots_.empty()) return kNone;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = mixed(stamp.wall_ms * 0x100000001B3ULL + stamp.counter) & mask;
  for (; slots_[at] != kNone; at = (at + 1) & mask) {
    const Stamp& there = stamps_[slots_[at]];
    if (there.wall_ms == stamp.wall_ms && there.counter == stamp.counter &&
        nodes_[there.node] == stamp.node) {
      break;
    }
  }
  return slots_[at];
}

void Stamps::grow() {
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), kNone);
  const std::size_t mask = slots_.size() - 1;
  for (Index i = 0; i < stamps_.size(); ++i) {
    std::size_t at = mixed(stamps_[i].wall_ms * 0x100000001B3ULL + stamps_[i].counter) & mask;
    while (slots_[at] != kNone) at = (at + 1) & mask;
    slots_[at] = i;
  }
}

hlc::Timestamp Stamps::operator[](Index at) const {
  const Stamp& stamp = stamps_[at];
  return {stamp.wall_ms, stamp.counter, nodes_[stamp.node]};
}

// Req: HLC-ORDER-1, HLC-ORDER-3
bool Stamps::less(Index a, Index b) const {
  const Stamp& left = stamps_[a];
  const Stamp& right = stamps_[b];
  if (left.wall_ms != right.wall_ms) return left.wall_ms < right.wall_ms;
  if (left.counter != right.counter) return left.counter < right.counter;
  return left.node != right.node && nodes_[left.node] < nodes_[right.node];
}

void KeyHistory::add(const Operation& operation, Index number) {
  if (operation.action == Action::kGet && operation.outcome == Outcome::kUnknown) return;
  Entry entry;
  entry.called = operation.called.count();
  entry.returned = operation.returned.count();
  if (operation.expires_after) {
    entry.expires_after = std::chrono::nanoseconds(*operation.expires_after).count();
  }
  entry.number = number;
  entry.client = operation.client;
  entry.action = operation.action;
  entry.condition = operation.condition;
  entry.outcome = operation.outcome;
  if (has_value(entry.action)) {
    entry.value = texts_.add(operation.value);
  }
  if (entry.action == Action::kCompareAndSet) entry.other = texts_.add(operation.expected);
  if (entry.outcome == Outcome::kValue) entry.other = texts_.add(operation.read);
  // Req: FT-GET-1: no token has a part in what a GET is answered.
  if (operation.token && entry.action != Action::kGet) {
    entry.token = add_token(*operation.token);
  }
  // Whether all others have a `__ts`, and which, is unspecified (Req: VER-OPEN-5). A SET that was
  // not applied names the stored value's (Req: SET-NOT-APPLIED-3); a VDEL promises nothing.
  const bool says_version = entry.outcome == Outcome::kOk || entry.outcome == Outcome::kValue ||
                            entry.outcome == Outcome::kDeleted ||
                            (entry.outcome == Outcome::kNotApplied && entry.writes_value());
  if (operation.version && says_version) entry.version = versions_.add(*operation.version);
  entries_.push_back(entry);
  // Nobody knows to which of the two the reply belongs, nor whether both were carried out (Req:
  // ENV-DUP-OPEN-1): one has it, the other is a request without a reply. A GET changes nothing
  // however often it is carried out.
  if (!operation.resent || operation.action == Action::kGet) return;
  entry.second = true;
  entry.outcome = Outcome::kUnknown;
  entry.returned = kNever.count();
  entry.version = kNone;
  entries_.push_back(entry);
}

KeyHistory KeyHistory::without_versions() const {
  // An adopted SET is one without reply again: only its version said that it happened.
  KeyHistory out = *this;
  out.oldest_.reset();
  out.versions_ = {};
  for (Entry& entry : out.entries_) {
    entry.version = kNone;
    entry.adopted = false;
  }
  return out;
}

KeyHistory KeyHistory::with_fresh_deletions() const {
  KeyHistory out = *this;
  out.fresh_deletions_ = true;
  return out;
}

bool KeyHistory::names_value(const Entry& entry) const {
  const Index at = rank(entry);
  return at != kNone && is_known(at) && !(fresh_deletions_ && entry.outcome == Outcome::kDeleted);
}

bool KeyHistory::has_fresh_deletion() const {
  return std::any_of(entries_.begin(), entries_.end(), [this](const Entry& entry) {
    return entry.outcome == Outcome::kDeleted && entry.version != kNone && !names_value(entry);
  });
}

KeyHistory KeyHistory::without_nx() const {
  KeyHistory out = *this;
  for (Entry& entry : out.entries_) {
    const bool carried_out = entry.outcome == Outcome::kOk;
    if (carried_out && entry.condition == codec::Condition::kIfAbsent) {
      entry.condition = codec::Condition::kAlways;
    }
  }
  return out;
}

KeyHistory KeyHistory::without_seconds() const {
  KeyHistory out = *this;
  std::erase_if(out.entries_, [](const Entry& entry) { return entry.second; });
  return out;
}

void KeyHistory::add(const KeyHistory& other, Entry entry) {
  if (entry.value != kNone) entry.value = texts_.add(other.texts_[entry.value]);
  if (entry.other != kNone) entry.other = texts_.add(other.texts_[entry.other]);
  if (entry.version != kNone) entry.version = versions_.add(other.versions_[entry.version]);
  if (entry.token != kNone) entry.token = add_token(other.token_values_[entry.token]);
  entries_.push_back(entry);
}

Index KeyHistory::add_token(const hlc::Timestamp& token) {
  // In one form, as leading zeros do not matter (Req: HLC-ORDER-2): equal tokens have one index.
  const Index at = token_texts_.add(hlc::format(token));
  if (at == token_values_.size()) token_values_.push_back(token);
  return at;
}

std::int64_t KeyHistory::quiet_time(std::int64_t before) const {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;  // call, return
  spans.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    // What was never answered is in flight forever; settle() takes it along.
    if (entry.returned != kNever.count()) spans.emplace_back(entry.called, entry.returned);
  }
  std::sort(spans.begin(), spans.end());
  std::int64_t quiet = kLeast;
  std::int64_t last_return = kLeast;
  for (const auto& [called, returned] : spans) {
    if (called > before) break;
    // Equal times count as in flight together, as in the search.
    if (last_return != kLeast && last_return < called) quiet = called;
    last_return = std::max(last_return, returned);
  }
  return last_return != kLeast && last_return < before ? before : quiet;
}

KeyHistory KeyHistory::without_replies(const std::vector<bool>& forgotten) const {
  KeyHistory out = *this;
  out.entries_.clear();
  for (Index i = 0; i < entries_.size(); ++i) {
    Entry entry = entries_[i];
    if (forgotten[i]) {
      if (!entry.may_change()) continue;
      // Its return stays: if it has happened, then by that time, regardless of what it was
      // answered.
      entry.outcome = Outcome::kUnknown;
      entry.version = kNone;
      entry.adopted = false;
    }
    out.entries_.push_back(entry);
  }
  return out;
}

void KeyHistory::resolve() {
  flaws_.clear();
  // A history that was resolved may have been copied and cut since: the writers are looked up
  // again.
  for (Entry& entry : entries_) {
    if (std::exchange(entry.adopted, false)) entry.version = kNone;
  }
  order_versions();
  find_writers();
  check_reads();
  adopt();
}

void KeyHistory::order_versions() {
  known_.assign(versions_.size(), false);
  for (const Entry& entry : entries_) {
    const bool names = entry.outcome == Outcome::kOk || entry.outcome == Outcome::kValue;
    if (names && entry.version != kNone) known_[entry.version] = true;
  }
  for (Entry& entry : entries_) {
    const bool hearsay = entry.outcome == Outcome::kNotApplied && entry.version != kNone;
    // That this is the version of the stored value is a promise of the deployed service alone (Req:
    // SET-NOT-APPLIED-3). Where nothing else shows it, it proves nothing.
    if (hearsay && !known_[entry.version]) entry.version = kNone;
  }
  by_rank_.resize(versions_.size());
  for (Index i = 0; i < by_rank_.size(); ++i) by_rank_[i] = i;
  const auto less = [&](Index a, Index b) { return versions_.less(a, b); };
  if (!std::is_sorted(by_rank_.begin(), by_rank_.end(), less)) {
    std::sort(by_rank_.begin(), by_rank_.end(), less);
  }
  ranks_.resize(by_rank_.size());
  for (Index i = 0; i < by_rank_.size(); ++i) ranks_[by_rank_[i]] = i;
}

void KeyHistory::find_writers() {
  writers_.assign(versions_.size(), kNone);
  for (Index i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    // Only what was answered is certain; adopt() does the rest.
    if (!entry.writes_value() || entry.outcome != Outcome::kOk || entry.version == kNone) continue;
    Index& writer = writers_[entry.version];
    if (writer == kNone) {
      writer = i;
    } else {
      flaws_.push_back(
          {"VER-UPDATE-3", "two SETs of one key were answered with the same version", {writer, i}});
    }
  }
}

void KeyHistory::check_reads() {
  readers_.assign(versions_.size(), kNone);
  for (Index i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.outcome != Outcome::kValue || entry.version == kNone) continue;
    const Index writer = writers_[entry.version];
    // Req: VER-GET-2. Without an answered SET, two readers of one version still have to agree.
    if (writer != kNone) {
      if (entries_[writer].value != entry.other) {
        flaws_.push_back(
            {"VER-GET-2", "a GET returned a version with the value of another one", {writer, i}});
      }
      continue;
    }
    Index& reader = readers_[entry.version];
    if (reader == kNone) {
      reader = i;
    } else if (entries_[reader].other != entry.other) {
      flaws_.push_back({"VER-GET-2", "one version was read with two values", {reader, i}});
    }
  }
}

// Nobody can have written what it has read: every SET of that value was refused, or has another
// version.
void KeyHistory::object_to_read(Index reader) {
  // The SET that wrote it was settled and forgotten.
  if (oldest_ && versions_[entries_[reader].version] < *oldest_) {
    flaws_.push_back({"SET-WRITE-2",
                      "a GET returned an older version after a newer one had been written",
                      {reader}});
    return;
  }
  // Every SET of that value is shown: that each of them was refused or has another version is the
  // proof.
  Flaw flaw{
      "GET-HIT-3", "a GET returned a value with a version that no SET can have written", {reader}};
  for (Index i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].writes_value() || entries_[i].value != entries_[reader].other) continue;
    flaw.entries.push_back(i);
    if (entries_[i].outcome == Outcome::kOk) continue;
    flaw.requirement =
        entries_[i].outcome == Outcome::kNotApplied ? "SET-NOT-APPLIED-2" : "ERR-STATE-1";
    flaw.what = "a GET returned the value of a SET that was refused";
  }
  flaws_.push_back(std::move(flaw));
}

// A value that was read was written, also where its SET was never answered. With one version of it
// and one SET that can have written it, that SET has that version, and the quick decision is
// enough. With more, either may be it: bind() tries that in the search.
void KeyHistory::adopt() {
  // By value: the versions that readers have seen and no answered SET has, and who may have written
  // them.
  struct Seen {
    std::vector<Index> versions{};
    std::vector<Index> writers{};
  };
  // By value, since a SET that has no reply has nothing else to know it by.
  std::map<Index, Seen> seen;
  for (Index version = 0; version < readers_.size(); ++version) {
    if (readers_[version] != kNone)
      seen[entries_[readers_[version]].other].versions.push_back(version);
  }
  // Every version that was read is that of a SET that was answered.
  if (seen.empty()) return;
  for (Index i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    // A SET may also have been answered, but without its version.
    const bool may_have = entry.outcome == Outcome::kUnknown || entry.outcome == Outcome::kOk;
    if (!entry.writes_value() || !may_have || entry.version != kNone) continue;
    const auto found = seen.find(entry.value);
    if (found != seen.end()) found->second.writers.push_back(i);
  }
  for (const auto& [value, group] : seen) {
    if (group.writers.empty()) {
      object_to_read(readers_[group.versions.front()]);
    } else if (group.writers.size() == 1 && group.versions.size() == 1) {
      entries_[group.writers.front()].version = group.versions.front();
      entries_[group.writers.front()].adopted = true;
      writers_[group.versions.front()] = group.writers.front();
    }
  }
}

}  // namespace fencepost::history
