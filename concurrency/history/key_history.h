// The operations of one key, small and numbered, as the checker keeps them: texts, versions and
// tokens stand in tables. Pure; not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "concurrency/history/history.h"

namespace fencepost::history {

// A place in one of the tables, or in the list of entries.
using Index = std::uint32_t;
inline constexpr Index kNone = std::numeric_limits<Index>::max();

struct Entry {
  std::int64_t called = 0;
  std::int64_t returned = 0;  // kNever.count() where nothing came
  std::int64_t expires_after = -1;
  Index value = kNone;    // SET, VDEL, CAS
  Index other = kNone;    // what a GET has read; what a CAS compares with
  Index version = kNone;  // what the reply says of the key; of an adopted SET, what readers say
  Index token = kNone;
  Index number = 0;  // of the operation, as it was given to the checker
  std::uint32_t client = 0;
  Action action = Action::kGet;
  codec::Condition condition = codec::Condition::kAlways;
  Outcome outcome = Outcome::kUnknown;
  bool adopted = false;  // `version` is not from its own response
  bool second = false;   // not the request, but its redelivery, which may have been carried out too

  // It has changed the key, or may have: a token may stay of a request that was not applied (Req:
  // FT-OPEN-4).
  [[nodiscard]] bool may_change() const {
    return outcome == Outcome::kOk || outcome == Outcome::kDeleted ||
           outcome == Outcome::kUnknown || (outcome == Outcome::kNotApplied && token != kNone);
  }
  [[nodiscard]] bool writes_value() const {
    return action == Action::kSet || action == Action::kCompareAndSet;
  }
};

// Texts, each once. The numbers of texts stay.
class Texts {
 public:
  Index add(std::string_view text);
  [[nodiscard]] const std::string& operator[](Index at) const { return texts_[at]; }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  // Stands for a text, with a part of its hash: if that differs, the texts differ.
  struct Slot {
    Index text = kNone;
    std::uint32_t hash = 0;
  };
  void grow();

  std::vector<std::string> texts_{};
  std::vector<Slot> slots_{};
};

// Timestamps, each once.
class Stamps {
 public:
  Index add(const hlc::Timestamp& stamp);
  [[nodiscard]] hlc::Timestamp operator[](Index at) const;
  [[nodiscard]] std::size_t size() const { return stamps_.size(); }
  [[nodiscard]] bool less(Index a, Index b) const;
  // kNone when it is not there.
  [[nodiscard]] Index find(const hlc::Timestamp& stamp) const;

 private:
  struct Stamp {
    std::uint64_t wall_ms;
    std::uint64_t counter;
    Index node;
  };
  void grow();

  std::vector<Stamp> stamps_{};
  std::vector<Index> slots_{};
  Texts nodes_{};
  Index last_node_ = kNone;  // most stamps are of one node
};

// What is wrong, and with what.
struct Flaw {
  std::string_view requirement{};
  std::string what{};
  std::vector<Index> entries{};  // that contradict each other
  std::vector<Index> others{};   // that might have explained it, and do not
  bool minimal = true;           // false: the search for fewer entries reached its limits
};

class KeyHistory {
 public:
  // `number` is what verdicts call it. KEYNOTIFY does not belong here; a GET without a response
  // says nothing and is left out. What was sent twice becomes two entries, the second without
  // reply.
  void add(const Operation& operation, Index number);

  // The same without versions, to be resolved.
  [[nodiscard]] KeyHistory without_versions() const;

  // The same, but each version of a deletion may be a new one, also where a SET has it; to be
  // resolved.
  [[nodiscard]] KeyHistory with_fresh_deletions() const;

  // The same, but the SETs with NX that were carried out had no condition; to be resolved.
  [[nodiscard]] KeyHistory without_nx() const;

  // The same with each request carried out once at most, to be resolved.
  [[nodiscard]] KeyHistory without_seconds() const;

  // The same, but the responses to these entries (by entry) are unknown: what changes
  // nothing is left out. To be resolved.
  [[nodiscard]] KeyHistory without_replies(const std::vector<bool>& forgotten) const;

  // Takes over an entry of another history.
  void add(const KeyHistory& other, Entry entry);

  // The latest time up to `before` at which no answered request was in flight, and before
  // which something was called; the least time when there is no such time.
  [[nodiscard]] std::int64_t quiet_time(std::int64_t before) const;

  // To be called when all are there, before what is below. Orders the versions, finds the writer of
  // each, and adopts the SETs without a reply that a reader has seen.
  void resolve();

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const Texts& texts() const { return texts_; }
  [[nodiscard]] const std::vector<hlc::Timestamp>& tokens() const { return token_values_; }
  [[nodiscard]] hlc::Timestamp version(Index at) const { return versions_[at]; }

  // Versions by rank, from the oldest; kNone for kNone. Replies of refused requests are left out
  // where neither SET nor GET knows the version (Req: VER-OPEN-5).
  [[nodiscard]] Index rank(const Entry& entry) const {
    return entry.version == kNone ? kNone : ranks_[entry.version];
  }
  [[nodiscard]] std::size_t rank_count() const { return by_rank_.size(); }
  // A SET or a GET has named it: it belongs to a value.
  [[nodiscard]] bool is_known(Index rank) const { return known_[by_rank_[rank]]; }
  // Its version belongs to a value for certain: that of a deletion may be a new one (Req:
  // VER-OPEN-4).
  [[nodiscard]] bool names_value(const Entry& entry) const;
  // A deletion has named a version that belongs to no value.
  [[nodiscard]] bool has_fresh_deletion() const;
  // The entry which has written it; kNone when no SET that was answered did, and several without
  // reply may have.
  [[nodiscard]] Index writer(Index rank) const { return writers_[by_rank_[rank]]; }
  // The same for a version that may be none of these.
  [[nodiscard]] Index writer_of(const hlc::Timestamp& version) const {
    const Index at = versions_.find(version);
    return at == kNone ? kNone : writers_[at];
  }
  // The first GET which has seen it, where no SET that was answered has it; else kNone.
  [[nodiscard]] Index reader(Index rank) const { return readers_[by_rank_[rank]]; }
  // Entries whose outcome is unknown, but which a reader has seen: they did happen.
  [[nodiscard]] bool is_adopted(Index entry) const {
    return entries_[entry].adopted && entries_[entry].outcome == Outcome::kUnknown;
  }
  // Versions below this one were forgotten with their writers.
  void set_oldest(const hlc::Timestamp& version) { oldest_ = version; }

  // Wrong in any order; found by resolve().
  [[nodiscard]] const std::vector<Flaw>& flaws() const { return flaws_; }

 private:
  Index add_token(const hlc::Timestamp& token);
  void order_versions();
  void find_writers();
  void check_reads();
  void object_to_read(Index reader);
  void adopt();

  std::vector<Entry> entries_{};
  Texts texts_{};
  Stamps versions_{};
  Texts token_texts_{};
  std::vector<hlc::Timestamp> token_values_{};
  std::vector<Index> ranks_{};    // by version
  std::vector<Index> by_rank_{};  // versions
  std::vector<bool> known_{};     // by version
  std::vector<Index> writers_{};  // by version
  std::vector<Index> readers_{};  // by version: the first
  std::vector<Flaw> flaws_{};
  std::optional<hlc::Timestamp> oldest_{};
  bool fresh_deletions_ = false;  // all of them
};

}  // namespace fencepost::history
